import { expect, test } from 'vitest'
import { groupDigits } from './group-digits.ts'

test.for([
  [0, '0'],
  [999, '999'],
  [1_240, '1,240'],
  [1_000_000, '1,000,000'],
] as const)('groupDigits formats %s as %s', ([count, formatted]) => {
  expect(groupDigits(count)).toBe(formatted)
})
