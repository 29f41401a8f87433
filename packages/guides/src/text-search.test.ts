import { expect, test } from 'vitest'
import { createTextSearch } from './text-search.ts'

const NAMES = ['card', 'permit', 'court']
const search = createTextSearch(
  [
    { title: ['renew', 'card'], body: ['card', 'photo', 'fee'] },
    { title: ['permit'], body: ['card', 'card', 'fee', 'renew'] },
    { title: ['court'], body: [] },
  ],
  { title: 2, body: 1 },
)

/** Returns the names of the texts found, best first. */
const rank = (...terms: string[]) =>
  search(terms)
    .toSorted((a, b) => b.score - a.score)
    .map(({ index }) => NAMES[index])

test('a search finds the texts that contain any of the terms', () => {
  expect(rank('photo', 'court', 'absent')).toEqual(['court', 'card'])
  expect(rank('absent')).toEqual([])
  expect(rank()).toEqual([])
})

test('a match in a field with a greater weight counts for more', () => {
  expect(rank('renew')).toEqual(['card', 'permit'])
})

test('a text with more of the terms comes first', () => {
  expect(rank('permit', 'photo', 'fee')).toEqual(['permit', 'card'])
  expect(rank('court', 'permit', 'fee')).toEqual(['permit', 'court', 'card'])
})

test('scores are those of BM25+, times the number of terms found', () => {
  /**
   * Computes the score of a term in one field of one text, with k = 1.2, b = 0.7 and δ = 0.5. Three texts are searched.
   *
   * @param texts the number of texts whose field contains the term
   * @param length the number of distinct terms in the field
   */
  const bm25 = (frequency: number, texts: number, length: number, meanLength: number) =>
    Math.log(1 + (3 - texts + 0.5) / (texts + 0.5)) *
    (0.5 + (frequency * 2.2) / (frequency + 1.2 * (0.3 + (0.7 * length) / meanLength)))
  // An empty field has the length of one term.
  const meanBodyLength = (3 + 3 + 1) / 3
  const fee = bm25(1, 2, 3, meanBodyLength)
  const renew = bm25(1, 1, 3, meanBodyLength)
  const [permit] = search(['fee', 'renew']).filter(({ index }) => NAMES[index] === 'permit')
  expect(permit?.score).toBeCloseTo((fee + renew) * 2, 10)
})
