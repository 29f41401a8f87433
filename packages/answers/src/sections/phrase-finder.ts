import { stemOf, wordsOf } from '@plainpath/guides'

/**
 * Finds phrases in words, whatever form their words have.
 *
 * @param phrases each with what it stands for
 * @returns what the phrases that occur stand for, in the order in which they occur; linear in the number of words
 */
export function phraseFinder<Meaning>(
  phrases: readonly (readonly [phrase: string, meaning: Meaning])[],
): (words: readonly string[]) => readonly Meaning[] {
  const byFirst = Map.groupBy(
    phrases.map(([phrase, meaning]) => ({ stems: wordsOf(phrase).map(stemOf), meaning })),
    ({ stems }) => stems[0] ?? '',
  )
  return (words) => {
    const stems = words.map(stemOf)
    return stems.flatMap((first, at) =>
      (byFirst.get(first) ?? [])
        .filter((phrase) => phrase.stems.every((stem, offset) => stems[at + offset] === stem))
        .map(({ meaning }) => meaning),
    )
  }
}
