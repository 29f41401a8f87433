import { expect, test } from 'vitest'
import { readTokens } from './tokens.ts'

const readWords = (question: string) => readTokens(question).map(({ word }) => word)

test.each([
  ['a typographic apostrophe', '\u2019'],
  ['a left quotation mark', '\u2018'],
  ['an acute accent', '\u00B4'],
  ['a grave accent', '\u0060'],
  ['a modifier letter', '\u02BC'],
  ['a prime', '\u2032'],
])('readTokens reads a negation that is written with %s', (_, apostrophe) => {
  expect(readWords(`I wasn${apostrophe}t there`)).toEqual(readWords("I wasn't there"))
})

test.each(['I.C.E. took him', 'i.c.e took him', 'I.C.E took him'])(
  'readTokens reads the abbreviation in "%s" as a word, without the end of a sentence',
  (question) => {
    expect(readWords(question)).toEqual(['ice', 'took', 'him'])
    // Only the beginning counts as the start of a sentence (2). The dots break nothing (0).
    expect(readTokens(question).map(({ breakBefore }) => breakBefore)).toEqual([2, 0, 0])
  },
)
