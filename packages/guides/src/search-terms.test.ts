import { describe, expect, test } from 'vitest'
import {
  computeEditDistance,
  createSpellingCorrector,
  splitWords,
  stemWord,
  toSearchTerms,
} from './search-terms.ts'

describe('splitWords', () => {
  test.for([
    ['Form I-90 and the N-400', ['form', 'i90', 'and', 'the', 'n400']],
    ["I don't know", ['i', 'dont', 'know']],
    ['I don\u2019t, can\u2018t, won\u00B4t', ['i', 'dont', 'cant', 'wont']],
    // Only abbreviations of three or more letters are joined.
    ['an R.F.E. in the U.S.', ['an', 'rfe', 'in', 'the', 'u', 's']],
    ['Fiancé(e)', ['fiance', 'e']],
    // Only three digits after a space make a form number, because `i 90` also occurs in sentences.
    ['i 765', ['i765']],
    ['am i 90 days late', ['am', 'i', '90', 'days', 'late']],
  ] as const)('splits %j into %j', ([text, words]) => expect(splitWords(text)).toEqual(words))
})

test.for([
  ['renew', 'renewal', 'renewing', 'renewed'],
  ['petition', 'petitions', 'petitioner'],
  ['employ', 'employer', 'employment'],
  ['lawyer', 'lawyers'],
  ['translate', 'translation', 'translations'],
  ['citizen', 'citizens', 'citizenship'],
  ['company', 'companies'],
])('stemWord gives %j and other forms of the word one stem', ([first, ...others]) => {
  for (const other of others) expect(stemWord(other)).toBe(stemWord(first ?? ''))
})

test('toSearchTerms gives three synonyms a common term, and drops stop words', () => {
  const [card, resident, form] = ['green card', 'permanent resident card', 'I-551'].map((name) =>
    toSearchTerms(splitWords(name)),
  )
  // Terms that begin with `=` are the markers of synonym groups.
  expect(card?.some((term) => term.startsWith('=') && resident?.includes(term) && form?.includes(term))).toBe(
    true,
  )
  expect(toSearchTerms(splitWords('what is it about'))).toEqual([])
})

describe('spelling', () => {
  const { correct } = createSpellingCorrector([
    'greet',
    'green',
    'green',
    'immigration',
    'card',
    'biometrics',
  ])
  test.for([
    ['grean', 'green'],
    ['gren', 'green'],
    ['rgeen', 'green'],
    ['imigration', 'immigration'],
    ['biometircs', 'biometrics'],
    // As near to `greet`, which is less frequent.
    ['gree', 'green'],
    // Not corrected: a known word, a word of three letters, a word with digits, and a word like no other.
    ['greet', 'greet'],
    ['cad', 'cad'],
    ['i131', 'i131'],
    ['zebra', 'zebra'],
  ] as const)('corrects %s to %s', ([word, correctedWord]) => expect(correct(word)).toBe(correctedWord))

  test.for([
    ['', '', 0],
    ['', 'abc', 3],
    ['abc', 'abd', 1],
    ['abc', 'acb', 1],
    ['kitten', 'sitting', 3],
  ] as const)('measures the distance of %j and %j as %i', ([a, b, distance]) => {
    expect(computeEditDistance(a, b)).toBe(distance)
    expect(computeEditDistance(b, a)).toBe(distance)
  })
})
