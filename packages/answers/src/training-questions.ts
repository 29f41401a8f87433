import { parseArgs } from 'node:util'
import { type LabelledQuestion, readLabelledQuestions } from './labelled-question.ts'

/** The arguments of a program that trains a model. */
interface TrainingArguments {
  readonly questionFiles: readonly string[]
  /** The file to write. By default, the model file in this package's `data` folder. */
  readonly out: string | undefined
  /** The authors to leave out, one character each. A question's id begins with the character of its author. */
  readonly excludedAuthorCodes: string
  /** The date from which the distance of dates in a question is computed. It is fixed by default, so that training is repeatable. */
  readonly today: Date
}

/** Parses `process.argv` of a program that trains a model. */
export function parseTrainingArguments(): TrainingArguments {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      out: { type: 'string' },
      without: { type: 'string', default: '' },
      today: { type: 'string', default: '2026-11-23' },
    },
  })
  const { out, without, today } = values
  return { questionFiles: positionals, out, excludedAuthorCodes: without, today: new Date(today) }
}

/**
 * Reads from a file the labelled questions that a model may be trained on: those that are not held out, and whose author is
 * not excluded.
 *
 * @param excludedAuthorCodes the codes of the authors to leave out
 */
export const readTrainingQuestions = (
  file: string,
  excludedAuthorCodes: string,
): readonly LabelledQuestion[] =>
  readLabelledQuestions(file).filter(
    ({ id, split }) => split !== 'held-out' && !excludedAuthorCodes.includes(id.slice(0, 1)),
  )
