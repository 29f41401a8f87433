import { expect, test } from 'vitest'
import { explainToPerson } from './explain-to-person.ts'
import { createProblemDocument, Problem } from './problem.ts'

const explain = (problem: Problem) =>
  explainToPerson(createProblemDocument(problem, { origin: 'https://x.example', path: '/', requestId: '1' }))

test('a remedy for people replaces one that names a header', () => {
  const { meaning, remedy } = explain(new Problem('unavailable'))
  expect(meaning).toMatch(/^A store or another part .* may not have taken effect\.$/)
  expect(remedy).toMatch(/^Reload this page in a minute\. If you sent a form,/)
})

test('the remedy of another problem is shown with its meaning, and left out if the problem has a text of its own', () => {
  expect(explain(new Problem('internal-error')).remedy).toMatch(/^Try again later\./)
  expect(explain(new Problem('internal-error', { detail: 'Close the page.' }))).toEqual({
    meaning: 'Close the page.',
    remedy: undefined,
  })
})

test('a remedy for people is shown also with a text of its own', () => {
  const { meaning, remedy } = explain(new Problem('rate-limited', { detail: 'Try again in 3 seconds.' }))
  expect(meaning).toBe('Try again in 3 seconds.')
  expect(remedy).toMatch(/^Reload this page after this time\./)
})
