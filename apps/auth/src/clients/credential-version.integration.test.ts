import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTestStores, type TestStores } from '../../test/open-test-stores.ts'
import { buildVersionCondition } from './credential-version.ts'

let stores: TestStores
beforeAll(async () => {
  stores = await openTestStores()
})
afterAll(() => stores[Symbol.asyncDispose]())

test.for([
  ['the version is unchanged', { generation: 2, boundSince: null, version: 2 }, true],
  ['an operator requests the change', { generation: 2, boundSince: null, version: null }, true],
  ['a credential was removed', { generation: 3, boundSince: null, version: 2 }, false],
  ['only the lock was set', { generation: 3, boundSince: 3, version: 2 }, true],
  ['the lock had been set before', { generation: 3, boundSince: 3, version: 3 }, true],
  [
    'the lock had been set before a credential was removed',
    { generation: 3, boundSince: 2, version: 2 },
    false,
  ],
  ['the lock was set, then a credential was removed', { generation: 4, boundSince: 3, version: 2 }, false],
  ['a credential was removed, then the lock was set', { generation: 4, boundSince: 4, version: 2 }, false],
  ['the version is from the future', { generation: 2, boundSince: null, version: 3 }, false],
] as const)(
  'if %s: %o, the condition is %s',
  async ([_title, { generation, boundSince, version }, expected]) => {
    const { rows } = await stores.db.query<{ holds: boolean }>(
      `select coalesce(${buildVersionCondition('$1')}, false) as holds
     from (select $2::int as generation, $3::int as contact_bound_since) as agents`,
      [version, generation, boundSince],
    )
    expect(rows[0]?.holds).toBe(expected)
  },
)
