import { expect, test } from 'vitest'
import { checkRequirements } from './check-requirements.ts'
import { breachesOf } from './repository.fixture.ts'
import type { Repository } from './repository.ts'
import { collectTests } from './requirements/collect-tests.ts'
import { CASE_GROUPS, REQUIREMENTS_PAGE, requirementsPage } from './requirements/requirements-page.ts'

const ALL = CASE_GROUPS.flatMap(({ cases }) => cases)
const file = 'apps/auth/test/all.test.ts'
/** A repository whose one test file names these cases. */
const naming = (ids: readonly string[]) => ({
  [file]: ids.map((id) => `test('${id} is refused', () => {})`).join('\n'),
})
const repositoryOf = (files: Record<string, string>): Repository => ({
  files: Object.keys(files).sort(),
  read: (name) => files[name] ?? '',
})
const held = ALL.filter(({ overruled }) => overruled === undefined).map(({ id }) => id)

test('a page that lists a test for every case is taken', () => {
  const files = naming(held)
  const page = requirementsPage(repositoryOf(files))
  expect(breachesOf(checkRequirements, { ...files, [REQUIREMENTS_PAGE]: page })).toEqual([])
})

test('a case whose test is gone is named, and the page is no longer right', () => {
  const page = requirementsPage(repositoryOf(naming(held)))
  const files = naming(held.filter((id) => id !== 'N-045'))
  expect(breachesOf(checkRequirements, { ...files, [REQUIREMENTS_PAGE]: page })).toEqual([
    expect.stringMatching(/^N-045 \(.+\): no test has it in its title$/),
    `${REQUIREMENTS_PAGE}: not as the tests are; npm run generate writes it anew`,
  ])
})

test('no case stands twice', () => {
  expect(new Set(ALL.map(({ id }) => id)).size).toBe(ALL.length)
})

test('titles, rows, lists and ranges of cases are found in tests, and nowhere else', () => {
  const text = [
    `test('N-001 a title', () => {`,
    '  test.for([[`N-002 a row`, 1], ["N-003, N-004 two", 2]])',
    `describe('N-005 to N-007 a range'`,
    `// N-008 a comment`,
    `test('it\\'s N-009 with a quote')`,
  ].join('\n')
  const found = collectTests(
    repositoryOf({ [file]: text, 'apps/auth/src/wire.ts': `'N-010'`, 'e2e/a.ts': `'N-011'` }),
  )
  expect([...found.keys()]).toEqual(
    ['001', '002', '003', '004', '005', '006', '007', '009', '011'].map((number) => `N-${number}`),
  )
  expect(found.get('N-009')).toEqual([{ file, title: `it\\'s N-009 with a quote` }])
})

test('what a title holds does not break the table', () => {
  const page = requirementsPage(
    repositoryOf({ [file]: `test('N-001 a | b <c> [d](e) \`f\` *g*', () => {})` }),
  )
  const row = page.split('\n').find((line) => line.startsWith('| N-001 '))
  expect(row?.match(/(?<!\\)\|/g)).toHaveLength(4)
  expect(row).not.toMatch(/<c>|\]\(e\)|`f`|\*g\*/)
})
