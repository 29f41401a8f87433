import type { Spelling } from './tokens.ts'

const SHORTEST = 5

/**
 * Creates a function that corrects words with one mistake: a letter added, left out or changed, or two letters swapped.
 * The cost for a word depends only on its length.
 *
 * @param vocabulary words to correct to
 * @param right correct words that are not corrections of others
 */
export function createSpelling(vocabulary: Iterable<string>, right: ReadonlySet<string>): Spelling {
  const correctWords = new Set(vocabulary)
  const byDeletion = new Map<string, string[]>()
  for (const word of correctWords) {
    if (word.length < SHORTEST || /\d/.test(word)) continue
    for (const rest of listDeletions(word)) byDeletion.set(rest, [...(byDeletion.get(rest) ?? []), word])
  }
  return (word) => {
    if (
      word.length < SHORTEST ||
      word.length > 20 ||
      correctWords.has(word) ||
      right.has(word) ||
      /\d/.test(word)
    ) {
      return word
    }
    const near = listDeletions(word)
      .flatMap((rest) => byDeletion.get(rest) ?? [])
      .filter((candidate) => candidate[0] === word[0] && isOneLetterOff(word, candidate))
    return near.toSorted()[0] ?? word
  }
}

function listDeletions(word: string): readonly string[] {
  const all = [word]
  for (let at = 0; at < word.length; at += 1) all.push(word.slice(0, at) + word.slice(at + 1))
  return all
}

/** Tells whether two words differ by one mistake. Two words that share a deletion may differ by two. */
function isOneLetterOff(a: string, b: string): boolean {
  let from = 0
  while (from < a.length && a[from] === b[from]) from += 1
  let [endA, endB] = [a.length, b.length]
  while (endA > from && endB > from && a[endA - 1] === b[endB - 1]) [endA, endB] = [endA - 1, endB - 1]
  const [restA, restB] = [a.slice(from, endA), b.slice(from, endB)]
  if (restA.length <= 1 && restB.length <= 1) return true
  return restA.length === 2 && restB.length === 2 && restA[0] === restB[1] && restA[1] === restB[0]
}
