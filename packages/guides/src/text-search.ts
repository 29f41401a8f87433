/** A text to search, as the terms of each of its fields. */
export type SearchableText<Field extends string> = Readonly<Record<Field, readonly string[]>>

interface TextHit {
  /** The index of the text. */
  readonly text: number
  /** Higher is better. Comparable only within one search. */
  readonly score: number
}

/** Finds the texts that contain any of the distinct terms, in no particular order. */
type TextSearch = (terms: readonly string[]) => readonly TextHit[]

/** Maps each term to the texts that contain it, by index, and the score that it adds to each. */
type Scores = Map<string, Map<number, number>>

/** The parameters of BM25+: the weight of repetitions, the weight of the field's length, and the least score of an occurrence. */
const BM25 = { k: 1.2, b: 0.7, d: 0.5 }

/**
 * Creates an in-memory search by BM25+. All scores are computed in advance, so a search only adds them up.
 *
 * @param weights the weight of a match in each field
 */
export function createTextSearch<Field extends string>(
  texts: readonly SearchableText<Field>[],
  weights: Readonly<Record<Field, number>>,
): TextSearch {
  const scores: Scores = new Map()
  for (const field of Object.keys(weights) as Field[])
    addField(
      scores,
      texts.map((text) => text[field]),
      weights[field],
    )
  // Arrays are smaller than maps, and faster to read.
  const postings = new Map(
    [...scores].map(([term, scoreByText]) => [
      term,
      { texts: [...scoreByText.keys()], scores: [...scoreByText.values()] },
    ]),
  )
  return (terms) => {
    const sums = new Float64Array(texts.length)
    const termCounts = new Uint16Array(texts.length)
    const found: number[] = []
    for (const term of terms) {
      const posting = postings.get(term)
      if (posting === undefined) continue
      for (const [index, text] of posting.texts.entries()) {
        if (termCounts[text] === 0) found.push(text)
        sums[text] = (sums[text] ?? 0) + (posting.scores[index] ?? 0)
        termCounts[text] = (termCounts[text] ?? 0) + 1
      }
    }
    // A text with more of the terms is better than its sum alone says.
    return found.map((text) => ({ text, score: (sums[text] ?? 0) * (termCounts[text] ?? 0) }))
  }
}

/** Adds the scores of one field, of which each text has a list of terms. */
function addField(scores: Scores, fieldTerms: readonly (readonly string[])[], weight: number): void {
  const lengths: number[] = []
  let meanLength = 0
  /** The number of times that each text contains a term. */
  const frequencies = new Map<string, Map<number, number>>()
  for (const [text, terms] of fieldTerms.entries()) {
    const length = new Set(terms).size || 1
    lengths.push(length)
    meanLength = (meanLength * text + length) / (text + 1)
    for (const term of terms) {
      const frequencyByText = frequencies.get(term) ?? new Map<number, number>()
      frequencies.set(term, frequencyByText)
      frequencyByText.set(text, (frequencyByText.get(text) ?? 0) + 1)
    }
  }
  const { k, b, d } = BM25
  for (const [term, frequencyByText] of frequencies) {
    const count = frequencyByText.size
    const information = Math.log(1 + (fieldTerms.length - count + 0.5) / (count + 0.5))
    const scoreByText = scores.get(term) ?? new Map<number, number>()
    scores.set(term, scoreByText)
    for (const [text, frequency] of frequencyByText) {
      const saturation =
        (frequency * (k + 1)) / (frequency + k * (1 - b + (b * (lengths[text] ?? 1)) / meanLength))
      scoreByText.set(text, (scoreByText.get(text) ?? 0) + weight * (information * (d + saturation)))
    }
  }
}
