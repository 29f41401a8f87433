import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { answerQuestion } from './answer-question.ts'
import { packagedKnowledge } from './knowledge.ts'
import { otherSubject } from './scope/scope-gate.ts'
import { choosePassages } from './sections/choose-passages.ts'

/** Shares that the questions of each file must reach. Sections are measured as if no trigger handed the question off. */
const FLOORS = { guideAmongPassages: 0.93, guideFirst: 0.78, refusedOutOfScope: 0.75 }
const MOST_REFUSED = 0.05

const TODAY = new Date('2026-11-23T00:00:00Z')
const knowledge = packagedKnowledge('https://plainpath.example')
const guides = new Set(knowledge.guides.keys())

/** A labelled question: with a label such as `answer:GUIDE`, or with the outcome and the guide apart. */
interface Example {
  readonly question: string
  readonly expected?: string
  readonly outcome?: string
  readonly guide?: string
}

const guideOf = ({ expected, guide }: Example) =>
  guide ?? (expected?.startsWith('answer:') ? expected.slice('answer:'.length) : undefined)

const isOutOfScope = ({ expected, outcome }: Example) => (outcome ?? expected) === 'out_of_scope'

const isAnswerable = (example: Example) =>
  guideOf(example) !== undefined && (example.outcome ?? 'information') === 'information'

/** The files of labelled questions; those of one author each are named by the letter. */
const FILES = ['given', 'f', 'g', 'h']
  .map((name) => [name, new URL(`../examples/${name}.jsonl`, import.meta.url)] as const)
  .filter(([, file]) => existsSync(file))

const share = (of: readonly Example[], holds: (example: Example) => boolean) =>
  of.filter(holds).length / Math.max(of.length, 1)

const guidesFor = ({ question }: Example) =>
  choosePassages(knowledge.sections.find(question)).map(({ section }) => section.guide)

test.each(FILES)('questions of %s find their guide, and only other subjects are refused', (_, file) => {
  const examples = readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Example)
  const answerable = examples.filter(isAnswerable)
  const outOfScope = examples.filter(isOutOfScope)
  expect(answerable.length).toBeGreaterThan(0)
  expect(share(answerable, (example) => guidesFor(example).includes(guideOf(example) ?? ''))).toBeGreaterThan(
    FLOORS.guideAmongPassages,
  )
  expect(share(answerable, (example) => guidesFor(example)[0] === guideOf(example))).toBeGreaterThan(
    FLOORS.guideFirst,
  )
  const isRefused = ({ question }: Example) =>
    otherSubject(question, knowledge.scope, guides) !== undefined ||
    answerQuestion({ question }, knowledge, TODAY).outcome === 'out_of_scope'
  expect(share(answerable, isRefused)).toBeLessThan(MOST_REFUSED)
  expect(share(outOfScope, isRefused)).toBeGreaterThan(FLOORS.refusedOutOfScope)
})
