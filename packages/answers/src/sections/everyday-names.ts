import { readFileSync } from 'node:fs'
import { splitWords } from '@plainpath/guides'
import { parse } from 'yaml'
import { z } from 'zod'
import { createPhraseFinder } from './phrase-finder.ts'

const EverydayNamesFile = z.record(z.string(), z.array(z.coerce.string().min(1)).min(1))

let cachedNames: z.infer<typeof EverydayNamesFile> | undefined

/** Loads `data/everyday-names.yaml`, once per process. It maps each name in the guides to people's names for the same thing. */
export function loadEverydayNames(): Readonly<z.infer<typeof EverydayNamesFile>> {
  cachedNames ??= EverydayNamesFile.parse(
    parse(readFileSync(new URL('../../data/everyday-names.yaml', import.meta.url), 'utf8')),
  )
  return cachedNames
}

let findNames: ((stems: readonly string[]) => readonly string[]) | undefined

/** Returns the guides' words for the everyday names in a question, from the stems of its words. */
export function findGuideWords(stems: readonly string[]): readonly string[] {
  findNames ??= createPhraseFinder(
    Object.entries(loadEverydayNames()).flatMap(([name, variants]) =>
      variants.map((variant) => [variant, name] as const),
    ),
  )
  return [...new Set(findNames(stems))].flatMap(splitWords)
}
