import { expect, test } from 'vitest'
import { compileTriggers } from '../triggers/compile-triggers.ts'
import { parseQuestion } from '../triggers/match-triggers.ts'
import { loadTriggers } from '../triggers/trigger-file.ts'

/** Reads the points in time in a question, such as `ago 1`: the distance is in days. */
const readDistances = (question: string, now: string) =>
  parseQuestion(question, compileTriggers(loadTriggers()), new Date(now))
    .quantities.flat()
    .filter(({ kind }) => kind === 'ago' || kind === 'in')
    .map(({ kind, value }) => `${kind} ${value}`)

test.each([
  ['my hearing was on 2026-11-22', 'ago 1'],
  ['my hearing is on 11/25/2026', 'in 2'],
  ['my hearing is on December 1', 'in 8'],
  // A past year counts from its last day.
  ['I came in 2025', 'ago 327'],
])('reads the same distance in "%s" at any time of the day', (question, distance) => {
  for (const time of ['00:00:00', '11:59:59', '12:00:01', '23:59:59'])
    expect(readDistances(question, `2026-11-23T${time}Z`)).toEqual([distance])
})

test.each([
  ['my hearing was on 25 November 2019', 'my hearing was on November 25, 2019'],
  ['my hearing is on 25 November 2027', 'my hearing is on November 25, 2027'],
  ['I came on 3 May 2024', 'I came on May 3, 2024'],
])('reads "%s" as "%s"', (dayFirst, monthFirst) => {
  const now = '2026-11-23T12:00:00Z'
  expect(readDistances(dayFirst, now)).toEqual(readDistances(monthFirst, now))
})
