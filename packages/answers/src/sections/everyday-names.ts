import { readFileSync } from 'node:fs'
import { stemOf, wordsOf } from '@plainpath/guides'
import { parse } from 'yaml'
import { z } from 'zod'

const File = z.record(z.string(), z.array(z.coerce.string().min(1)).min(1))

interface Phrase {
  readonly stems: readonly string[]
  readonly adds: readonly string[]
}

/** Phrases of `data/everyday-names.yaml` by the stem that they begin with. */
function readPhrases(): ReadonlyMap<string, readonly Phrase[]> {
  const file = File.parse(
    parse(readFileSync(new URL('../../data/everyday-names.yaml', import.meta.url), 'utf8')),
  )
  const phrases = Object.entries(file).flatMap(([name, variants]) =>
    variants.map((variant) => ({ stems: wordsOf(variant).map(stemOf), adds: wordsOf(name) })),
  )
  return Map.groupBy(phrases, ({ stems }) => stems[0] ?? '')
}

let phrases: ReadonlyMap<string, readonly Phrase[]> | undefined

/** The words that guides use for what the words of a question name in another way. */
export function guideWordsFor(words: readonly string[]): readonly string[] {
  phrases ??= readPhrases()
  const stems = words.map(stemOf)
  const found = stems.flatMap((first, at) =>
    (phrases?.get(first) ?? []).filter((phrase) =>
      phrase.stems.every((stem, offset) => stems[at + offset] === stem),
    ),
  )
  return [...new Set(found.flatMap(({ adds }) => adds))]
}
