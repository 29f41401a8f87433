/* oxlint-disable no-console -- a program whose output is what it prints */
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { guideIndex } from './guide-index.ts'
import { loadGuides } from './load-guides.ts'

const QUESTIONS = '../shared/guides/questions-dev.jsonl'
const TARGETS = { first: 0.7, 'in the first three': 0.9 }

interface Question {
  readonly question: string
  /** `answer:<slug>` when a guide is the answer. */
  readonly expected: string
}

/**
 * Asks search each question that a guide answers, in the question's own words. Prints where that guide came when it
 * was not the first, and how often it led.
 */
function evaluate(file: string): boolean {
  const questions = readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Question)
    .filter(({ expected }) => expected.startsWith('answer:'))
  const index = guideIndex(loadGuides().filter(({ status }) => status === 'published'))
  const places = questions.map(({ question, expected }) => {
    const found = index.search(question, 100).map(({ slug }) => slug)
    const place = found.indexOf(expected.slice('answer:'.length))
    if (place !== 0) console.log(`${place < 0 ? 'none' : place + 1}\t${expected}\t${found[0]}\t${question}`)
    return place
  })
  const rates = {
    first: rate(places, 1),
    'in the first three': rate(places, 3),
  }
  for (const [name, reached] of Object.entries(rates)) {
    const target = TARGETS[name as keyof typeof TARGETS]
    console.log(`${name}: ${(reached * 100).toFixed(1)} % of ${places.length} (target ${target * 100} %)`)
  }
  return rates.first >= TARGETS.first && rates['in the first three'] >= TARGETS['in the first three']
}

const rate = (places: readonly number[], within: number) =>
  places.filter((place) => place >= 0 && place < within).length / places.length

const file = path.resolve(process.argv[2] ?? QUESTIONS)
if (existsSync(file)) process.exitCode = evaluate(file) ? 0 : 1
else {
  console.error(
    `There are no questions at ${file}. Name a file of JSON lines {"question", "expected": "answer:<slug>"}.`,
  )
  process.exitCode = 2
}
