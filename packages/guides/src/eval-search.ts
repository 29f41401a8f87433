/* oxlint-disable no-console -- a program whose output is what it prints */
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { createGuideIndex } from './guide-index.ts'
import { loadGuides } from './load-guides.ts'

const DEFAULT_QUESTIONS_FILE = '../shared/guides/questions-dev.jsonl'
const TARGETS = { first: 0.7, 'in the first three': 0.9 }

interface Question {
  readonly question: string
  /** `answer:<slug>` when a guide answers the question. */
  readonly expected: string
}

/**
 * Searches for each question that has an expected guide. Prints each question whose guide is not the first result, with the
 * guide's rank, and then the success rates.
 *
 * @returns whether both targets were reached
 */
function evaluateSearch(file: string): boolean {
  const questions = readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Question)
    .filter(({ expected }) => expected.startsWith('answer:'))
  const index = createGuideIndex(loadGuides().filter(({ status }) => status === 'published'))
  const ranks = questions.map(({ question, expected }) => {
    const resultSlugs = index.search(question, 100).map(({ slug }) => slug)
    const rank = resultSlugs.indexOf(expected.slice('answer:'.length))
    if (rank !== 0)
      console.log(`${rank < 0 ? 'none' : rank + 1}\t${expected}\t${resultSlugs[0]}\t${question}`)
    return rank
  })
  const rates = {
    first: computeShareWithin(ranks, 1),
    'in the first three': computeShareWithin(ranks, 3),
  }
  for (const [name, rate] of Object.entries(rates)) {
    const target = TARGETS[name as keyof typeof TARGETS]
    console.log(`${name}: ${(rate * 100).toFixed(1)} % of ${ranks.length} (target ${target * 100} %)`)
  }
  return rates.first >= TARGETS.first && rates['in the first three'] >= TARGETS['in the first three']
}

const computeShareWithin = (ranks: readonly number[], maxRank: number) =>
  ranks.filter((rank) => rank >= 0 && rank < maxRank).length / ranks.length

const file = path.resolve(process.argv[2] ?? DEFAULT_QUESTIONS_FILE)
if (existsSync(file)) process.exitCode = evaluateSearch(file) ? 0 : 1
else {
  console.error(
    `There are no questions at ${file}. Name a file of JSON lines {"question", "expected": "answer:<slug>"}.`,
  )
  process.exitCode = 2
}
