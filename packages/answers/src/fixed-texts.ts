import { readFileSync } from 'node:fs'
import { QUESTION_TYPES } from '@plainpath/guides'
import { parse } from 'yaml'
import { z } from 'zod'

const Text = z.string().min(1)

const FixedTexts = z.strictObject({
  /** The notice for each reason why a question is out of scope. */
  outOfScope: z.strictObject({
    'other-country': Text,
    'other-subject': Text,
    'no-guide': Text,
    'asks-to-deceive': Text,
    'not-understood': Text,
  }),
  /** The notices for a question that is not in English, by their own language. */
  languages: z.strictObject({ en: Text, es: Text }),
  /** The beginning of the sentence that names what an answer leaves open. */
  limitsBegin: Text,
  /** The other parts of that sentence, by the type of information that is open. `subject` stands for any part of the question. */
  limitsOf: z.record(z.enum([...QUESTION_TYPES, 'subject', 'handOff']), Text),
})
export type FixedTexts = Readonly<z.infer<typeof FixedTexts>>

const Links = z.record(z.string(), z.strictObject({ title: Text, url: z.url() }))
export type OfficialLinks = Readonly<z.infer<typeof Links>>

const readDataFile = (name: string): unknown =>
  parse(readFileSync(new URL(`../data/${name}`, import.meta.url), 'utf8'))

let cachedTexts: FixedTexts | undefined
let cachedLinks: OfficialLinks | undefined

/** Loads `data/fixed-texts.yaml`, once per process. */
export function loadFixedTexts(): FixedTexts {
  cachedTexts ??= FixedTexts.parse(readDataFile('fixed-texts.yaml'))
  return cachedTexts
}

/** Loads `data/official-links.yaml`, once per process. Scope rules refer to the links by name. */
export function loadOfficialLinks(): OfficialLinks {
  cachedLinks ??= Links.parse(readDataFile('official-links.yaml'))
  return cachedLinks
}
