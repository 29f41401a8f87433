import type { AgentId } from '@plainpath/domain'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createExampleAgent } from '../../test/example-agent.ts'
import { createExampleKey } from '../../test/example-key.ts'
import { dumpTables, openTestStores, type TestStores } from '../../test/open-test-stores.ts'
import type { VerifiedAssertion } from './client-assertion.ts'
import { createUsedJtiStore, sweepUsedJtis } from './used-jti-store.ts'

const now = new Date('2026-11-20T09:00:00Z')
const secondsLater = (seconds: number) => new Date(now.getTime() + seconds * 1_000)
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
    expiresAt: secondsLater(60),
    ...overrides,
  })

test('accepts exactly one of several simultaneous uses of a jti by the same client', async () => {
  const id = await addAgent()
  const uses = await Promise.all(Array.from({ length: 20 }, () => markUsed(id, 'jti-once')))
  expect(uses.filter((outcome) => outcome === 'accepted')).toHaveLength(1)
  expect(uses.filter((outcome) => outcome === 'used')).toHaveLength(19)
  expect(await markUsed(id, 'jti-other')).toBe('accepted')
  expect(await markUsed(await addAgent(), 'jti-once')).toBe('accepted')
})

test('marks nothing as used for a key that is not current, or for a client that is not active', async () => {
  const id = await addAgent()
  for (const otherKey of [createExampleKey('two'), { ...key, x: createExampleKey('two').x }])
    expect(await markUsed(id, 'jti-key', { key: otherKey })).toBe('not-current')
  expect(await markUsed(createExampleAgent().agent.id, 'jti-key')).toBe('not-current')
  await stores.agents.deactivate(id, 'disabled', async () => {})
  expect(await markUsed(id, 'jti-key')).toBe('not-current')
  await stores.agents.enable(id, new Date())
  expect(await markUsed(id, 'jti-key')).toBe('accepted')
  await stores.agents.deactivate(id, 'disabled', async () => {})
  expect(await markUsed(id, 'jti-key')).toBe('not-current')
})

test('stores a jti only as a hash', async () => {
  await markUsed(await addAgent(), 'Canary-jti-58b1')
  expect(await dumpTables(stores.db)).not.toContain('Canary-jti')
})

test('sweepUsedJtis deletes entries in batches, a minute or more after their assertions expired', async () => {
  await stores.db.query('delete from client_assertions')
  const id = await addAgent()
  for (const seconds of [-3_600, -60, -59, 0, 60])
    await markUsed(id, `jti ${seconds}`, { expiresAt: secondsLater(seconds) })
  expect(await sweepUsedJtis(stores.db, now)).toBe(2)
  expect(await sweepUsedJtis(stores.db, now)).toBe(0)
  // More than one batch of 1,000.
  await stores.db.query(
    `insert into client_assertions select sha256(number::text::bytea), $1 from generate_series(1, 1500) number`,
    [secondsLater(-3_600)],
  )
  const counts = await Promise.all([sweepUsedJtis(stores.db, now), sweepUsedJtis(stores.db, now)])
  expect(Math.max(...counts)).toBeLessThanOrEqual(1_000)
  while ((await sweepUsedJtis(stores.db, now)) > 0);
  const { rows } = await stores.db.query('select 1 from client_assertions')
  // The entries that expired less than a minute before `now`, at `now`, and that expire later.
  expect(rows).toHaveLength(3)
})
