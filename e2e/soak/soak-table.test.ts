import { expect, test } from 'vitest'
import type { SoakResult } from './run-soak.ts'
import { hasPassed, isFlat, renderSoakTable } from './soak-table.ts'

/** Resident memory in MB, two samples for each of the six parts of a run. */
const FLAT = [60, 80, 90, 91, 90, 92, 91, 90, 93, 92, 91, 92]
const GROWING = [60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 160, 170]
const PASSED: SoakResult = {
  requests: 1_000,
  refused: 3,
  unprovokedRefusals: 0,
  wrong: [],
  lost: [],
  revocations: 60,
  rotations: 4,
  failedCommands: 0,
  kills: 2,
  memory: { 'auth-1': FLAT, 'auth-2': GROWING },
}

test('memory that settles is flat, and memory that grows is not', () => {
  expect([isFlat(FLAT), isFlat(GROWING)]).toEqual([true, false])
})

test('a run passes only if nothing is wrong, lost or refused without a reason, and no process that is never killed grows', () => {
  expect(hasPassed(PASSED)).toBe(true)
  for (const fault of [
    { wrong: ['guides: 500'] },
    { lost: ['token: 401'] },
    { unprovokedRefusals: 1 },
    { memory: { 'resource-1': GROWING } },
  ])
    expect(hasPassed({ ...PASSED, ...fault })).toBe(false)
})

test('the table has the counts, and marks memory that grows', () => {
  const table = renderSoakTable({ ...PASSED, memory: { 'auth-1': FLAT, 'resource-1': GROWING } })
  expect(table).toContain('| requests | 1000 |')
  expect(table).toMatch(/^\| auth-1 \|.* yes \|$/m)
  expect(table).toMatch(/^\| resource-1 \|.* NO \|$/m)
})
