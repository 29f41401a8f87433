import { parseArgs } from 'node:util'
import { type LabelledQuestion, readLabelledQuestions } from './labelled-question.ts'

/** The arguments of a program that trains a model. */
interface TrainingArguments {
  readonly questionFiles: readonly string[]
  /** The file to write; undefined for the model of this package. */
  readonly out: string | undefined
  /** The letters of authors whose questions are left out. The id of a question begins with the letter of its author. */
  readonly excludedAuthors: string
  readonly today: Date
}

/** Parses the command line of a program that trains a model. */
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
  return { questionFiles: positionals, out, excludedAuthors: without, today: new Date(today) }
}

/**
 * Reads the labelled questions of a file from which a model may learn. Leaves out held-out questions and excluded authors.
 *
 * @param excludedAuthors as in `TrainingArguments`
 */
export const readTrainingQuestions = (file: string, excludedAuthors: string): readonly LabelledQuestion[] =>
  readLabelledQuestions(file).filter(
    ({ id, split }) => split !== 'held-out' && !excludedAuthors.includes(id.slice(0, 1)),
  )
