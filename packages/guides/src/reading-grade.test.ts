import { expect, test } from 'vitest'
import { loadGuides } from './load-guides.ts'
import { computeReadingGrade, countSyllables, splitSentences } from './reading-grade.ts'

test.for([
  ['I', 1],
  ['the', 1],
  ['rules', 1],
  ['asked', 1],
  ['like', 1],
  ['years', 1],
  ['changes', 2],
  ['table', 2],
  ['titles', 2],
  ['arrested', 3],
  ['official', 3],
  ['serious', 3],
  ['attorney', 3],
  ['citizen', 3],
  ['permanent', 3],
  ['client', 2],
  ['immigration', 4],
  ['experience', 4],
  ['January', 4],
  ['being', 2],
  ['naturalization', 6],
  // A number has one syllable for each digit.
  ['90', 2],
  ['765', 3],
  // An acronym has one for each letter, and three for W.
  ['USCIS', 5],
  ['TPS', 3],
  ['EOIR', 4],
  ['WS', 4],
  ["don't", 1],
  ['público', 3],
] satisfies [string, number][])('countSyllables counts the syllables of %s as %i', ([word, count]) => {
  expect(countSyllables(word)).toBe(count)
})

test('computeReadingGrade computes the Flesch-Kincaid grade', () => {
  // One sentence of 6 words with 6 syllables.
  expect(computeReadingGrade('The cat sat on the mat.')).toBeCloseTo(0.39 * 6 + 11.8 * 1 - 15.59)
  // One sentence of 3 words with 13 syllables.
  expect(computeReadingGrade('Naturalization immigration attorney.')).toBeCloseTo(
    0.39 * 3 + 11.8 * (13 / 3) - 15.59,
  )
})

test('computeReadingGrade ignores headings, source markers, emphasis and link addresses', () => {
  const grade = computeReadingGrade('The cat sat on the mat.')
  expect(
    computeReadingGrade(
      '## Naturalization\n\n**The cat** sat [on the mat](https://www.uscis.gov/i-90). [^uscis-i90]',
    ),
  ).toBe(grade)
})

test('a sentence ends at the end of a list item, and after a closing quotation mark', () => {
  expect(computeReadingGrade('- The cat sat\n- The dog ran')).toBeCloseTo(0.39 * 3 + 11.8 - 15.59)
  expect(splitSentences('Is it so? "Yes." It is')).toEqual(['Is it so?', '"Yes."', 'It is'])
})

test('computeReadingGrade returns 0 for a body without sentences', () => {
  expect(computeReadingGrade('## Only a heading')).toBe(0)
})

test.for(loadGuides().map(({ slug, body }) => [slug, body] as const))(
  'the guide %s has a reading grade of at most 8',
  ([, body]) => {
    expect(computeReadingGrade(body)).toBeLessThanOrEqual(8)
  },
)
