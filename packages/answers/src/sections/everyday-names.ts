import { readFileSync } from 'node:fs'
import { splitWords } from '@plainpath/guides'
import { parse } from 'yaml'
import { z } from 'zod'
import { createPhraseFinder } from './phrase-finder.ts'

// YAML reads the number of a form, such as 864, as a number.
const EverydayNamesFile = z.record(z.string(), z.array(z.coerce.string().min(1)).min(1))

let cachedNames: z.infer<typeof EverydayNamesFile> | undefined

/**
 * Loads `data/everyday-names.yaml`, once per process. The file maps each name that guides use to the names
 * that people use for the same thing.
 */
export function loadEverydayNames(): Readonly<z.infer<typeof EverydayNamesFile>> {
  cachedNames ??= EverydayNamesFile.parse(
    parse(readFileSync(new URL('../../data/everyday-names.yaml', import.meta.url), 'utf8')),
  )
  return cachedNames
}

let cachedFinder: ((stems: readonly string[]) => readonly string[]) | undefined

/**
 * Finds the everyday names in a question, and returns the words that guides use instead.
 *
 * @param stems the stems of the question's words, in order
 */
export function findGuideWords(stems: readonly string[]): readonly string[] {
  cachedFinder ??= createPhraseFinder(
    Object.entries(loadEverydayNames()).flatMap(([guideName, everydayNames]) =>
      everydayNames.map((everydayName) => [everydayName, guideName] as const),
    ),
  )
  return [...new Set(cachedFinder(stems))].flatMap(splitWords)
}
