import type { QuestionType } from '@plainpath/guides'

/** The similarity of a question to a section's nearest ask. An ask is a question that the section lists. */
interface AskMatch {
  /** The shared information in nats, divided by the square root of the ask's information. Favours long and exact matches. */
  readonly score: number
  /** The share of the ask's information that is in the question, from 0 to 1. */
  readonly share: number
  /** The share of the question's information that is in the ask, from 0 to 1. */
  readonly questionShare: number
  /** True if the section answers the ask; false if the ask is only near the section's subject. */
  readonly isAnswered: boolean
  /** The types of information that the ask asks for. */
  readonly types: ReadonlySet<QuestionType>
}

export interface AskIndex {
  /** Returns the match of the nearest ask, by section id, of each section with an ask that shares a term with the question. */
  match(terms: readonly string[]): ReadonlyMap<string, AskMatch>
}

interface IndexedAsk {
  readonly section: string
  readonly isAnswered: boolean
  readonly types: ReadonlySet<QuestionType>
  readonly terms: ReadonlySet<string>
}

/**
 * Creates an index of asks. The time of a match grows with the number of asks that share a term with the question.
 *
 * @param getWeight returns the information of a term, in nats
 */
export function createAskIndex(asks: readonly IndexedAsk[], getWeight: (term: string) => number): AskIndex {
  /** The information of each term, and the indices of the asks that contain it. */
  const postings = new Map<string, { readonly weight: number; readonly asks: number[] }>()
  const askWeights = asks.map(({ terms }, index) => {
    let askWeight = 0
    for (const term of terms) {
      const posting = postings.get(term) ?? { weight: getWeight(term), asks: [] }
      postings.set(term, posting)
      posting.asks.push(index)
      askWeight += posting.weight
    }
    return askWeight
  })
  return {
    match(terms) {
      const sharedWeights = new Float64Array(asks.length)
      const matchingIndexes: number[] = []
      let questionWeight = 0
      for (const term of new Set(terms)) {
        const posting = postings.get(term)
        questionWeight += posting?.weight ?? getWeight(term)
        if (posting === undefined) continue
        for (const index of posting.asks) {
          const sharedWeight = sharedWeights[index] ?? 0
          if (sharedWeight === 0) matchingIndexes.push(index)
          sharedWeights[index] = sharedWeight + posting.weight
        }
      }
      const bestMatches = new Map<string, AskMatch>()
      for (const index of matchingIndexes) {
        const ask = asks[index]
        if (ask === undefined) throw new Error(`no ask ${index}`)
        const { section, isAnswered, types } = ask
        const sharedWeight = sharedWeights[index] ?? 0
        const askWeight = askWeights[index] ?? 1
        const score = sharedWeight / Math.sqrt(askWeight)
        const bestMatch = bestMatches.get(section)
        if (bestMatch === undefined || score > bestMatch.score)
          bestMatches.set(section, {
            score,
            share: sharedWeight / askWeight,
            questionShare: sharedWeight / questionWeight,
            isAnswered,
            types,
          })
      }
      return bestMatches
    },
  }
}
