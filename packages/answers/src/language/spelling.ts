import type { CorrectSpelling } from './tokens.ts'

const MIN_LENGTH = 5

/**
 * Creates a function that corrects words of 5 to 20 letters with one mistake: a letter added, omitted or changed, or two
 * neighbouring letters swapped. The first letter must be right. Of several corrections, it returns the first alphabetically.
 *
 * @param vocabulary the possible corrections
 * @param otherWords further correct words. They stay unchanged, and no word is corrected to them.
 */
export function createOneMistakeCorrector(
  vocabulary: Iterable<string>,
  otherWords: ReadonlySet<string>,
): CorrectSpelling {
  const corrections = new Set(vocabulary)
  /**
   * Maps each string that `listDeletions` returns for a correction to that correction. If several corrections share the string, the
   * value joins them with spaces, because arrays would take 5 MB more.
   */
  const byDeletion = new Map<string, string>()
  for (const word of corrections) {
    if (word.length < MIN_LENGTH || /\d/.test(word)) continue
    for (const deletion of listDeletions(word)) {
      const otherCorrections = byDeletion.get(deletion)
      byDeletion.set(deletion, otherCorrections === undefined ? word : `${otherCorrections} ${word}`)
    }
  }
  return (word) => {
    if (
      word.length < MIN_LENGTH ||
      word.length > 20 ||
      corrections.has(word) ||
      otherWords.has(word) ||
      /\d/.test(word)
    ) {
      return word
    }
    const candidates = listDeletions(word)
      .flatMap((deletion) => byDeletion.get(deletion)?.split(' ') ?? [])
      .filter((candidate) => candidate[0] === word[0] && differByOneMistake(word, candidate))
    return candidates.toSorted()[0] ?? word
  }
}

/** Returns the word, and the word without each of its letters. */
function listDeletions(word: string): readonly string[] {
  const deletions = [word]
  for (let index = 0; index < word.length; index += 1)
    deletions.push(word.slice(0, index) + word.slice(index + 1))
  return deletions
}

/** Returns whether two words differ by one mistake. Words that share a deletion can also differ by two. */
function differByOneMistake(a: string, b: string): boolean {
  let prefixEnd = 0
  while (prefixEnd < a.length && a[prefixEnd] === b[prefixEnd]) prefixEnd += 1
  let [endA, endB] = [a.length, b.length]
  while (endA > prefixEnd && endB > prefixEnd && a[endA - 1] === b[endB - 1])
    [endA, endB] = [endA - 1, endB - 1]
  const [restA, restB] = [a.slice(prefixEnd, endA), b.slice(prefixEnd, endB)]
  if (restA.length <= 1 && restB.length <= 1) return true
  return restA.length === 2 && restB.length === 2 && restA[0] === restB[1] && restA[1] === restB[0]
}
