import type { Database, Pool } from '@plainpath/postgres'
import { expect, test } from 'vitest'
import { openTestStores, type TestStores } from '../../test/open-test-stores.ts'
import { createKeyOperations, initKeys, verifyKeys } from './key-operations.ts'
import { toKeySettings } from './key-settings.ts'
import { createKeyStore } from './key-store.ts'

// Parsed values, which are in milliseconds. Without waiting times, each step of a rotation is due at once.
const settings = toKeySettings({
  AUTH_KEYS_MAX_AGE_SECONDS: 0,
  AUTH_KEYS_TRUST_SECONDS: 0,
  AUTH_KEYS_POLL_SECONDS: 0,
  AUTH_KEYS_LEASE_SECONDS: 1_000,
  AUTH_KEYS_OVERLAP_SECONDS: 0,
  AUTH_KEYS_PERIOD_SECONDS: 0,
})
const actor = { user: 'rosa', host: 'desk' }

/**
 * Creates a pool that ends the connection of each transaction before one of its statements. To the database, this is as if the
 * process had been killed there.
 *
 * @param failingStatement the number of that statement in the transaction, counted from 1
 */
function createFailingPool(db: Pool, failingStatement: number): Pool & { readonly hasFailed: boolean } {
  const state = { hasFailed: false }
  const transaction: Pool['transaction'] = (work) =>
    db.transaction((tx) => {
      let statementNumber = 0
      const failingTransaction: Database = {
        async query(text, values) {
          statementNumber += 1
          if (statementNumber === failingStatement) {
            state.hasFailed = true
            await tx.query('select pg_terminate_backend(pg_backend_pid())')
          }
          return tx.query(text, values)
        },
      }
      return work(failingTransaction)
    })
  return Object.defineProperty({ ...db, transaction }, 'hasFailed', { get: () => state.hasFailed }) as never
}

/**
 * Repeats a step until it succeeds. Its connection ends before the first statement, then before the second, and so on. After each
 * failure, the keys must be as before.
 *
 * @returns how often the step failed
 */
async function failAtEachStatement(
  stores: TestStores,
  step: (db: Pool) => Promise<unknown>,
): Promise<number> {
  const keys = createKeyStore(stores.db, stores.sealer)
  for (let failingStatement = 1; ; failingStatement += 1) {
    const before = await keys.read()
    const failingPool = createFailingPool(stores.db, failingStatement)
    const outcome = await step(failingPool).then(
      () => 'done',
      () => 'failed',
    )
    if (!failingPool.hasFailed) return failingStatement - 1
    expect(outcome).toBe('failed')
    expect(await keys.read()).toEqual(before)
    const { findings } = await verifyKeys(createKeyOperations({ keys, settings, actor }))
    expect(findings).toEqual([])
  }
}

test('rotate can be repeated after its connection ended before any one of its statements', {
  timeout: 60_000,
}, async () => {
  await using stores = await openTestStores()
  const openStore = (db: Pool) => createKeyStore(db, stores.sealer)
  await initKeys({ keys: openStore(stores.db) })
  const steps: string[] = []
  // Each call of `rotate` takes one step. Eight steps are two full rotations.
  for (let rotation = 0; rotation < 8; rotation += 1) {
    const failureCount = await failAtEachStatement(stores, async (db) => {
      const rotated = await createKeyOperations({ keys: openStore(db), settings, actor }).rotate()
      if (rotated.ok && 'change' in rotated.value) steps.push(rotated.value.change.step)
    })
    // Fewer statements would mean that the failing pool misses some.
    expect(failureCount).toBeGreaterThanOrEqual(6)
  }
  expect(steps.toSorted()).toEqual(
    ['activate', 'activate', 'generate', 'generate', 'publish', 'publish', 'retire', 'retire'].toSorted(),
  )
})

test('revoke can be repeated after its connection ended before any one of its statements', {
  timeout: 60_000,
}, async () => {
  await using stores = await openTestStores()
  const openStore = (db: Pool) => createKeyStore(db, stores.sealer)
  const kid = (await initKeys({ keys: openStore(stores.db) })) ?? ''
  expect(
    await failAtEachStatement(stores, (db) =>
      createKeyOperations({ keys: openStore(db), settings, actor }).revoke(kid, { reason: 'a test' }),
    ),
  ).toBeGreaterThanOrEqual(6)
  const { keys } = await openStore(stores.db).read()
  expect(keys.map(({ state }) => state)).toEqual(['revoked', 'signing'])
})
