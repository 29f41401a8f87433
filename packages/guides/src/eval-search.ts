/* oxlint-disable no-console -- a program whose output is what it prints */
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { createGuideIndex } from './guide-index.ts'
import { loadGuides } from './load-guides.ts'

/** The minimum shares of questions whose guide is the first result, and is among the first three. */
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
    // The limit of 100 exceeds the number of guides, so the rank of every found guide is known.
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

const [fileArgument] = process.argv.slice(2)
const file = fileArgument === undefined ? undefined : path.resolve(fileArgument)
if (file !== undefined && existsSync(file)) process.exitCode = evaluateSearch(file) ? 0 : 1
else {
  console.error(
    `${file === undefined ? 'No file was named' : `There is no file ${file}`}. Name a file of JSON lines {"question", "expected": "answer:<slug>"}: npm run eval:search -- FILE`,
  )
  process.exitCode = 2
}
