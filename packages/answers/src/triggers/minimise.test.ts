import { expect, test } from 'vitest'
import { minimise } from './minimise.ts'

/** A narrow valley that turns the slope away from the least place. */
function valley(at: Float64Array, slope: Float64Array): number {
  const [x = 0, y = 0] = at
  slope[0] = 2 * (x - 3) + 200 * (x + y)
  slope[1] = 200 * (x + y)
  return (x - 3) ** 2 + 100 * (x + y) ** 2
}

test('finds where a convex function is least', () => {
  const [x, y] = minimise(valley, 2, 60)
  expect(x).toBeCloseTo(3, 2)
  expect(y).toBeCloseTo(-3, 2)
})

test('stops after the given steps, no higher than it began', () => {
  const start = valley(new Float64Array(2), new Float64Array(2))
  expect(valley(minimise(valley, 2, 1), new Float64Array(2))).toBeLessThan(start)
})
