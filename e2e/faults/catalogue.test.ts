import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { FAULTS, FAULTS_IN_CI } from './catalogue.ts'
import { FAULT_NUMBERS, type HeldBy } from './fault-numbers.ts'
import { heldByNothing } from './fault-table.ts'

const root = new URL('../../', import.meta.url)
const tests: readonly HeldBy[] = Object.values(FAULT_NUMBERS).flatMap((each) => each.tests)

test('each fault is held by a scenario or by a test', () => {
  expect(Object.keys(FAULT_NUMBERS)).toHaveLength(38)
  expect(heldByNothing(FAULTS)).toEqual([])
})

test.for(tests)('$file: $title', ({ file, title }) => {
  expect(readFileSync(new URL(file, root), 'utf8')).toContain(title)
})

test('no two scenarios have one name, and what all tests run needs no root', () => {
  expect(new Set(FAULTS.map(({ name }) => name)).size).toBe(FAULTS.length)
  expect(FAULTS_IN_CI.flatMap(({ numbers }) => numbers)).not.toContain('F-09')
})

test('F-08 neither app has a second database to read from', () => {
  const settings = ['auth', 'resource'].flatMap((app) => [
    ...readFileSync(new URL(`apps/${app}/src/settings.ts`, root), 'utf8').matchAll(
      /^ {2}(\w*DATABASE\w*):/gm,
    ),
  ])
  expect(settings.map(([, name]) => name).sort()).toEqual([
    'AUTH_DATABASE_URL',
    'AUTH_MIGRATION_DATABASE_URL',
    'RESOURCE_DATABASE_URL',
    'RESOURCE_MIGRATION_DATABASE_URL',
  ])
})
