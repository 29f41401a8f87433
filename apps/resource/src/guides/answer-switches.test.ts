import { expect, test } from 'vitest'
import { withdrawFromEarlierVersion, withdrawSections } from './answer-switches.ts'

const BODY = `The introduction. [^1]

## Fees and waivers

The fee is $520. [^1]

### Fees

More about fees. [^1]

## Fees

The fee is $520. [^1]

## Time

Two months. [^1]
`

const withdraw = (...ids: string[]) =>
  withdrawSections({ slug: 'permit', title: 'Permit', body: BODY }, ids).body

test.for([
  ['permit', 'The introduction. [^1]'],
  ['permit#fees-and-waivers', 'The fee is $520. [^1]\n\n### Fees\n\nMore about fees. [^1]'],
  ['permit#time', 'Two months. [^1]'],
] as const)('replaces only the text of the withdrawn section %s', ([id, markdown]) => {
  expect(withdraw(id)).toBe(BODY.replace(markdown, () => WITHDRAWN))
})

test('replaces the text of a section whose heading and text are also in an earlier section', () => {
  const lastIndex = BODY.lastIndexOf(FEE)
  const expected = BODY.slice(0, lastIndex) + WITHDRAWN + BODY.slice(lastIndex + FEE.length)
  expect(withdraw('permit#fees')).toBe(expected)
})

test('replaces several sections, and keeps the guide if none of its sections is withdrawn', () => {
  expect(withdraw('permit#time', 'permit#fees', 'permit').split(WITHDRAWN)).toHaveLength(4)
  expect(withdraw('visa', 'permit#unknown')).toBe(BODY)
})

test.for([
  ['one section if an earlier version has it', ['permit#time'], 1],
  ['every section if an earlier version lacks one', ['permit#time', 'permit#new-heading'], 4],
  ['nothing if the missing section belongs to another guide', ['permit-2#new-heading', 'visa'], 0],
] as const)('withdraws %s', ([, ids, noticeCount]) => {
  const text = withdrawFromEarlierVersion({ slug: 'permit', title: 'Permit', body: BODY }, ids).body
  expect(text.split(WITHDRAWN)).toHaveLength(noticeCount + 1)
  expect(text.includes(FEE)).toBe(noticeCount < 4)
  expect(text.match(/^## .*/gm)).toEqual(BODY.match(/^## .*/gm))
})

const FEE = 'The fee is $520. [^1]'
const WITHDRAWN =
  'We took the text of this section out for now. Look at the official pages that this guide names.'
