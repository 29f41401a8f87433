import { readFileSync } from 'node:fs'
import { SETTINGS as AUTH } from '@plainpath/auth/config'
import { SETTINGS as RESOURCE } from '@plainpath/resource/settings'
import { expect, test } from 'vitest'
import { FAULTS, FAULTS_IN_CI } from './catalogue.ts'
import { FAULT_NUMBERS, type FaultTest } from './fault-numbers.ts'
import { faultTests } from './fault-tests.ts'
import { testedNumbers } from './run-fault-tests.ts'

const root = new URL('../../', import.meta.url)
const tests: readonly FaultTest[] = Object.values(FAULT_NUMBERS).flatMap((each) => each.tests)

test('each number has a scenario, or does not concern a running stack and has tests with the number', () => {
  const numbers = Array.from({ length: 39 }, (_each, index) => `F-${String(index + 1).padStart(2, '0')}`)
  expect(Object.keys(FAULT_NUMBERS)).toEqual(numbers)
  expect(testedNumbers(FAULTS)).toEqual(['F-08', 'F-30', 'F-31', 'F-32'])
  for (const number of testedNumbers(FAULTS)) {
    const titles = (faultTests().get(number) ?? []).map(({ title }) => title)
    expect([number, titles.length]).not.toEqual([number, 0])
    // Such a test is selected by its number, and found in the report by its title.
    for (const title of titles) expect(title).toMatch(new RegExp(`${number}(?!.*[%$\\\\])`))
  }
})

test.for(tests)('$file: $title', ({ file, title }) => {
  expect(readFileSync(new URL(file, root), 'utf8')).toContain(title)
})

test('all scenarios have different names, and those in all tests need no root', () => {
  expect(new Set(FAULTS.map(({ name }) => name)).size).toBe(FAULTS.length)
  expect(FAULTS_IN_CI.flatMap(({ numbers }) => numbers)).not.toContain('F-09')
})

test('F-08 neither app has a second database to read from', () => {
  const names = [...Object.keys(AUTH), ...Object.keys(RESOURCE)].filter((name) => name.includes('DATABASE'))
  expect(names.sort()).toEqual([
    'AUTH_DATABASE_URL',
    'AUTH_MIGRATION_DATABASE_URL',
    // The same database beside a pooler.
    'AUTH_SESSION_DATABASE_URL',
    'RESOURCE_DATABASE_URL',
    'RESOURCE_MIGRATION_DATABASE_URL',
    'RESOURCE_SESSION_DATABASE_URL',
  ])
})
