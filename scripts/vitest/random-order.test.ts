import { expect, test } from 'vitest'
import { shuffleInGroups } from './random-order.ts'

const FILES = ['unit', 'embedded', 'server'].flatMap((project) =>
  Array.from({ length: 20 }, (_, index) => ({ project, file: `${index}.test.ts` })),
)
const shuffle = (seed: number) => shuffleInGroups(FILES, seed, ({ project, file }) => [project, file])

test('the order contains every file once, and the files of a project stay together', () => {
  expect(shuffle(1).map(({ project }) => project)).toEqual(FILES.map(({ project }) => project))
  expect(new Set(shuffle(1)).size).toBe(FILES.length)
})

test('the same seed gives the same order, and another seed gives another order', () => {
  expect(shuffle(1)).toEqual(shuffle(1))
  expect(shuffle(1)).not.toEqual(shuffle(2))
  expect(shuffle(1)).not.toEqual(FILES)
})
