import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'

const Words = z.record(z.string(), z.string().min(1))
const EverydayWordsFile = z.strictObject({ short: Words, 'from-other-languages': Words })

const file = EverydayWordsFile.parse(
  parse(readFileSync(new URL('../../data/everyday-words.yaml', import.meta.url), 'utf8')),
)

/**
 * Maps short forms, misspellings and foreign words to one or more common words, separated by spaces. All are in lower case,
 * without apostrophes. If an English short form has the spelling of a foreign word, the short form counts.
 */
export const EVERYDAY_WORDS: ReadonlyMap<string, string> = new Map([
  ...Object.entries(file['from-other-languages']),
  ...Object.entries(file.short),
])
