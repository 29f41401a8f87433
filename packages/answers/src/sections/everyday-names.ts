import { readFileSync } from 'node:fs'
import { splitWords } from '@plainpath/guides'
import { parse } from 'yaml'
import { z } from 'zod'
import { phraseFinder } from './phrase-finder.ts'

const File = z.record(z.string(), z.array(z.coerce.string().min(1)).min(1))

let names: z.infer<typeof File> | undefined

/** Loads `data/everyday-names.yaml` once per process: the words that people use, by the words that guides use. */
export function guideNames(): Readonly<z.infer<typeof File>> {
  names ??= File.parse(
    parse(readFileSync(new URL('../../data/everyday-names.yaml', import.meta.url), 'utf8')),
  )
  return names
}

let find: ((words: readonly string[]) => readonly string[]) | undefined

/** Returns the words that guides use for phrases of a question that mean the same. */
export function guideWordsFor(words: readonly string[]): readonly string[] {
  find ??= phraseFinder(
    Object.entries(guideNames()).flatMap(([name, variants]) =>
      variants.map((variant) => [variant, name] as const),
    ),
  )
  return [...new Set(find(words))].flatMap(splitWords)
}
