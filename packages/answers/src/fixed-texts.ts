import { readFileSync } from 'node:fs'
import { EMERGENCY_LINES } from '@plainpath/domain'
import { QUESTION_TYPES } from '@plainpath/guides'
import { parse } from 'yaml'
import { z } from 'zod'

const Text = z.string().min(1)
const EmergencyLine = z.enum(Object.keys(EMERGENCY_LINES) as (keyof typeof EMERGENCY_LINES)[])
export type EmergencyLine = z.infer<typeof EmergencyLine>

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
  /** By trigger. */
  emergency: z.record(z.string(), z.array(EmergencyLine)),
})
export type FixedTexts = Readonly<z.infer<typeof FixedTexts>>

const Links = z.record(z.string(), z.strictObject({ title: Text, url: z.url() }))
export type OfficialLinks = Readonly<z.infer<typeof Links>>

const dataFile = (name: string): unknown =>
  parse(readFileSync(new URL(`../data/${name}`, import.meta.url), 'utf8'))

let texts: FixedTexts | undefined
let links: OfficialLinks | undefined

/** Loads `data/fixed-texts.yaml`, once per process. */
export function loadFixedTexts(): FixedTexts {
  texts ??= FixedTexts.parse(dataFile('fixed-texts.yaml'))
  return texts
}

/** Loads `data/official-links.yaml` once per process: official pages, by the names that scope rules use. */
export function loadOfficialLinks(): OfficialLinks {
  links ??= Links.parse(dataFile('official-links.yaml'))
  return links
}
