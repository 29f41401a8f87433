import type { AgentId } from '@plainpath/domain'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createExampleAgent } from '../../test/example-agent.ts'
import { createExampleKey } from '../../test/example-key.ts'
import { dumpTables, openTestStores, type TestStores } from '../../test/open-test-stores.ts'
import type { VerifiedAssertion } from './client-assertion.ts'
import { createUsedJtiStore, sweepUsedJtis } from './used-jti-store.ts'

const now = new Date('2026-11-20T09:00:00Z')
/** Returns the time that is this many seconds after `now`, or before it if `seconds` is negative. */
const atSeconds = (seconds: number) => new Date(now.getTime() + seconds * 1_000)
const key = createExampleKey('one')

let stores: TestStores
beforeAll(async () => {
  stores = await openTestStores()
})
afterAll(() => stores[Symbol.asyncDispose]())

async function addAgent(keys = [key]) {
  const { agent } = createExampleAgent({ keys })
  await stores.agents.add({ agent, secrets: [] })
  return agent.id
}
const markUsed = (clientId: AgentId, jti: string, overrides: Partial<VerifiedAssertion> = {}) =>
  createUsedJtiStore(stores.db).markUsed({
    clientId,
    jti,
    key,
    expiresAt: atSeconds(60),
    ...overrides,
  })

test('accepts exactly one of several simultaneous uses of a jti by the same client', async () => {
  const id = await addAgent()
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => markUsed(id, 'jti-once')))
  expect(outcomes.filter((outcome) => outcome === 'accepted')).toHaveLength(1)
  expect(outcomes.filter((outcome) => outcome === 'used')).toHaveLength(19)
  expect(await markUsed(id, 'jti-other')).toBe('accepted')
  expect(await markUsed(await addAgent(), 'jti-once')).toBe('accepted')
})

test('rejects a key that is not current, an unknown client and an inactive client, and then does not mark the jti as used', async () => {
  const id = await addAgent()
  // The second has the `kid` of the current key, but other key material.
  for (const otherKey of [createExampleKey('two'), { ...key, x: createExampleKey('two').x }])
    expect(await markUsed(id, 'jti-key', { key: otherKey })).toBe('not-current')
  expect(await markUsed(createExampleAgent().agent.id, 'jti-key')).toBe('not-current')
  await stores.agents.deactivate({ id, credentialVersion: undefined }, 'disabled', async () => {})
  expect(await markUsed(id, 'jti-key')).toBe('not-current')
  await stores.agents.enable(id, new Date())
  expect(await markUsed(id, 'jti-key')).toBe('accepted')
  await stores.agents.deactivate({ id, credentialVersion: undefined }, 'disabled', async () => {})
  // The jti was used, but the inactive client takes precedence.
  expect(await markUsed(id, 'jti-key')).toBe('not-current')
})

test('stores a jti only as a hash', async () => {
  await markUsed(await addAgent(), 'Canary-jti-58b1')
  expect(await dumpTables(stores.db)).not.toContain('Canary-jti')
})

test('sweepUsedJtis deletes at most 1,000 entries at once, and none before its assertion has been expired for a minute', async () => {
  // The entries of the tests above are in the same table.
  await stores.db.query('delete from client_assertions')
  const id = await addAgent()
  for (const seconds of [-3_600, -60, -59, 0, 60])
    await markUsed(id, `jti ${seconds}`, { expiresAt: atSeconds(seconds) })
  expect(await sweepUsedJtis(stores.db, now)).toBe(2)
  expect(await sweepUsedJtis(stores.db, now)).toBe(0)
  // 1,500 entries are more than one batch of 1,000.
  await stores.db.query(
    `insert into client_assertions select sha256(number::text::bytea), $1 from generate_series(1, 1500) number`,
    [atSeconds(-3_600)],
  )
  const counts = await Promise.all([sweepUsedJtis(stores.db, now), sweepUsedJtis(stores.db, now)])
  expect(Math.max(...counts)).toBeLessThanOrEqual(1_000)
  while ((await sweepUsedJtis(stores.db, now)) > 0);
  const { rows } = await stores.db.query('select 1 from client_assertions')
  // Three entries remain: those whose assertions expired 59 s ago and at `now`, and the one whose assertion expires in 60 s.
  expect(rows).toHaveLength(3)
})
