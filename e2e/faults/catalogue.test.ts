import { readFileSync } from 'node:fs'
import { SETTINGS as AUTH_SETTINGS } from '@plainpath/auth/config'
import { SETTINGS as RESOURCE_SETTINGS } from '@plainpath/resource/settings'
import { expect, test } from 'vitest'
import { FAULTS, FAULTS_IN_CI } from './catalogue.ts'
import { FAULT_NUMBERS, type FaultTest } from './fault-numbers.ts'
import { findFaultTests } from './fault-tests.ts'
import { listNumbersWithoutScenario } from './run-fault-tests.ts'

const root = new URL('../../', import.meta.url)
const listedTests: readonly FaultTest[] = Object.values(FAULT_NUMBERS).flatMap(({ tests }) => tests)

test('every fault number has a scenario, or tests with the number in their titles', () => {
  const numbers = Array.from({ length: 39 }, (_each, index) => `F-${String(index + 1).padStart(2, '0')}`)
  expect(Object.keys(FAULT_NUMBERS)).toEqual(numbers)
  expect(listNumbersWithoutScenario(FAULTS)).toEqual(['F-08', 'F-30', 'F-31', 'F-32'])
  for (const number of listNumbersWithoutScenario(FAULTS)) {
    const titles = (findFaultTests().get(number) ?? []).map(({ title }) => title)
    expect([number, titles.length]).not.toEqual([number, 0])
    // `npm run faults` selects these tests by number, and finds them in the report by their titles in the source. So a
    // title must contain no placeholder or escape after the number.
    for (const title of titles) expect(title).toMatch(new RegExp(`${number}(?!.*[%$\\\\])`))
  }
})

test.for(listedTests)('$file contains the title: $title', ({ file, title }) => {
  expect(readFileSync(new URL(file, root), 'utf8')).toContain(title)
})

test('all scenarios have different names, and CI does not fill the data disk, which needs root', () => {
  expect(new Set(FAULTS.map(({ name }) => name)).size).toBe(FAULTS.length)
  expect(FAULTS_IN_CI.flatMap(({ numbers }) => numbers)).not.toContain('F-09')
})

test('F-08 neither app has a second database to read from', () => {
  const names = [...Object.keys(AUTH_SETTINGS), ...Object.keys(RESOURCE_SETTINGS)].filter((name) =>
    name.includes('DATABASE'),
  )
  expect(names.sort()).toEqual([
    'AUTH_DATABASE_URL',
    'AUTH_MIGRATION_DATABASE_URL',
    // The same database, reached without the pooler.
    'AUTH_SESSION_DATABASE_URL',
    'RESOURCE_DATABASE_URL',
    'RESOURCE_MIGRATION_DATABASE_URL',
    'RESOURCE_SESSION_DATABASE_URL',
  ])
})
