import { readFileSync } from 'node:fs'
import { TRIGGERS_FOLDER } from '@plainpath/guides'
import { parse } from 'yaml'
import { z } from 'zod'

/** A defuser for all patterns that do not name it in `despite`: words that show that an event is not meant as stated. */
const GeneralDefuser = z.strictObject({
  id: z.string(),
  /** Words that reduce the certainty of a pattern. */
  words: z.string().min(1),
  /** Their required position: before the event in its clause, in its clause, in its sentence, or anywhere. */
  within: z.enum(['before', 'clause', 'sentence', 'question']),
  /** Words in the clause of the event that disable the defuser. */
  unless: z.string().min(1).optional(),
  /** The score that remains. If it is above 0, it adds to the score of the trigger's check. */
  leaves: z.number().min(0).lt(1),
})
export type GeneralDefuser = Readonly<z.infer<typeof GeneralDefuser>>

/** The phrases of each class, by the name with which patterns refer to it: `{name}`. */
const Lexicon = z.record(z.string().regex(/^[a-z-]+$/), z.array(z.string().min(1)).min(1))

/** The parts that all triggers share: classes of words, and general defusers. */
export interface SharedWords {
  readonly classes: ReadonlyMap<string, string>
  readonly defusers: readonly GeneralDefuser[]
}

let packagedWords: SharedWords | undefined

/**
 * Loads the shared words of the guides package, once per process.
 *
 * @throws {Error} if a file has a mistake
 */
export function loadSharedWords(): SharedWords {
  packagedWords ??= {
    classes: new Map(
      Object.entries(Lexicon.parse(readYaml('words/lexicon.yaml'))).map(([name, phrases]) => [
        name,
        phrases.join('|'),
      ]),
    ),
    defusers: z.array(GeneralDefuser).parse(readYaml('words/defusers.yaml')),
  }
  return packagedWords
}

const readYaml = (file: string): unknown => parse(readFileSync(new URL(file, TRIGGERS_FOLDER), 'utf8'))
