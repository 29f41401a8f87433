import { expect, test } from 'vitest'
import { shuffleInGroups } from './random-order.ts'

const FILES = ['unit', 'embedded', 'server'].flatMap((project) =>
  Array.from({ length: 20 }, (_, index) => ({ project, file: `${index}.test.ts` })),
)
const order = (seed: number) => shuffleInGroups(FILES, seed, ({ project, file }) => [project, file])

test('every file runs once, project after project', () => {
  expect(order(1).map(({ project }) => project)).toEqual(FILES.map(({ project }) => project))
  expect(new Set(order(1)).size).toBe(FILES.length)
})

test('one seed repeats an order, and another seed gives another order', () => {
  expect(order(1)).toEqual(order(1))
  expect(order(1)).not.toEqual(order(2))
  expect(order(1)).not.toEqual(FILES)
})
