import { expect, test } from 'vitest'
import { FAULTS } from './catalogue.ts'
import { FAULT_NUMBERS } from './fault-numbers.ts'
import { faultDocument } from './fault-table.ts'
import type { FaultResult } from './run-fault.ts'
import { findOutcome, type Ran, testedNumbers } from './run-fault-tests.ts'

const title = 'a migration is killed'

test.for<[string, Ran, object]>([
  [
    'passed on every database',
    [
      { title, status: 'passed' },
      { title, status: 'passed' },
    ],
    { outcome: 'passed' },
  ],
  [
    'failed on one of them',
    [
      { title, status: 'passed' },
      { title, status: 'failed', failureMessages: ['AssertionError: 2\n  at here'] },
    ],
    { outcome: 'failed', why: 'AssertionError: 2' },
  ],
  ['was skipped', [{ title, status: 'skipped' }], { outcome: 'failed', why: 'skipped' }],
  ['is not in the report', [{ title: 'another', status: 'passed' }], { outcome: 'not run' }],
])('a test that %s', ([, ran, outcome]) => {
  expect(findOutcome(ran, title)).toEqual(outcome)
})

test('the document of a complete run has a line for every number, from a scenario or a test', () => {
  const nothing = { requests: 0, good: 0, refused: 0, excused: 0, outcomes: new Map<string, number>() }
  const times = { firstGoodSeconds: undefined, slowestSeconds: 0, shedSeconds: undefined }
  const results: FaultResult[] = FAULTS.map(({ name, numbers }) => {
    return { fault: name, numbers, wrong: [], lost: [], ...nothing, ...times }
  })
  const tests = testedNumbers(FAULTS).map((number) => {
    return { number, file: 'a.test.ts', title: `${number} of something`, outcome: 'passed' as const }
  })
  const traffic = { rate: 100, steady: 0.5, held: 4, recovery: 0.5 }
  const [ran = ''] = faultDocument({ results, tests }, { commit: 'abc', traffic }).split(
    '## Held by tests too',
  )
  const lines = ran.split('\n').filter((line) => line.startsWith('| '))
  for (const number of Object.keys(FAULT_NUMBERS))
    expect(lines.filter((line) => line.includes(number)).length, number).toBeGreaterThan(0)
  expect(lines.filter((line) => line.includes('F-30'))).toEqual([expect.stringMatching(/\| passed *\|$/)])
})
