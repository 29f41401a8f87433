import { expect, test } from 'vitest'
import { countQuestions } from './question-types.ts'

test.for([
  ['I lost my card.', 0],
  ['I lost my card. And how do I replace it??', 1],
  ['When do I renew it? And where?', 2],
  ['Where do I send it, and when will they answer?', 2],
  ['Can my doctor sign the form or do I need another one?', 2],
  ['Do I need the form and the photos?', 1],
  ['I moved and when I came back it was gone. What now?', 1],
] satisfies [string, number][])('countQuestions("%s") returns %i', ([question, count]) => {
  expect(countQuestions(question)).toBe(count)
})
