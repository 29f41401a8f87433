import { splitWords, stemWord } from '@plainpath/guides'

/**
 * Creates a function that finds phrases, in any inflected form, in a list of stems (`stemWord` of `splitWords`). Its time is
 * linear in the number of stems, because phrases are looked up by their first stem.
 *
 * @param phrases each with the value that stands for it. Several phrases may have the same value
 * @returns a function that returns the value of each occurrence, in the order of the stems. It repeats the value of a phrase that
 *   occurs again, and includes phrases that overlap
 */
export function createPhraseFinder<Value>(
  phrases: readonly (readonly [phrase: string, value: Value])[],
): (stems: readonly string[]) => readonly Value[] {
  const phrasesByFirstStem = Map.groupBy(
    phrases.map(([phrase, value]) => ({ stems: splitWords(phrase).map(stemWord), value })),
    // No stem is empty, so an empty phrase is never found.
    ({ stems }) => stems[0] ?? '',
  )
  return (stems) =>
    stems.flatMap((firstStem, index) =>
      (phrasesByFirstStem.get(firstStem) ?? [])
        .filter((phrase) => phrase.stems.every((stem, offset) => stems[index + offset] === stem))
        .map(({ value }) => value),
    )
}
