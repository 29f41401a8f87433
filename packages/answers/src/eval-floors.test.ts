import { expect, test } from 'vitest'
import { answerQuestion } from './answer-question.ts'
import { packagedKnowledge } from './knowledge.ts'
import { acceptedNames, type LabelledQuestion, readLabelledQuestions } from './labelled-question.ts'
import { findOtherSubject } from './scope/out-of-scope.ts'
import { choosePassages } from './sections/choose-passages.ts'

/** Shares that the questions of each set must reach. Sections are measured as if no trigger handed the question off. */
const FLOORS = { guideAmongPassages: 0.93, guideFirst: 0.78, refusedOutOfScope: 0.75 }
const MOST_REFUSED = 0.05

const TODAY = new Date('2026-11-23T00:00:00Z')
const knowledge = packagedKnowledge('https://plainpath.example')
const guides = new Set(knowledge.guides.keys())

const isOutOfScope = ({ expected }: LabelledQuestion) => expected === 'out_of_scope'

const read = (name: string) => readLabelledQuestions(new URL(`../examples/${name}.jsonl`, import.meta.url))

/** Each author's questions; of those that are newest, the ones that do not train the model, and all about other subjects. */
const SETS = [
  ...['given', 'f', 'g', 'h'].map((name) => [name, read(name)] as const),
  [
    'i, j and k',
    ['i', 'j', 'k'].flatMap(read).filter((one) => one.split === 'held-out' || isOutOfScope(one)),
  ] as const,
]

const share = <T>(of: readonly T[], holds: (one: T) => boolean) => of.filter(holds).length / of.length

/** How the sections would answer, as if no trigger handed the question off. */
function answered(example: LabelledQuestion) {
  const { question } = example
  const found = choosePassages(knowledge.sections.find(question)).map(({ section }) => section.guide)
  const refused =
    findOtherSubject(question, knowledge.scope, guides) !== undefined ||
    answerQuestion({ question }, knowledge, TODAY).outcome === 'out_of_scope'
  return { guide: acceptedNames(example, 'answer')[0] ?? '', found, refused }
}

test.each(SETS)('questions of %s find their guide, and only other subjects are refused', (_, examples) => {
  const answerable = examples.filter(({ expected }) => expected.startsWith('answer:')).map(answered)
  const outOfScope = examples.filter(isOutOfScope).map(answered)
  const { guideAmongPassages, guideFirst, refusedOutOfScope } = FLOORS
  expect(share(answerable, ({ found, guide }) => found.includes(guide))).toBeGreaterThan(guideAmongPassages)
  expect(share(answerable, ({ found, guide }) => found[0] === guide)).toBeGreaterThan(guideFirst)
  expect(share(answerable, ({ refused }) => refused)).toBeLessThan(MOST_REFUSED)
  expect(share(outOfScope, ({ refused }) => refused)).toBeGreaterThan(refusedOutOfScope)
})
