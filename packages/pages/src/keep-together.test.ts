import { expect, test } from 'vitest'
import { toMarkup } from './html.ts'
import { keepTogether } from './keep-together.ts'

const findMarkedWords = (text: string) =>
  Array.from(
    toMarkup(keepTogether(text)).matchAll(/<span class="form-name">([^<]*)<\/span>/g),
    ([, words]) => words,
  )

test.for([
  ['File Form I-765 and Form N-400.', ['Form I-765', 'Form N-400']],
  ['Forms I-129F, G-1055 (H-1B)', ['Forms I-129F', 'G-1055', 'H-1B']],
  ['EOIR-33, DS-160, AR-11', ['EOIR-33', 'DS-160', 'AR-11']],
  ['a 10-year card, your A-Number', ['10-year', 'A-Number']],
  ['an e-mail, E-mails, 1-888-351-4024, 2026-03-01', ['e-mail', 'E-mails', '1-888-351-4024', '2026-03-01']],
  ['a U-visa, a two-year card, e-mailed', []],
] as const)('in %j, keepTogether marks %j and changes no text', ([text, markedWords]) => {
  expect(findMarkedWords(text)).toEqual(markedWords)
  expect(toMarkup(keepTogether(text)).replaceAll(/<[^>]*>/g, '')).toBe(text)
})

test('keepTogether escapes markup in the text', () => {
  expect(toMarkup(keepTogether('<b>I-90</b>'))).toBe('&lt;b&gt;<span class="form-name">I-90</span>&lt;/b&gt;')
})
