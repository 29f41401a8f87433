import { readFileSync } from 'node:fs'
import { QUESTION_TYPES } from '@plainpath/guides'
import { parse } from 'yaml'
import { z } from 'zod'

const Text = z.string().min(1)
const Help = z.strictObject({ title: Text, url: z.url().optional(), phone: Text.optional() })
export type Help = Readonly<z.infer<typeof Help>>

const FixedTexts = z.strictObject({
  outOfScope: z.strictObject({
    'other-country': Text,
    'other-subject': Text,
    'no-guide': Text,
    'asks-to-deceive': Text,
    'not-understood': Text,
  }),
  languages: z.strictObject({ en: Text, es: Text }),
  limitsBegin: Text,
  limitsOf: z.record(z.enum([...QUESTION_TYPES, 'subject']), Text),
  findHelp: z.array(Help).min(1),
  /** Names of `emergencyLines`, by trigger. */
  emergency: z.record(z.string(), z.array(z.string())),
  emergencyLines: z.record(z.string(), Help),
  languageLines: z.array(z.string()),
})
export type FixedTexts = Readonly<z.infer<typeof FixedTexts>>

const Links = z.record(z.string(), z.strictObject({ title: Text, url: z.url() }))
export type OfficialLinks = Readonly<z.infer<typeof Links>>

const dataFile = (name: string): unknown =>
  parse(readFileSync(new URL(`../data/${name}`, import.meta.url), 'utf8'))

let texts: FixedTexts | undefined
let links: OfficialLinks | undefined

/** The sentences of `data/fixed-texts.yaml`; read once. */
export function loadFixedTexts(): FixedTexts {
  texts ??= FixedTexts.parse(dataFile('fixed-texts.yaml'))
  return texts
}

/** The pages of `data/official-links.yaml`, by the names that scope rules give them; read once. */
export function loadOfficialLinks(): OfficialLinks {
  links ??= Links.parse(dataFile('official-links.yaml'))
  return links
}

/** Where a person finds help who gets no answer: the emergency lines first, then the lists of attorneys. */
export function fixedHelp(): readonly Help[] {
  const { languageLines, emergencyLines, findHelp } = loadFixedTexts()
  return [...languageLines.flatMap((name) => emergencyLines[name] ?? []), ...findHelp]
}
