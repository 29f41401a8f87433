import { expect, test } from 'vitest'
import { drawRandomBytes } from './draw-random-bytes.ts'

test.for([0, -1, 1.5, Number.NaN, 4097])('throws for a size of %o', (size) => {
  expect(() => drawRandomBytes(size)).toThrow(RangeError)
})

test('returns as many bytes as requested, and no byte twice', () => {
  // Sizes from 16 to 48, so draws also reach the end of a page of 4 KB. The first 16 bytes (32 digits) of each are compared.
  const draws = Array.from({ length: 1_000 }, (_, index) => drawRandomBytes(16 + (index % 33)))
  expect(draws.map(({ length }) => length)).toEqual(draws.map((_, index) => 16 + (index % 33)))
  expect(new Set(draws.map((bytes) => bytes.toString('hex').slice(0, 32))).size).toBe(1_000)
  // If two draws overlapped, they would share memory, and erasing the first draw would change the second.
  const [firstDraw, secondDraw] = [drawRandomBytes(32), drawRandomBytes(32)]
  const secondBefore = secondDraw.toString('hex')
  firstDraw.fill(0)
  expect(secondDraw.toString('hex')).toBe(secondBefore)
})
