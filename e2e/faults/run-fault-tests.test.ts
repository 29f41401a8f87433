import { expect, test } from 'vitest'
import { FAULTS } from './catalogue.ts'
import { FAULT_NUMBERS } from './fault-numbers.ts'
import { renderResults } from './fault-table.ts'
import type { FaultResult } from './run-fault.ts'
import { findOutcome, listNumbersWithoutScenario, type TestRuns } from './run-fault-tests.ts'

const title = 'a migration is killed'

test.for<[string, TestRuns, object]>([
  [
    'passed in every run',
    [
      { title, status: 'passed' },
      { title, status: 'passed' },
    ],
    { outcome: 'passed' },
  ],
  [
    'failed in one run',
    [
      { title, status: 'passed' },
      { title, status: 'failed', failureMessages: ['AssertionError: 2\n  at here'] },
    ],
    { outcome: 'failed', reason: 'AssertionError: 2' },
  ],
  ['was skipped', [{ title, status: 'skipped' }], { outcome: 'failed', reason: 'skipped' }],
  ['is not in the report', [{ title: 'another', status: 'passed' }], { outcome: 'not run' }],
])('findOutcome returns the outcome of a test that %s', ([, runs, outcome]) => {
  expect(findOutcome(runs, title)).toEqual(outcome)
})

test('the results of a complete run have a row for every fault number, with its scenario or its test', () => {
  const counts = { requests: 0, good: 0, refused: 0, excused: 0, outcomes: new Map<string, number>() }
  const times = { firstGoodSeconds: undefined, slowestSeconds: 0, shedSeconds: undefined }
  const results: FaultResult[] = FAULTS.map(({ name, numbers }) => {
    return { fault: name, numbers, wrong: [], lost: [], ...counts, ...times }
  })
  const tests = listNumbersWithoutScenario(FAULTS).map((number) => {
    return { number, file: 'a.test.ts', title: `${number} of something`, outcome: 'passed' as const }
  })
  const traffic = { rate: 100, steady: 0.5, held: 4, recovery: 0.5 }
  const [performed = ''] = renderResults({ results, tests }, { commit: 'abc', traffic }).split(
    '## Other tests of the faults',
  )
  const rows = performed.split('\n').filter((line) => line.startsWith('| '))
  for (const number of Object.keys(FAULT_NUMBERS))
    expect(rows.filter((row) => row.includes(number)).length, number).toBeGreaterThan(0)
  // F-30 has no scenario, so its row shows the outcome of its test.
  expect(rows.filter((row) => row.includes('F-30'))).toEqual([expect.stringMatching(/\| passed *\|$/)])
})
