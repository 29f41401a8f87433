import { expect, test } from 'vitest'
import { checkEvidence, type Evidence, type Exception, loadEvidence } from '../test/check-evidence.ts'
import { EXAMPLE_GUIDE } from '../test/example-guide.ts'
import { loadGuides } from './load-guides.ts'

const guide = {
  ...EXAMPLE_GUIDE,
  body: 'Send **Form I-90** within ten days. You have one year. One of you signs. [^form]\n\n- H-1B status, 221(g). [^form]',
}
/** Creates evidence without a mistake for the first sentence of `guide`. */
const createEvidence = (overrides: Partial<Evidence> = {}): Evidence => ({
  guide: 'example',
  sentence: 'Send Form I-90 within ten days.',
  source: 'form',
  quote: 'file the I-90 not later than 10 days after',
  copy: 'a copy',
  date: '2026-06-26',
  ...overrides,
})
const check = (overrides: Partial<Evidence>, exceptions: Exception[] = []) =>
  checkEvidence([guide], [createEvidence(overrides)], exceptions)

test.for([
  ['a number in words and in digits', {}],
  ['two sentences in a row', { sentence: 'You have one year. One of you signs.', quote: 'within 1 year' }],
  ['"one" that is not a count', { sentence: 'One of you signs.', quote: 'the applicant shall sign' }],
  ['names of visas and sections', { sentence: 'H-1B status, 221(g).', quote: 'that status' }],
  ['a copy that is newer than the date of the source', { date: '2026-09-01' }],
] as const)('checkEvidence accepts %s', ([, change]) => expect(check(change)).toEqual([]))

test.for([
  ['a guide that does not exist', { guide: 'nothing' }, 'there is no guide nothing'],
  ['a sentence not in the guide', { sentence: 'Send Form I-90 within ten' }, 'the guide does not say this'],
  ['a source that the sentence does not cite', { source: 'other' }, 'it does not cite other'],
  ['a long quote', { quote: `I-90 10 ${'word '.repeat(24)}` }, 'the quote has 26 words, at most 25'],
  ['a copy that is older than the date of the source', { date: '2026-06-25' }, 'as of 2026-06-25'],
  ['a missing form name', { quote: 'within ten days' }, 'no quote has "I-90"'],
  ['a missing number', { quote: 'the I-90 within 100 days' }, 'no quote has "10"'],
  ['a missing "one year"', { sentence: 'You have one year.', quote: 'within a time' }, 'no quote has "1"'],
] as const)('checkEvidence reports %s', ([, change, mistake]) => {
  expect(check(change)).toEqual([expect.stringContaining(mistake)])
})

test('checkEvidence accepts a sentence whose form name and number are in two quotes', () => {
  const quotes = ['the I-90', 'within ten days'].map((quote) => createEvidence({ quote }))
  expect(checkEvidence([guide], quotes, [])).toEqual([])
})

test('checkEvidence accepts a missing number that an exception names, and reports an unneeded exception', () => {
  const { sentence } = createEvidence()
  const exception = { guide: 'example', sentence, missing: '10', reason: 'counted from two rules' }
  expect(check({ quote: 'the I-90' }, [exception])).toEqual([])
  expect(check({}, [exception])).toEqual([expect.stringContaining('no such exception is needed')])
})

test('checkEvidence reports no mistake in the evidence of this package', () => {
  const { evidence, exceptions } = loadEvidence()
  expect(checkEvidence(loadGuides(), evidence, exceptions)).toEqual([])
})
