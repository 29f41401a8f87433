import { Answer } from '@plainpath/domain'
import { describe, expect, test } from 'vitest'
import { answerReading } from './answer-question.ts'
import { preparePackagedKnowledge } from './knowledge.ts'
import { type LabelledQuestion, listAcceptedNames, readLabelledQuestions } from './labelled-question.ts'
import { type QuestionReading, readQuestion } from './read-question.ts'
import { findOtherSubject, mayBeOtherSubject } from './scope/out-of-scope.ts'
import { choosePassages } from './sections/choose-passages.ts'
import { findUnknownStrings, ORIGIN } from './served-sentences.ts'

/*
 * Floors for the quality of answers to labelled questions. A letter or digit names the author of a file of questions, in which
 * questions that no model has learned from are marked as held-out (packages/answers/README.md).
 */

/** The shares that the sections must reach, and the greatest share of refusals, as if no trigger handed a question off. */
const SECTION_FLOORS = {
  guideAmongPassages: 0.95,
  guideFirst: 0.78,
  refusedOutOfScope: 0.75,
  maxRefused: 0.05,
}
/** The floors for authors N to Z without T, and 1 to 4, whose questions are harder. They are a little below the measured shares. */
const NEW_AUTHORS_FLOORS = {
  guideAmongPassages: 0.9,
  guideFirst: 0.78,
  refusedOutOfScope: 0.85,
  maxRefused: 0.1,
}
/** The floors for the held-out questions of four authors, which are nearly all of their questions. */
const UNSEEN_AUTHORS_FLOORS = {
  guideAmongPassages: 0.95,
  guideFirst: 0.8,
  refusedOutOfScope: 0.84,
  maxRefused: 0.05,
}

/** The day on which the questions are asked. The distance of a date in a question depends on it. */
const TODAY = new Date('2026-11-23T00:00:00Z')
const knowledge = preparePackagedKnowledge(ORIGIN)
const guides = new Set(knowledge.guides.keys())

const isOutOfScope = ({ expected }: LabelledQuestion) => expected === 'out_of_scope'

const readExamples = (name: string) =>
  readLabelledQuestions(new URL(`../examples/${name}.jsonl`, import.meta.url))
/** Questions of five authors, whose files are not separate. */
const GIVEN = readExamples('given')
const AUTHORS = new Map(['f', 'g', 'h', 'i', 'j', 'k'].map((author) => [author, readExamples(author)]))
const isHeldOut = ({ split }: LabelledQuestion) => split === 'held-out'
const NEW_AUTHORS = [...'nopqrsuvwxyz1234'].flatMap(readExamples).filter(isHeldOut)
/** Short, direct questions with formal words, by α. No model learns from them. */
const PLAIN = readExamples('plain')
/** Questions by β and γ that state something in one sentence and ask about something else. No model learns from them. */
const EVENT_BESIDE_QUESTION = ['beta', 'gamma'].flatMap(readExamples)
/** Questions by ε, as people type them into a search box. No model learns from them. */
const SEARCHES = readExamples('epsilon')
const UNSEEN_AUTHORS = ['lower-r', 'lower-s', 'lower-z', 'lower-f'].flatMap(readExamples).filter(isHeldOut)

/** The sets of questions with their floors. The set of I, J and K has only held-out and out-of-scope questions. */
const SETS = [
  ['given', GIVEN, SECTION_FLOORS] as const,
  ...['f', 'g', 'h'].map((author) => [author, AUTHORS.get(author) ?? [], SECTION_FLOORS] as const),
  [
    'i, j and k',
    ['i', 'j', 'k']
      .flatMap((author) => AUTHORS.get(author) ?? [])
      .filter((example) => isHeldOut(example) || isOutOfScope(example)),
    SECTION_FLOORS,
  ] as const,
  ['new authors', NEW_AUTHORS, NEW_AUTHORS_FLOORS] as const,
  ['authors r, s, z and f', UNSEEN_AUTHORS, UNSEEN_AUTHORS_FLOORS] as const,
  ['α', PLAIN, SECTION_FLOORS] as const,
  ['β and γ', EVENT_BESIDE_QUESTION, SECTION_FLOORS] as const,
  ['ε', SEARCHES, SECTION_FLOORS] as const,
]

const readings = new Map<string, QuestionReading>()

/** Reads a question, or returns its earlier reading. Reading takes most of the time of these tests. */
function readOnce({ question }: { question: string }): QuestionReading {
  const reading = readings.get(question) ?? readQuestion({ question }, knowledge, TODAY)
  readings.set(question, reading)
  return reading
}

const computeShare = <T>(items: readonly T[], isCounted: (item: T) => boolean) =>
  items.filter(isCounted).length / items.length

/** Returns an example's expected guide, the guides of its passages if no trigger handed it off, and whether it is refused. */
function evaluateSections(example: LabelledQuestion) {
  const reading = readOnce(example)
  const isRefused =
    (findOtherSubject(example.question, knowledge.scope, guides) !== undefined &&
      mayBeOtherSubject(reading.triggers.otherSubject)) ||
    answerReading(reading, knowledge, TODAY).outcome === 'out_of_scope'
  const foundGuides = choosePassages(reading.sections).map(({ section }) => section.guide)
  return { guide: listAcceptedNames(example, 'answer')[0] ?? '', foundGuides, isRefused }
}

test.each(SETS)(
  'enough questions of %s find their guide, few of them are refused, and enough out-of-scope questions are refused',
  (_, examples, floors) => {
    const answerableExamples = examples.filter(({ expected }) => expected.startsWith('answer:'))
    const answerable = answerableExamples.map(evaluateSections)
    const outOfScope = examples.filter(isOutOfScope).map(evaluateSections)
    const withGuide = computeShare(answerable, ({ foundGuides, guide }) => foundGuides.includes(guide))
    const withGuideFirst = computeShare(answerable, ({ foundGuides, guide }) => foundGuides[0] === guide)
    expect(withGuide).toBeGreaterThan(floors.guideAmongPassages)
    expect(withGuideFirst).toBeGreaterThan(floors.guideFirst)
    expect(computeShare(answerable, ({ isRefused }) => isRefused)).toBeLessThan(floors.maxRefused)
    expect(computeShare(outOfScope, ({ isRefused }) => isRefused)).toBeGreaterThan(floors.refusedOutOfScope)
  },
)

const selectBySplit = (split: LabelledQuestion['split']) =>
  [...AUTHORS.values()].flat().filter((example) => example.split === split)

/** The bounds are a little worse than the measured shares. */
describe.for([
  {
    set: 'train',
    questions: selectBySplit('train'),
    minRecall: 0.95,
    minCovered: 0.98,
    maxFalseHandOffs: 0.06,
  },
  {
    set: 'held-out',
    questions: selectBySplit('held-out'),
    minRecall: 0.9,
    minCovered: 0.98,
    maxFalseHandOffs: 0.12,
  },
  {
    set: 'new authors’ held-out',
    questions: NEW_AUTHORS,
    minRecall: 0.8,
    minCovered: 0.95,
    maxFalseHandOffs: 0.22,
  },
  {
    set: 'authors r, s, z and f’s',
    questions: UNSEEN_AUTHORS,
    minRecall: 0.92,
    minCovered: 0.97,
    maxFalseHandOffs: 0.12,
  },
  {
    set: 'α’s plain',
    questions: PLAIN,
    minRecall: 0.9,
    minCovered: 0.98,
    maxFalseHandOffs: 0.05,
  },
  {
    set: 'β and γ’s',
    questions: EVENT_BESIDE_QUESTION,
    minRecall: 0.92,
    minCovered: 0.97,
    maxFalseHandOffs: 0.08,
  },
  {
    set: 'ε’s',
    questions: SEARCHES,
    minRecall: 0.95,
    minCovered: 0.98,
    maxFalseHandOffs: 0.04,
  },
])('$set questions', ({ questions, minRecall, minCovered, maxFalseHandOffs }) => {
  const results = questions.map((example) => {
    const { matches, suggestedChecks } = readOnce(example).triggers
    const acceptedIds = listAcceptedNames(example, 'handoff')
    const statedIds = matches.map(({ trigger }) => trigger)
    // docs/answers.md reports the same figure: a trigger among the first three checks.
    const checkIds = suggestedChecks.slice(0, 3).map(({ trigger }) => trigger)
    return {
      kind: example.expected.split(':')[0],
      hasAcceptedTrigger: statedIds.some((id) => acceptedIds.includes(id)),
      isCovered: [...statedIds, ...checkIds].some((id) => acceptedIds.includes(id)),
      hasOtherTrigger: statedIds.some((id) => !acceptedIds.includes(id)),
    }
  })
  const handOffs = results.filter(({ kind }) => kind === 'handoff')
  const answerable = results.filter(({ kind }) => kind === 'answer')

  test('that need a hand-off state an accepted trigger often enough', () => {
    expect(computeShare(handOffs, ({ hasAcceptedTrigger }) => hasAcceptedTrigger)).toBeGreaterThan(minRecall)
  })

  test('that need a hand-off state an accepted trigger, or have it among three checks, often enough', () => {
    expect(computeShare(handOffs, ({ isCovered }) => isCovered)).toBeGreaterThan(minCovered)
  })

  test('that a guide answers seldom state a trigger that is not accepted', () => {
    expect(computeShare(answerable, ({ hasOtherTrigger }) => hasOtherTrigger)).toBeLessThan(maxFalseHandOffs)
  })
})

test('of ε’s answers, enough mark a section as the answer, and most of these are right', () => {
  const answers = SEARCHES.filter(({ sections }) => sections.length > 0).map((example) => {
    const { outcome, passages } = answerReading(readOnce(example), knowledge, TODAY)
    const [best] = passages
    return { outcome, isMarked: best?.answers, isRight: best && example.sections.includes(best.id) }
  })
  const information = answers.filter(({ outcome }) => outcome === 'information')
  const marked = information.filter(({ isMarked }) => isMarked)
  expect(marked.length / information.length).toBeGreaterThan(0.6)
  expect(computeShare(marked, ({ isRight }) => isRight === true)).toBeGreaterThan(0.92)
})

test('answers match their schema, and each sentence comes from a guide, a trigger file or a fixed text', () => {
  const furtherQuestions = ['¿Cómo renuevo mi tarjeta de residente?', 'как продлить грин карту', 'E-2 visa']
  const questions = [...GIVEN, ...furtherQuestions.map((question) => ({ question }))]
  const unknownStrings = questions.flatMap((question) => {
    const answer = answerReading(readOnce(question), knowledge, TODAY, { explain: true })
    expect(Answer.safeParse(answer).error, question.question).toBeUndefined()
    const { explain, ...served } = answer
    expect(explain?.rules.length).toBeGreaterThan(0)
    return findUnknownStrings(served)
  })
  expect(new Set(unknownStrings)).toEqual(new Set())
}, 120_000)
