import { splitWords, stemWord } from '@plainpath/guides'

/**
 * Creates a function that finds phrases, in any inflected form, in a list of stems.
 *
 * @returns a function that returns the meanings of the phrases that occur, in their order. It takes time linear in the number of stems
 */
export function createPhraseFinder<Meaning>(
  phrases: readonly (readonly [phrase: string, meaning: Meaning])[],
): (stems: readonly string[]) => readonly Meaning[] {
  const phrasesByFirstStem = Map.groupBy(
    phrases.map(([phrase, meaning]) => ({ stems: splitWords(phrase).map(stemWord), meaning })),
    ({ stems }) => stems[0] ?? '',
  )
  return (stems) =>
    stems.flatMap((firstStem, index) =>
      (phrasesByFirstStem.get(firstStem) ?? [])
        .filter((phrase) => phrase.stems.every((stem, offset) => stems[index + offset] === stem))
        .map(({ meaning }) => meaning),
    )
}
