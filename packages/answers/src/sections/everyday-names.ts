import { readFileSync } from 'node:fs'
import { wordsOf } from '@plainpath/guides'
import { parse } from 'yaml'
import { z } from 'zod'
import { phraseFinder } from './phrase-finder.ts'

const File = z.record(z.string(), z.array(z.coerce.string().min(1)).min(1))

let names: z.infer<typeof File> | undefined

/** What people say, by what guides say: `data/everyday-names.yaml`; read once. */
export function guideNames(): Readonly<z.infer<typeof File>> {
  names ??= File.parse(
    parse(readFileSync(new URL('../../data/everyday-names.yaml', import.meta.url), 'utf8')),
  )
  return names
}

let find: ((words: readonly string[]) => readonly string[]) | undefined

/** The words that guides use for what the words of a question name in another way. */
export function guideWordsFor(words: readonly string[]): readonly string[] {
  find ??= phraseFinder(
    Object.entries(guideNames()).flatMap(([name, variants]) =>
      variants.map((variant) => [variant, name] as const),
    ),
  )
  return [...new Set(find(words))].flatMap(wordsOf)
}
