/** How near the question is to the nearest ask of a section. An ask is a question that the section lists. */
interface AskMatch {
  /** The information of the shared words, in nats, divided by the square root of the ask's information. Favours long and exact matches. */
  readonly score: number
  /** The share of the ask's information that the question has, from 0 to 1. */
  readonly share: number
  /** True if the section answers the ask; otherwise the ask only names its subject. */
  readonly answered: boolean
}

export interface AskIndex {
  /** Finds the nearest ask of each section that shares a word with the question. */
  match(terms: readonly string[]): ReadonlyMap<string, AskMatch>
}

interface IndexedAsk {
  readonly section: string
  readonly answered: boolean
  readonly terms: ReadonlySet<string>
}

/**
 * Creates an index of asks. A match takes as many steps as there are asks with a term of the question.
 *
 * @param getWeight returns the information of a term, in nats
 */
export function askIndex(asks: readonly IndexedAsk[], getWeight: (term: string) => number): AskIndex {
  const postings = new Map<string, number[]>()
  const sizes = asks.map(({ terms }, at) => {
    let size = 0
    for (const term of terms) {
      size += getWeight(term)
      const posting = postings.get(term)
      if (posting === undefined) postings.set(term, [at])
      else posting.push(at)
    }
    return size
  })
  return {
    match(terms) {
      const shared = new Map<number, number>()
      for (const term of new Set(terms)) {
        for (const at of postings.get(term) ?? []) shared.set(at, (shared.get(at) ?? 0) + getWeight(term))
      }
      const best = new Map<string, AskMatch>()
      for (const [at, weight] of shared) {
        const { section, answered } = asks[at] ?? { section: '', answered: false }
        const size = sizes[at] ?? 1
        const score = weight / Math.sqrt(size)
        const bestMatch = best.get(section)
        if (bestMatch === undefined || score > bestMatch.score)
          best.set(section, { score, share: weight / size, answered })
      }
      return best
    },
  }
}
