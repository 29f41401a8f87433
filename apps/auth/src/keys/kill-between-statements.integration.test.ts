import type { Database, Pool } from '@plainpath/postgres'
import { expect, test } from 'vitest'
import { type Authority, openAuthority } from '../../test/open-authority.ts'
import { createKeyOperations, initKeys, verifyKeys } from './key-operations.ts'
import { toKeySettings } from './key-settings.ts'
import { createKeyStore } from './key-store.ts'

const settings = toKeySettings({
  AUTH_KEYS_MAX_AGE_SECONDS: 0,
  AUTH_KEYS_TRUST_SECONDS: 0,
  AUTH_KEYS_POLL_SECONDS: 0,
  AUTH_KEYS_LEASE_SECONDS: 1_000,
  AUTH_KEYS_OVERLAP_SECONDS: 0,
  AUTH_KEYS_PERIOD_SECONDS: 0,
})
const by = { user: 'rosa', host: 'desk' }

/** The database ends the connection before statement `nth` of a transaction, as it does when a process is killed. */
function killedAt(db: Pool, nth: number): Pool & { readonly killed: boolean } {
  const state = { killed: false }
  const transaction: Pool['transaction'] = (work) =>
    db.transaction((tx) => {
      let statement = 0
      const dying: Database = {
        async query(text, values) {
          statement += 1
          if (statement === nth) {
            state.killed = true
            await tx.query('select pg_terminate_backend(pg_backend_pid())')
          }
          return tx.query(text, values)
        },
      }
      return work(dying)
    })
  return Object.defineProperty({ ...db, transaction }, 'killed', { get: () => state.killed }) as never
}

async function killEverywhere(authority: Authority, step: (db: Pool) => Promise<unknown>): Promise<number> {
  const unbroken = createKeyStore(authority.db, authority.sealingKeys)
  for (let nth = 1; ; nth += 1) {
    const before = await unbroken.read()
    const dying = killedAt(authority.db, nth)
    const outcome = await step(dying).then(
      () => 'done',
      () => 'failed',
    )
    if (!dying.killed) return nth - 1
    expect(outcome).toBe('failed')
    expect(await unbroken.read()).toEqual(before)
    const { findings } = await verifyKeys(createKeyOperations({ keys: unbroken, settings, by }))
    expect(findings).toEqual([])
  }
}

test('rotate resumes after being killed at any statement', {
  timeout: 60_000,
}, async () => {
  await using authority = await openAuthority()
  const store = (db: Pool) => createKeyStore(db, authority.sealingKeys)
  await initKeys({ keys: store(authority.db) })
  const steps: string[] = []
  for (let n = 0; n < 8; n += 1) {
    const kills = await killEverywhere(authority, async (db) => {
      const done = await createKeyOperations({ keys: store(db), settings, by }).rotate()
      if (done.ok && 'change' in done.value) steps.push(done.value.change.step)
    })
    expect(kills).toBeGreaterThanOrEqual(6)
  }
  expect(steps.toSorted()).toEqual(
    ['activate', 'activate', 'generate', 'generate', 'publish', 'publish', 'retire', 'retire'].toSorted(),
  )
})

test('revoke can be repeated after being killed at any statement', { timeout: 60_000 }, async () => {
  await using authority = await openAuthority()
  const store = (db: Pool) => createKeyStore(db, authority.sealingKeys)
  const kid = (await initKeys({ keys: store(authority.db) })) ?? ''
  expect(
    await killEverywhere(authority, (db) =>
      createKeyOperations({ keys: store(db), settings, by }).revoke(kid, { reason: 'a test' }),
    ),
  ).toBeGreaterThanOrEqual(6)
  const { keys } = await store(authority.db).read()
  expect(keys.map(({ state }) => state)).toEqual(['revoked', 'signing'])
})
