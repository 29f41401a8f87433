import { readFileSync } from 'node:fs'
import { stemOf, wordsOf } from '@plainpath/guides'
import { parse } from 'yaml'
import { z } from 'zod'

const File = z.record(z.string(), z.array(z.coerce.string().min(1)).min(1))

interface Phrase {
  readonly stems: readonly string[]
  readonly adds: readonly string[]
}

let names: z.infer<typeof File> | undefined

/** What people say, by what guides say: `data/everyday-names.yaml`; read once. */
export function guideNames(): Readonly<z.infer<typeof File>> {
  names ??= File.parse(
    parse(readFileSync(new URL('../../data/everyday-names.yaml', import.meta.url), 'utf8')),
  )
  return names
}

/** By the stem that a phrase begins with. */
function phrasesByStem(): ReadonlyMap<string, readonly Phrase[]> {
  const phrases = Object.entries(guideNames()).flatMap(([name, variants]) =>
    variants.map((variant) => ({ stems: wordsOf(variant).map(stemOf), adds: wordsOf(name) })),
  )
  return Map.groupBy(phrases, ({ stems }) => stems[0] ?? '')
}

let phrases: ReadonlyMap<string, readonly Phrase[]> | undefined

/** The words that guides use for what the words of a question name in another way. */
export function guideWordsFor(words: readonly string[]): readonly string[] {
  phrases ??= phrasesByStem()
  const stems = words.map(stemOf)
  const found = stems.flatMap((first, at) =>
    (phrases?.get(first) ?? []).filter((phrase) =>
      phrase.stems.every((stem, offset) => stems[at + offset] === stem),
    ),
  )
  return [...new Set(found.flatMap(({ adds }) => adds))]
}
