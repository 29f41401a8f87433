import { readFileSync } from 'node:fs'
import { splitWords } from '@plainpath/guides'
import { parse } from 'yaml'
import { z } from 'zod'
import { createPhraseFinder } from './phrase-finder.ts'

// YAML parses a bare form number, such as 864, as a number.
const EverydayPhrasesFile = z.record(z.string(), z.array(z.coerce.string().min(1)).min(1))

let cachedPhrases: z.infer<typeof EverydayPhrasesFile> | undefined

/**
 * Loads `data/everyday-phrases.yaml`, once per process. The file maps each term of the guides to the phrases that people
 * use instead.
 */
export function loadEverydayPhrases(): Readonly<z.infer<typeof EverydayPhrasesFile>> {
  cachedPhrases ??= EverydayPhrasesFile.parse(
    parse(readFileSync(new URL('../../data/everyday-phrases.yaml', import.meta.url), 'utf8')),
  )
  return cachedPhrases
}

let cachedFinder: ((stems: readonly string[]) => readonly string[]) | undefined

/**
 * Finds the everyday phrases in a question.
 *
 * @param stems the stems of the question's words, in order
 * @returns the words of the guides' terms for these phrases
 */
export function findGuideTermWords(stems: readonly string[]): readonly string[] {
  cachedFinder ??= createPhraseFinder(
    Object.entries(loadEverydayPhrases()).flatMap(([guideTerm, everydayPhrases]) =>
      everydayPhrases.map((everydayPhrase) => [everydayPhrase, guideTerm] as const),
    ),
  )
  return [...new Set(cachedFinder(stems))].flatMap(splitWords)
}
