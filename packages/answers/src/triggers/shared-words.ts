import { readFileSync } from 'node:fs'
import { TRIGGERS_FOLDER } from '@plainpath/guides'
import { parse } from 'yaml'
import { z } from 'zod'

const GeneralDefuser = z.strictObject({
  id: z.string(),
  /** Words that take a pattern's certainty away. */
  words: z.string().min(1),
  /** Where they have to be: before the event in its clause, in its clause, in its sentence, or anywhere. */
  within: z.enum(['before', 'clause', 'sentence', 'question']),
  /** Words that undo it: in the clause of the event. */
  unless: z.string().min(1).optional(),
  /** How likely the trigger still is: from here its question is suggested. 0 suggests nothing. */
  leaves: z.number().min(0).lt(1),
})
export type GeneralDefuser = Readonly<z.infer<typeof GeneralDefuser>>

const Lexicon = z.record(z.string().regex(/^[a-z-]+$/), z.array(z.string().min(1)).min(1))

/** What all triggers share: classes of words, and what defuses an event in any of them. */
export interface SharedWords {
  readonly classes: ReadonlyMap<string, string>
  readonly defusers: readonly GeneralDefuser[]
}

let packaged: SharedWords | undefined

/** The words of the guides' package; read once. @throws Error if a file has a mistake. */
export function loadSharedWords(): SharedWords {
  packaged ??= {
    classes: new Map(
      Object.entries(Lexicon.parse(read('words/lexicon.yaml'))).map(([name, phrases]) => [
        name,
        phrases.join('|'),
      ]),
    ),
    defusers: z.array(GeneralDefuser).parse(read('words/defusers.yaml')),
  }
  return packaged
}

const read = (file: string): unknown => parse(readFileSync(new URL(file, TRIGGERS_FOLDER), 'utf8'))
