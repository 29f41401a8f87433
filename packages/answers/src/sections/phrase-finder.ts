import { splitWords, stemWord } from '@plainpath/guides'

/**
 * Creates a function that finds phrases in a list of words, in any inflected form. It is linear in the number of words.
 *
 * @param phrases phrases with their meanings
 * @returns a function that returns the meanings of the phrases that occur, in the order of their occurrence
 */
export function phraseFinder<Meaning>(
  phrases: readonly (readonly [phrase: string, meaning: Meaning])[],
): (words: readonly string[]) => readonly Meaning[] {
  const byFirst = Map.groupBy(
    phrases.map(([phrase, meaning]) => ({ stems: splitWords(phrase).map(stemWord), meaning })),
    ({ stems }) => stems[0] ?? '',
  )
  return (words) => {
    const stems = words.map(stemWord)
    return stems.flatMap((first, at) =>
      (byFirst.get(first) ?? [])
        .filter((phrase) => phrase.stems.every((stem, offset) => stems[at + offset] === stem))
        .map(({ meaning }) => meaning),
    )
  }
}
