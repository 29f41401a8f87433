import { expect, test } from 'vitest'
import { isBusy } from './repeat-if-busy.ts'

const NOT_BUSY = { waitedForProcessor: 0.34, waitedForDisk: 0.05, stolen: 0.02 }

test.each([
  { shares: NOT_BUSY, expected: false },
  { shares: { ...NOT_BUSY, waitedForProcessor: 0.8 }, expected: true },
  { shares: { ...NOT_BUSY, waitedForDisk: 0.2 }, expected: true },
  { shares: { ...NOT_BUSY, stolen: 0.3 }, expected: true },
])('isBusy returns $expected for $shares', ({ shares, expected }) => {
  expect(isBusy(shares)).toBe(expected)
})
