import { readFileSync } from 'node:fs'
import path from 'node:path'
import { loadSectionAsks } from '@plainpath/guides'
import { parse } from 'yaml'
import { readTrainingQuestions } from '../training-questions.ts'
import { loadTriggers } from './trigger-file.ts'

/**
 * The weight of each kind of example in the loss. Questions that were written independently of the patterns are most like the
 * questions that people will ask, so they have the greatest weight.
 */
const EXAMPLE_WEIGHTS = {
  independentQuestion: 1,
  patternRelatedQuestion: 0.6,
  triggerFile: 0.5,
  minimalPair: 0.5,
  sectionQuestion: 0.3,
  composed: 0.5,
}
/** The files whose questions were used to write patterns, or whose authors had seen the patterns. */
const PATTERN_RELATED_FILES = new Set(['given.jsonl', 'ordinary-and-hard.jsonl'])

/**
 * A question to learn from, with its labels. They have the form that `LabelledQuestion` describes, but here `expected` may also be plain
 * `answer`, which stands for any guide.
 */
export interface TrainingExample {
  readonly question: string
  readonly expected: string
  readonly alsoOk: readonly string[]
  /** How much the example counts in the loss. */
  readonly weight: number
}

/**
 * Loads the examples from which the model of likely triggers learns: labelled questions, the examples in the trigger files, the
 * minimal pairs, the section questions, and examples that are composed of these.
 *
 * @param questionFiles files of labelled questions. Questions with `"split": "held-out"` are skipped
 * @param excludedAuthorCodes the codes of the authors to leave out
 */
export function loadTrainingExamples(
  questionFiles: readonly string[],
  excludedAuthorCodes: string,
): readonly TrainingExample[] {
  const questions = questionFiles.flatMap((file) => readQuestions(file, excludedAuthorCodes))
  const triggerExamples = [...listTriggerFileExamples(), ...readMinimalPairs()]
  const sectionQuestions = listSectionQuestions()
  const composedExamples = composeExamples(triggerExamples, sectionQuestions)
  return [...questions, ...triggerExamples, ...sectionQuestions, ...composedExamples]
}

function readQuestions(file: string, excludedAuthorCodes: string): readonly TrainingExample[] {
  const weight = PATTERN_RELATED_FILES.has(path.basename(file))
    ? EXAMPLE_WEIGHTS.patternRelatedQuestion
    : EXAMPLE_WEIGHTS.independentQuestion
  return readTrainingQuestions(file, excludedAuthorCodes).map(({ question, expected, alsoOk }) => ({
    question,
    expected,
    alsoOk,
    weight,
  }))
}

/** Lists the examples in the trigger files: `matches` of a pattern, which hand off, and `spares`, which do not. */
const listTriggerFileExamples = (): readonly TrainingExample[] =>
  loadTriggers().flatMap(({ id, patterns, defusers }) => [
    ...patterns.flatMap(({ matches }) =>
      matches.map((question) => toExample(question, `handoff:${id}`, 'triggerFile')),
    ),
    ...[...patterns, ...defusers].flatMap(({ spares }) =>
      spares.map((question) => toExample(question, 'answer', 'triggerFile')),
    ),
  ])

/**
 * Reads `minimal-pairs.yaml`, which has several forms of one event for each trigger. All forms hand off but
 * `denied` and `informational`.
 */
function readMinimalPairs(): readonly TrainingExample[] {
  const formsByTrigger = parse(
    readFileSync(new URL('../../examples/minimal-pairs.yaml', import.meta.url), 'utf8'),
  ) as Record<string, Record<string, string>>
  return Object.entries(formsByTrigger).flatMap(([id, forms]) =>
    Object.entries(forms).map(([form, question]) => {
      const isAnswered = form === 'denied' || form === 'informational'
      return toExample(question, isAnswered ? 'answer' : `handoff:${id}`, 'minimalPair')
    }),
  )
}

/** Lists the questions (`asks`) that the sections of the guides answer. */
const listSectionQuestions = (): readonly TrainingExample[] =>
  loadSectionAsks().flatMap(({ guide, sections }) =>
    Object.values(sections).flatMap(({ asks }) =>
      asks.map((question) => toExample(question, `answer:${guide}`, 'sectionQuestion')),
    ),
  )

/**
 * How far apart in the list two consecutively used section questions are. The questions of a guide are adjacent in the list, and no guide
 * has this many, so the two come from different guides. It must be coprime with the length of the list, so that every question is used before one repeats.
 */
const SECTION_QUESTION_STEP = 389

/**
 * Makes two examples from each trigger example, by appending a different section question to each copy. People often mention an event
 * and then ask an ordinary question.
 */
const composeExamples = (
  triggerExamples: readonly TrainingExample[],
  sectionQuestions: readonly TrainingExample[],
): readonly TrainingExample[] =>
  triggerExamples.flatMap((triggerExample, index) =>
    [0, 1].flatMap((offset) => {
      const sectionIndex = ((index * 2 + offset) * SECTION_QUESTION_STEP) % sectionQuestions.length
      const sectionQuestion = sectionQuestions[sectionIndex]
      if (sectionQuestion === undefined) return []
      const question = `${triggerExample.question.replace(/[.!?]*$/, '.')} ${sectionQuestion.question}`
      const expected =
        triggerExample.expected === 'answer' ? sectionQuestion.expected : triggerExample.expected
      return [toExample(question, expected, 'composed')]
    }),
  )

const toExample = (
  question: string,
  expected: string,
  kind: keyof typeof EXAMPLE_WEIGHTS,
): TrainingExample => ({ question, expected, alsoOk: [], weight: EXAMPLE_WEIGHTS[kind] })
