import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  deleteAgent,
  getToken,
  isActive,
  type RegisteredAgent,
  register,
  requestToken,
  revoke,
} from './agent-client.ts'
import { expectProblem, UNAVAILABLE } from './expect-refusal.ts'
import { TOKEN_STORES } from './open-auth-testbed.ts'
import { send } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'
import { revokeVerification } from './verification-client.ts'

// The numbers in the titles, such as F-11, are those of the faults in e2e/faults/fault-numbers.ts.

/** Enough agents to take all ten connections and to fill the connection queue, in which two may wait for each connection. */
const AGENT_COUNT = 30

describe.for(TOKEN_STORES)(
  'F-11 while all connections are in use and the connection queue is full, tokens in %s,',
  (tokenStore) => {
    let auth: RunningAuth
    let revokingAgent: RegisteredAgent
    let deletedAgent: RegisteredAgent
    let revokedToken: string
    let deletedAgentToken: string
    let waitingAgents: readonly RegisteredAgent[]
    /** Resolves after `release`, when the requests that fill the pool have ended. */
    let pressure: Promise<unknown>
    const release = Promise.withResolvers<void>()

    beforeAll(async () => {
      auth = await startAuth({ tokenStore, useProductionTimeouts: true })
      revokingAgent = await register(auth)
      deletedAgent = await register(auth)
      revokedToken = await getToken(auth, revokingAgent)
      deletedAgentToken = await getToken(auth, deletedAgent)
      waitingAgents = await Promise.all(Array.from({ length: AGENT_COUNT }, () => register(auth)))
      pressure = fillPool(auth, waitingAgents, release.promise)
      await vi.waitFor(() => expectFull(auth), { timeout: 10_000 })
    })
    afterAll(async () => {
      release.resolve()
      await pressure
      await auth?.[Symbol.asyncDispose]()
    })

    test('the instance rejects a token request, and stays live', async () => {
      expectProblem(await requestToken(auth, waitingAgents[0]!), UNAVAILABLE)
      expect((await send(auth.operationsUrl, { path: '/live' })).status).toBe(200)
    })

    test('the instance accepts requests to revoke a token, to revoke a verification, and to delete a client', async () => {
      // For these requests, the instance has reserved connections.
      expect((await revoke(auth, revokingAgent, revokedToken)).status).toBe(200)
      expect((await revokeVerification(auth, revokingAgent)).status).toBe(204)
      expect((await deleteAgent(auth, deletedAgent)).status).toBe(204)
    })

    test('the instance recovers afterwards, and revoked tokens stay revoked', async () => {
      release.resolve()
      await pressure
      expect(await isActive(auth, revokedToken)).toBe(false)
      expect(await isActive(auth, deletedAgentToken)).toBe(false)
      expect((await requestToken(auth, revokingAgent)).status).toBe(200)
    })
  },
)

test.for(TOKEN_STORES)(
  'F-11 when PostgreSQL has no connection left (53300), an instance revokes and deletes but does not register, tokens in %s',
  async (tokenStore) => {
    await using auth = await startAuth({ tokenStore, useProductionTimeouts: true })
    const { runAsAdmin, database } = auth.testbed
    const revokingAgent = await register(auth)
    const deletedAgent = await register(auth)
    const revokedToken = await getToken(auth, revokingAgent)
    const deletedAgentToken = await getToken(auth, deletedAgent)
    await runAsAdmin(`alter database "${database.name}" connection limit 0`)
    // Terminates the ordinary connections. Those that are reserved for revocations have another application name.
    await runAsAdmin(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = '${database.name}' and application_name = 'plainpath-auth'`,
    )
    expectProblem(await send(auth.url, { method: 'POST', path: '/api/agent/register' }), {
      ...UNAVAILABLE,
      errorFormat: 'agent',
    })
    expect((await revoke(auth, revokingAgent, revokedToken)).status).toBe(200)
    expect((await deleteAgent(auth, deletedAgent)).status).toBe(204)
    await runAsAdmin(`alter database "${database.name}" connection limit -1`)
    await vi.waitFor(() => register(auth), { timeout: 10_000 })
    expect([await isActive(auth, revokedToken), await isActive(auth, deletedAgentToken)]).toEqual([
      false,
      false,
    ])
  },
)

/**
 * Fills the connection pool until `released` resolves. A transaction locks the rows of the agents, and then each agent
 * requests tokens. Such a request records the first use of the agent, so it keeps its connection while it waits for the row.
 */
async function fillPool(
  auth: RunningAuth,
  agents: readonly RegisteredAgent[],
  released: Promise<void>,
): Promise<void> {
  let isReleased = false
  await auth.testbed.db.transaction(async (lockHolder) => {
    // The transaction is idle until `released` resolves, which may take longer than the usual limit of 5 s.
    await lockHolder.query('set local idle_in_transaction_session_timeout = 0')
    await lockHolder.query('select from agents where id = any($1) for update', [
      agents.map(({ client_id }) => client_id),
    ])
    const tokenRequests = agents.map(async (agent) => {
      while (!isReleased) await requestToken(auth, agent)
    })
    await released
    isReleased = true
    await Promise.all(tokenRequests)
  })
}

/** Checks that at least ten connections are in use (all but the reserved ones), and that at least ten requests wait for one. */
async function expectFull(auth: RunningAuth): Promise<void> {
  expect(await readMetric(auth, 'database_pool{state="in_use"')).toBeGreaterThanOrEqual(10)
  expect(await readMetric(auth, 'database_pool{state="waiting"')).toBeGreaterThanOrEqual(10)
}

async function readMetric(auth: RunningAuth, name: string): Promise<number> {
  const { text } = await send(auth.operationsUrl, { path: '/metrics' })
  const line = text.split('\n').find((each) => each.startsWith(name))
  return Number(line?.split(' ').at(-1))
}
