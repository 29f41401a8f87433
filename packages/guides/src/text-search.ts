/** A text to search, as the terms of each of its fields. */
export type SearchableText<Field extends string> = Readonly<Record<Field, readonly string[]>>

interface TextHit {
  /** The index of the text. */
  readonly index: number
  /** Higher is better. Comparable only within one search. */
  readonly score: number
}

/**
 * Finds the texts that contain any of the terms, in no particular order.
 *
 * @param terms without repetitions: a repeated term would count twice
 */
type TextSearch = (terms: readonly string[]) => readonly TextHit[]

/** Maps each term to the texts that contain it, by index, and the score that it adds to each. */
type Scores = Map<string, Map<number, number>>

/**
 * The parameters of BM25+. `k`: a higher value lets repetitions add more. `b`: how much the length of a field counts, from 0 to 1.
 * `d`: what a term adds at least, however long the field is (δ in Lv and Zhai 2011). The values are the defaults of minisearch.
 */
const BM25 = { k: 1.2, b: 0.7, d: 0.5 }

/**
 * Creates an in-memory search by BM25+. All scores are computed in advance, so a search only adds them up.
 *
 * Three things differ from the published formula, as they do in minisearch (decision 43): the length of a field is its number of
 * distinct terms, an empty field has the length 1, and the sum for a text is multiplied by the number of terms that it contains.
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
      { textIndexes: [...scoreByText.keys()], scores: [...scoreByText.values()] },
    ]),
  )
  return (terms) => {
    const sums = new Float64Array(texts.length)
    const termCounts = new Uint16Array(texts.length)
    const matchingIndexes: number[] = []
    for (const term of terms) {
      const posting = postings.get(term)
      if (posting === undefined) continue
      for (const [position, textIndex] of posting.textIndexes.entries()) {
        if (termCounts[textIndex] === 0) matchingIndexes.push(textIndex)
        sums[textIndex] = (sums[textIndex] ?? 0) + (posting.scores[position] ?? 0)
        termCounts[textIndex] = (termCounts[textIndex] ?? 0) + 1
      }
    }
    // The factor ranks a text with more of the terms higher.
    return matchingIndexes.map((index) => ({ index, score: (sums[index] ?? 0) * (termCounts[index] ?? 0) }))
  }
}

/** Adds the scores of one field. `fieldTerms` contains the terms of the field for each text. */
function addField(scores: Scores, fieldTerms: readonly (readonly string[])[], weight: number): void {
  const lengths: number[] = []
  let meanLength = 0
  /** The number of times that each text contains a term. */
  const frequencies = new Map<string, Map<number, number>>()
  for (const [textIndex, terms] of fieldTerms.entries()) {
    const length = new Set(terms).size || 1
    lengths.push(length)
    // A running mean, because the quotient of sum and count rounds differently: scores equal those of minisearch (decision 43).
    meanLength = (meanLength * textIndex + length) / (textIndex + 1)
    for (const term of terms) {
      const frequencyByText = frequencies.get(term) ?? new Map<number, number>()
      frequencies.set(term, frequencyByText)
      frequencyByText.set(textIndex, (frequencyByText.get(textIndex) ?? 0) + 1)
    }
  }
  const { k, b, d } = BM25
  for (const [term, frequencyByText] of frequencies) {
    const count = frequencyByText.size
    const information = Math.log(1 + (fieldTerms.length - count + 0.5) / (count + 0.5))
    const scoreByText = scores.get(term) ?? new Map<number, number>()
    scores.set(term, scoreByText)
    for (const [textIndex, frequency] of frequencyByText) {
      const saturation =
        (frequency * (k + 1)) / (frequency + k * (1 - b + (b * (lengths[textIndex] ?? 1)) / meanLength))
      scoreByText.set(
        textIndex,
        (scoreByText.get(textIndex) ?? 0) + weight * (information * (d + saturation)),
      )
    }
  }
}
