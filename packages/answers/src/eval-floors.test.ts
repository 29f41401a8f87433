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

const share = <T>(of: readonly T[], holds: (one: T) => boolean) => of.filter(holds).length / of.length

/** How the sections would answer, as if no trigger handed the question off. */
function read(example: Example) {
  const { question } = example
  const found = choosePassages(knowledge.sections.find(question)).map(({ section }) => section.guide)
  const refused =
    otherSubject(question, knowledge.scope, guides) !== undefined ||
    answerQuestion({ question }, knowledge, TODAY).outcome === 'out_of_scope'
  return { guide: guideOf(example) ?? '', found, refused }
}

test.each(FILES)('questions of %s find their guide, and only other subjects are refused', (_, file) => {
  const examples = readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Example)
  const answerable = examples.filter(isAnswerable).map(read)
  const outOfScope = examples.filter(isOutOfScope).map(read)
  const { guideAmongPassages, guideFirst, refusedOutOfScope } = FLOORS
  expect(share(answerable, ({ found, guide }) => found.includes(guide))).toBeGreaterThan(guideAmongPassages)
  expect(share(answerable, ({ found, guide }) => found[0] === guide)).toBeGreaterThan(guideFirst)
  expect(share(answerable, ({ refused }) => refused)).toBeLessThan(MOST_REFUSED)
  expect(share(outOfScope, ({ refused }) => refused)).toBeGreaterThan(refusedOutOfScope)
})
