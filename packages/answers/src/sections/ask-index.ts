/** How near the questions that a section answers are to a question that was asked. */
interface AskMatch {
  /** The information of the words that both have, in nats, over the square root of the ask's: favours long and exact matches. */
  readonly score: number
  /** The share of the ask's information that the question has, from 0 to 1. */
  readonly share: number
  /** Whether the section answers the ask; if not, the ask only names its subject. */
  readonly answered: boolean
}

export interface AskIndex {
  /** The nearest ask of each section that has a word of the question. */
  match(terms: readonly string[]): ReadonlyMap<string, AskMatch>
}

interface IndexedAsk {
  readonly section: string
  readonly answered: boolean
  readonly terms: ReadonlySet<string>
}

/**
 * An index of asks. A match costs as many steps as the question's terms have asks.
 *
 * @param weightOf the information of a term
 */
export function askIndex(asks: readonly IndexedAsk[], weightOf: (term: string) => number): AskIndex {
  const postings = new Map<string, number[]>()
  const sizes = asks.map(({ terms }, at) => {
    let size = 0
    for (const term of terms) {
      size += weightOf(term)
      const known = postings.get(term)
      if (known === undefined) postings.set(term, [at])
      else known.push(at)
    }
    return size
  })
  return {
    match(terms) {
      const shared = new Map<number, number>()
      for (const term of new Set(terms)) {
        for (const at of postings.get(term) ?? []) shared.set(at, (shared.get(at) ?? 0) + weightOf(term))
      }
      const best = new Map<string, AskMatch>()
      for (const [at, weight] of shared) {
        const { section, answered } = asks[at] ?? { section: '', answered: false }
        const size = sizes[at] ?? 1
        const score = weight / Math.sqrt(size)
        const known = best.get(section)
        if (known === undefined || score > known.score)
          best.set(section, { score, share: weight / size, answered })
      }
      return best
    },
  }
}
