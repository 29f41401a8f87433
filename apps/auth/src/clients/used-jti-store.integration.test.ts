import { afterAll, beforeAll, expect, test } from 'vitest'
import { exampleAgent } from '../../test/example-agent.ts'
import { exampleKey } from '../../test/example-key.ts'
import { type Authority, dumpTables, openAuthority } from '../../test/open-authority.ts'
import { createUsedJtiStore, sweepUsedJtis } from './used-jti-store.ts'

const now = new Date('2026-11-20T09:00:00Z')
const after = (seconds: number) => new Date(now.getTime() + seconds * 1_000)
const key = exampleKey('one')

let authority: Authority
beforeAll(async () => {
  authority = await openAuthority()
})
afterAll(() => authority[Symbol.asyncDispose]())

async function added(keys = [key]) {
  const { agent } = exampleAgent({ keys })
  await authority.agents.add({ agent, secrets: [] })
  return agent.id
}
const spend = (clientId: Awaited<ReturnType<typeof added>>, jti: string, more = {}) =>
  createUsedJtiStore(authority.db).markUsed({ clientId, jti, key, expiresAt: after(60), ...more })

test('accepts exactly one of several simultaneous uses', async () => {
  const id = await added()
  const uses = await Promise.all(Array.from({ length: 20 }, () => spend(id, 'jti-once')))
  expect(uses.filter((use) => use === 'accepted')).toHaveLength(1)
  expect(uses.filter((use) => use === 'used')).toHaveLength(19)
  expect(await spend(id, 'jti-other')).toBe('accepted')
  expect(await spend(await added(), 'jti-once')).toBe('accepted')
})

test('nothing is spent by a key that is not the client\u2019s, or for a client that is not active', async () => {
  const id = await added()
  for (const other of [exampleKey('two'), { ...key, x: exampleKey('two').x }])
    expect(await spend(id, 'jti-key', { key: other })).toBe('not-current')
  expect(await spend(exampleAgent().agent.id, 'jti-key')).toBe('not-current')
  await authority.agents.deactivate(id, 'disabled', async () => {})
  expect(await spend(id, 'jti-key')).toBe('not-current')
  await authority.agents.enable(id, new Date())
  expect(await spend(id, 'jti-key')).toBe('accepted')
  await authority.agents.deactivate(id, 'disabled', async () => {})
  expect(await spend(id, 'jti-key')).toBe('not-current')
})

test('stores no jti in clear', async () => {
  await spend(await added(), 'Canary-jti-58b1')
  expect(await dumpTables(authority.db)).not.toContain('Canary-jti')
})

test('deletes entries in batches, and not earlier than a minute after their assertions expired', async () => {
  await authority.db.query('delete from client_assertions')
  const id = await added()
  for (const seconds of [-3_600, -60, -59, 0, 60])
    await spend(id, `jti ${seconds}`, { expiresAt: after(seconds) })
  expect(await sweepUsedJtis(authority.db, now)).toBe(2)
  expect(await sweepUsedJtis(authority.db, now)).toBe(0)
  await authority.db.query(
    `insert into client_assertions select sha256(number::text::bytea), $1 from generate_series(1, 1500) number`,
    [after(-3_600)],
  )
  const swept = await Promise.all([sweepUsedJtis(authority.db, now), sweepUsedJtis(authority.db, now)])
  expect(Math.max(...swept)).toBeLessThanOrEqual(1_000)
  while ((await sweepUsedJtis(authority.db, now)) > 0);
  const { rows } = await authority.db.query('select 1 from client_assertions')
  expect(rows).toHaveLength(3)
})
