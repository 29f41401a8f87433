import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  deleteAgent,
  getToken,
  isActive,
  type Registered,
  register,
  requestToken,
  revoke,
} from './agent-client.ts'
import { endClaim } from './claim-client.ts'
import { expectProblem, type Refusal } from './expect-refusal.ts'
import { TOKEN_PLACES } from './open-auth-stores.ts'
import { send } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

/** As many as there are connections, and as may wait for one. */
const AGENTS = 30
const unavailable: Refusal = {
  status: 503,
  code: 'unavailable',
  error: 'temporarily_unavailable',
  headers: { 'retry-after': /^[1-9][0-9]*$/ },
}

describe.for(TOKEN_PLACES)(
  'F-11 while every connection of the pool is waited for, tokens in %s,',
  (tokens) => {
    let auth: RunningAuth
    let claiming: Registered
    let ending: Registered
    let revoked: string
    let ended: string
    let stuck: readonly Registered[]
    let pressure: Promise<unknown>
    const letGo = Promise.withResolvers<void>()

    beforeAll(async () => {
      auth = await startAuth({ tokens, productionTimeouts: true })
      claiming = await register(auth)
      ending = await register(auth)
      revoked = await getToken(auth, claiming)
      ended = await getToken(auth, ending)
      stuck = await Promise.all(Array.from({ length: AGENTS }, () => register(auth)))
      pressure = fillPool(auth, stuck, letGo.promise)
      await vi.waitFor(() => expectFull(auth), { timeout: 10_000 })
    })
    afterAll(async () => {
      letGo.resolve()
      await pressure
      await auth?.[Symbol.asyncDispose]()
    })

    test('rejects queued requests, and stays live', async () => {
      expectProblem(await requestToken(auth, stuck[0]!), unavailable)
      expect((await send(auth.operationsUrl, { path: '/live' })).status).toBe(200)
    })

    test('carries out a revocation, the end of a claim and a deletion', async () => {
      expect((await revoke(auth, claiming, revoked)).status).toBe(200)
      expect((await endClaim(auth, claiming)).status).toBe(204)
      expect((await deleteAgent(auth, ending)).status).toBe(204)
    })

    test('recovers afterwards, and revoked tokens stay revoked', async () => {
      letGo.resolve()
      await pressure
      expect(await isActive(auth, revoked)).toBe(false)
      expect(await isActive(auth, ended)).toBe(false)
      expect((await requestToken(auth, claiming)).status).toBe(200)
    })
  },
)

test.for(TOKEN_PLACES)(
  'F-11 when PostgreSQL has no connection left (53300), what ends tokens has its own, and all else is refused: tokens in %s',
  async (tokens) => {
    await using auth = await startAuth({ tokens, productionTimeouts: true })
    const { asAdmin, database } = auth.stores
    const revoking = await register(auth)
    const ending = await register(auth)
    const revoked = await getToken(auth, revoking)
    const ended = await getToken(auth, ending)
    await asAdmin(`alter database "${database.name}" connection limit 0`)
    await asAdmin(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = '${database.name}' and application_name = 'plainpath-auth'`,
    )
    expectProblem(await send(auth.url, { method: 'POST', path: '/api/agent/register' }), {
      ...unavailable,
      form: 'agent',
    })
    expect((await revoke(auth, revoking, revoked)).status).toBe(200)
    expect((await deleteAgent(auth, ending)).status).toBe(204)
    await asAdmin(`alter database "${database.name}" connection limit -1`)
    await vi.waitFor(() => register(auth), { timeout: 10_000 })
    expect([await isActive(auth, revoked), await isActive(auth, ended)]).toEqual([false, false])
  },
)

/** The first token of each of these agents is written down in its row, which somebody else holds. */
async function fillPool(
  auth: RunningAuth,
  agents: readonly Registered[],
  over: Promise<void>,
): Promise<void> {
  let isOver = false
  await auth.stores.db.transaction(async (holder) => {
    await holder.query('set local idle_in_transaction_session_timeout = 0')
    await holder.query('select from agents where id = any($1) for update', [
      agents.map(({ client_id }) => client_id),
    ])
    const requesting = agents.map(async (agent) => {
      while (!isOver) await requestToken(auth, agent)
    })
    await over
    isOver = true
    await Promise.all(requesting)
  })
}

async function expectFull(auth: RunningAuth): Promise<void> {
  expect(await metric(auth, 'database_pool{state="in_use"')).toBeGreaterThanOrEqual(10)
  expect(await metric(auth, 'database_pool{state="waiting"')).toBeGreaterThanOrEqual(10)
}

async function metric(auth: RunningAuth, name: string): Promise<number> {
  const { text } = await send(auth.operationsUrl, { path: '/metrics' })
  const line = text.split('\n').find((each) => each.startsWith(name))
  return Number(line?.split(' ').at(-1))
}
