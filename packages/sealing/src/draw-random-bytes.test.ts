import { expect, test } from 'vitest'
import { drawRandomBytes } from './draw-random-bytes.ts'

test.for([0, -1, 1.5, Number.NaN, 4097])('throws for a size of %o', (size) => {
  expect(() => drawRandomBytes(size)).toThrow(RangeError)
})

test('returns as many bytes as requested, and none of them twice', () => {
  const draws = Array.from({ length: 1_000 }, (_, index) => drawRandomBytes(16 + (index % 33)))
  expect(draws.map(({ length }) => length)).toEqual(draws.map((_, index) => 16 + (index % 33)))
  expect(new Set(draws.map((bytes) => bytes.toString('hex').slice(0, 32))).size).toBe(1_000)
  // Overlapping draws would share memory, so that the second one would be changed by erasing the first.
  const [first, second] = [drawRandomBytes(32), drawRandomBytes(32)]
  const secondBefore = second.toString('hex')
  first.fill(0)
  expect(second.toString('hex')).toBe(secondBefore)
})
