import { DAY_MS } from '@plainpath/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expireAgents } from '../src/agents/agent-expiry.ts'
import { loadConfig } from '../src/config.ts'
import { createEvents } from '../src/events.ts'
import { openStores } from '../src/stores.ts'
import {
  agentAuthHeader,
  basicAuth,
  deleteAgent,
  getToken,
  type RegisteredAgent,
  register,
  requestToken,
} from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { expectProblem, expectSafe } from './expect-refusal.ts'
import { registerKeys, signAssertion } from './key-agent.ts'
import { TOKEN_STORES } from './open-auth-testbed.ts'
import { type HttpResponse, send } from './send.ts'
import { type RunningAuth, startAuth, startInstance } from './start-auth.ts'

const CLIENT_EXPIRED = { status: 401, code: 'client-expired', error: 'invalid_client' } as const
const INVALID_CLIENT = { status: 401, code: 'invalid-client', error: 'invalid_client' } as const
const silentLog = { info: () => undefined, warn: () => undefined, error: () => undefined }

/*
 * A client that never got a token expires 7 days after its registration. Any other client expires at the latest 91 days after its
 * last token: after 90 days without use, and one more day because its use is recorded at most once a day.
 */

describe.for(TOKEN_STORES)('expiry, tokens in %s:', (tokenStore) => {
  let auth: RunningAuth
  let otherInstance: RunningAuth
  const start = new Date()
  const clock = { now: start }
  const now = () => clock.now
  const passDays = (days: number) => {
    clock.now = new Date(clock.now.getTime() + days * DAY_MS)
  }
  beforeAll(async () => {
    auth = await startAuth({ tokenStore, now })
    otherInstance = await startInstance(auth.testbed, { now })
  })
  afterAll(async () => {
    await expectNoConfidentialValues(auth)
    await otherInstance[Symbol.asyncDispose]()
    await auth[Symbol.asyncDispose]()
  })

  /** Expires agents, as the upkeep of each instance does. Returns how many agents it expired. */
  async function expire(): Promise<number> {
    const config = loadConfig(await auth.testbed.createSettings(auth.origin))
    const { redis } = auth.testbed
    await using stores = await openStores(config, {
      log: silentLog,
      now,
      redisTimeoutMs: 3_000,
      ...(redis && { redisPrefix: redis.prefix, revocation: redis.revocation }),
    })
    // Up to 1,000 clients that never got a token may exist, so none of these tests expires clients because there are too many.
    return await expireAgents({ ...stores, events: createEvents() }, now(), 1_000)
  }
  const getAgent = (agent: RegisteredAgent, instance = auth) =>
    send(instance.url, { path: '/api/agent', headers: agentAuthHeader(agent) })
  const readDaysUntil = ({ text }: HttpResponse, member: string) =>
    (new Date(String((JSON.parse(text) as Record<string, unknown>)[member])).getTime() -
      clock.now.getTime()) /
    DAY_MS

  test('registration, GET and a token response say when the client expires', async () => {
    const agent = await register(auth)
    expect(agent['idle_expiry']).toBe(new Date(clock.now.getTime() + 7 * DAY_MS).toISOString())
    expect(readDaysUntil(await getAgent(agent), 'idle_expiry')).toBe(7)
    const response = await requestToken(auth, agent)
    auth.confidential.add((JSON.parse(response.text) as { access_token: string }).access_token)
    expect(readDaysUntil(response, 'client_expires_at')).toBe(91)
    expect(readDaysUntil(await getAgent(agent, otherInstance), 'idle_expiry')).toBe(91)
  })

  test('records the use of a client at most once a day over all instances, not for each token', async () => {
    const agent = await register(auth)
    const readRow = async () => {
      const { rows } = await auth.testbed.db.query<{ written: string; used: Date }>(
        'select xmin::text as written, last_used_at as used from agents where id = $1',
        [agent.client_id],
      )
      return rows[0]!
    }
    await Promise.all(Array.from({ length: 8 }, () => getToken(auth, agent)))
    const firstRow = await readRow()
    expect(firstRow.used).toEqual(clock.now)
    await getToken(otherInstance, agent)
    passDays(0.9)
    for (const instance of [auth, otherInstance, auth]) await getToken(instance, agent)
    expect(await readRow()).toEqual(firstRow)
    passDays(0.2)
    await getToken(otherInstance, agent)
    expect((await readRow()).used).toEqual(clock.now)
  })

  test('expires a client that has got no token within 7 days of its registration, and then tells it so', async () => {
    const [idleAgent, usedAgent] = [await register(auth, 'Canary of the idle agent'), await register(auth)]
    await getToken(auth, usedAgent)
    passDays(6.9)
    expect(await expire()).toBe(0)
    expect((await getAgent(idleAgent)).status).toBe(200)
    passDays(0.1)
    expect(await expire()).toBe(1)
    const { rows } = await auth.testbed.db.query('select id from agents where id = $1', [idleAgent.client_id])
    expect(rows).toEqual([])
    for (const instance of [auth, otherInstance]) {
      await expect
        .poll(async () => (await requestToken(instance, idleAgent)).text)
        .toContain('client-expired')
      const refusal = await requestToken(instance, idleAgent)
      expectProblem(refusal, { ...CLIENT_EXPIRED, says: /Register again with POST \/api\/agent\/register/ })
      expect(JSON.parse(refusal.text)).toMatchObject({ error_uri: `${auth.origin}/problems/client-expired` })
      await expectSafe(instance, refusal)
      expectProblem(await getAgent(idleAgent, instance), { ...CLIENT_EXPIRED, errorFormat: 'agent' })
      await getToken(instance, usedAgent)
    }
    expect((await register(auth)).client_id).not.toBe(idleAgent.client_id)
  })

  test('an expired client looks like an unknown or deleted one to callers without its credentials', async () => {
    const [expiredAgent, deletedAgent] = [await register(auth), await register(auth)]
    const secret = expiredAgent.client_secret
    expect((await deleteAgent(auth, deletedAgent)).status).toBe(204)
    passDays(7)
    const otherAgent = await register(auth)
    expect(await expire()).toBeGreaterThan(0)
    const wrongSecret = `pps_${'A'.repeat(43)}`
    const unknownAgent = { ...expiredAgent, client_id: `agt_${'A'.repeat(22)}` }
    await expect.poll(async () => (await requestToken(auth, expiredAgent)).text).toContain('client-expired')
    const callers = [
      { ...expiredAgent, client_secret: wrongSecret },
      unknownAgent,
      { ...otherAgent, client_secret: secret },
      deletedAgent,
    ]
    const responses = await Promise.all(callers.map((each) => requestToken(auth, each)))
    for (const response of responses) expectProblem(response, INVALID_CLIENT)
    expect(new Set(responses.map(({ text }) => text)).size).toBe(1)
    const headerNames = responses.map(({ headers }) => [...headers.keys()].sort().join())
    expect(new Set(headerNames).size).toBe(1)
  })

  test('tells a caller with the key of a client that the client has expired, but not a caller with another key', async () => {
    const [agent, stranger] = [await registerKeys(auth), await registerKeys(auth)]
    passDays(7)
    expect(await expire()).toBeGreaterThan(0)
    // By default, `signAssertion` uses the real time, which is far behind the clock of the instances.
    const iat = Math.floor(clock.now.getTime() / 1000)
    const request = async (key: typeof agent.key) => {
      const assertion = await signAssertion(auth, { ...agent, key }, { iat, exp: iat + 60 })
      return send(auth.url, { path: '/api/agent', headers: { 'client-assertion': assertion } })
    }
    expectProblem(await request(agent.key), { ...CLIENT_EXPIRED, errorFormat: 'agent' })
    expectProblem(await request(stranger.key), { ...INVALID_CLIENT, errorFormat: 'agent' })
  })

  test('does not expire a client in use, expires it 91 days after its last token, and forgets it 90 days later', async () => {
    const agent = await register(auth)
    for (let round = 0; round < 4; round += 1) {
      await getToken(auth, agent)
      passDays(80)
      await expire()
    }
    await getToken(otherInstance, agent)
    passDays(90.9)
    await expire()
    await getToken(auth, agent)
    passDays(91)
    expect(await expire()).toBeGreaterThan(0)
    await expect.poll(async () => (await requestToken(auth, agent)).text).toContain('client-expired')
    passDays(90)
    await expect
      .poll(async () => (await requestToken(auth, agent)).text)
      .toBe((await requestToken(auth, { ...agent, client_secret: 'pps_wrong' })).text)
  })

  test('an instance with a stale cache issues no token to an expired client', async () => {
    const agent = await register(auth)
    expect((await getAgent(agent, otherInstance)).status).toBe(200)
    expect((await requestToken(otherInstance, { ...agent, client_secret: 'pps_wrong' })).status).toBe(401)
    // Without these triggers, the other instance is not notified that the client has expired.
    const alterTriggers = (action: 'disable' | 'enable') =>
      auth.testbed.runAsOwner(
        `alter table agents ${action} trigger agents_changed; alter table agent_secrets ${action} trigger agent_secrets_changed`,
      )
    try {
      await alterTriggers('disable')
      passDays(7)
      expect(await expire()).toBeGreaterThan(0)
      expectProblem(await requestToken(otherInstance, agent), INVALID_CLIENT)
    } finally {
      await alterTriggers('enable')
    }
    const headers = basicAuth(agent.client_id, 'x')
    expect((await send(auth.url, { path: '/api/agent', headers })).status).toBe(401)
  })
})
