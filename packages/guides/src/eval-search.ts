/* oxlint-disable no-console -- a program whose output is what it prints */
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { guideIndex } from './guide-index.ts'
import { loadGuides } from './load-guides.ts'

const QUESTIONS = '../shared/guides/questions-dev.jsonl'
const TARGETS = { first: 0.7, 'in the first three': 0.9 }

interface Question {
  readonly question: string
  /** `answer:<slug>` when a guide answers the question. */
  readonly expected: string
}

/**
 * Searches with the words of each question that a guide answers. Prints each question whose guide was not the first hit, with
 * its rank, and how often the guide was first.
 *
 * @returns whether both targets were reached
 */
function evaluate(file: string): boolean {
  const questions = readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Question)
    .filter(({ expected }) => expected.startsWith('answer:'))
  const index = guideIndex(loadGuides().filter(({ status }) => status === 'published'))
  const ranks = questions.map(({ question, expected }) => {
    const found = index.search(question, 100).map(({ slug }) => slug)
    const rank = found.indexOf(expected.slice('answer:'.length))
    if (rank !== 0) console.log(`${rank < 0 ? 'none' : rank + 1}\t${expected}\t${found[0]}\t${question}`)
    return rank
  })
  const rates = {
    first: rateWithin(ranks, 1),
    'in the first three': rateWithin(ranks, 3),
  }
  for (const [name, rate] of Object.entries(rates)) {
    const target = TARGETS[name as keyof typeof TARGETS]
    console.log(`${name}: ${(rate * 100).toFixed(1)} % of ${ranks.length} (target ${target * 100} %)`)
  }
  return rates.first >= TARGETS.first && rates['in the first three'] >= TARGETS['in the first three']
}

const rateWithin = (ranks: readonly number[], within: number) =>
  ranks.filter((rank) => rank >= 0 && rank < within).length / ranks.length

const file = path.resolve(process.argv[2] ?? QUESTIONS)
if (existsSync(file)) process.exitCode = evaluate(file) ? 0 : 1
else {
  console.error(
    `There are no questions at ${file}. Name a file of JSON lines {"question", "expected": "answer:<slug>"}.`,
  )
  process.exitCode = 2
}
