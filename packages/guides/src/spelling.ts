/** Corrects words against a vocabulary. Short words and numbers are left alone: too many others are near them. */
export interface Spelling {
  correct(word: string): string
}

const SHORTEST = 4
const TWO_MISTAKES_FROM = 8

/** @param vocabulary words that are right, each as often as it is used: of equally near ones the more frequent wins */
export function spellingOf(vocabulary: readonly string[]): Spelling {
  const counts = new Map<string, number>()
  for (const word of vocabulary) counts.set(word, (counts.get(word) ?? 0) + 1)
  const byFirstLetter = Map.groupBy(
    [...counts.keys()].filter((word) => word.length >= SHORTEST),
    ([letter]) => letter,
  )
  return {
    correct(word) {
      if (counts.has(word) || word.length < SHORTEST || /\d/.test(word)) return word
      const most = word.length >= TWO_MISTAKES_FROM ? 2 : 1
      let best = { word, distance: most + 1, count: 0 }
      // A word that begins with neither of the first two letters would be too much to look through.
      const candidates = [...new Set(word.slice(0, 2))].flatMap((letter) => byFirstLetter.get(letter) ?? [])
      for (const candidate of candidates) {
        if (Math.abs(candidate.length - word.length) > most) continue
        const distance = editDistance(word, candidate)
        const count = counts.get(candidate) ?? 0
        const nearer = distance < best.distance || (distance === best.distance && count > best.count)
        if (distance <= most && nearer) best = { word: candidate, distance, count }
      }
      return best.word
    },
  }
}

/** Letters added, left out, changed, or swapped with the next (optimal string alignment). */
export function editDistance(a: string, b: string): number {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, index) => index)]
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const changed = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const least = Math.min(changed, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row.push(swapped ? Math.min(least, (before[j - 2] ?? 0) + 1) : least)
    }
    ;[before, last] = [last, row]
  }
  return last[b.length] ?? 0
}
