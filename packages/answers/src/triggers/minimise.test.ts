import { expect, test } from 'vitest'
import { minimise } from './minimise.ts'

/**
 * A function of two variables with its minimum at (3, -3), in a narrow valley in which the gradient hardly points to the minimum.
 */
function computeValley(point: Float64Array, gradient: Float64Array): number {
  const [x = 0, y = 0] = point
  gradient[0] = 2 * (x - 3) + 200 * (x + y)
  gradient[1] = 200 * (x + y)
  return (x - 3) ** 2 + 100 * (x + y) ** 2
}

test('minimise finds the minimum of a convex function', () => {
  const [x, y] = minimise(computeValley, 2, 60)
  expect(x).toBeCloseTo(3, 2)
  expect(y).toBeCloseTo(-3, 2)
})

test('one step of minimise reaches a lower value than the start', () => {
  const startValue = computeValley(new Float64Array(2), new Float64Array(2))
  expect(computeValley(minimise(computeValley, 2, 1), new Float64Array(2))).toBeLessThan(startValue)
})
