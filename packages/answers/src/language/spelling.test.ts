import { expect, test } from 'vitest'
import { createOneMistakeCorrector } from './spelling.ts'

test.each([
  ['pettition', 'petition'],
  ['petiton', 'petition'],
  ['pteition', 'petition'],
  ['partiton', 'partition'],
  // “stats” lacks one letter of “states” and of “status”; the first alphabetically wins.
  ['stats', 'states'],
  // Not corrected: “perm” is shorter than five letters, and “zzzzzz” resembles no word.
  ['perm', 'perm'],
  ['zzzzzz', 'zzzzzz'],
])('the correction of %s is %s', (word, corrected) => {
  const correctSpelling = createOneMistakeCorrector(
    ['petition', 'partition', 'status', 'states', 'permit'],
    new Set(),
  )
  expect(correctSpelling(word)).toBe(corrected)
})
