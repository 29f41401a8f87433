import { DAY_MS } from '@plainpath/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expireAgents } from '../src/agents/agent-expiry.ts'
import { loadConfig } from '../src/config.ts'
import { createEvents } from '../src/events.ts'
import { openStores } from '../src/stores.ts'
import {
  asAgent,
  basic,
  deleteAgent,
  getToken,
  type Registered,
  register,
  requestToken,
} from './agent-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { expectProblem, expectSafe } from './expect-refusal.ts'
import { assertionOf, registerKeys } from './key-agent.ts'
import { TOKEN_PLACES } from './open-auth-stores.ts'
import { type HttpResponse, send } from './send.ts'
import { type RunningAuth, startAuth, startInstance } from './start-auth.ts'

const EXPIRED = { status: 401, code: 'client-expired', error: 'invalid_client' } as const
const NOBODY = { status: 401, code: 'invalid-client', error: 'invalid_client' } as const
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }

describe.for(TOKEN_PLACES)('expiry, tokens in %s:', (tokens) => {
  let auth: RunningAuth
  let other: RunningAuth
  const start = new Date()
  const clock = { now: start }
  const now = () => clock.now
  const wait = (days: number) => {
    clock.now = new Date(clock.now.getTime() + days * DAY_MS)
  }
  beforeAll(async () => {
    auth = await startAuth({ tokens, now })
    other = await startInstance(auth.stores, { now })
  })
  afterAll(async () => {
    await expectNothingInClear(auth)
    await other[Symbol.asyncDispose]()
    await auth[Symbol.asyncDispose]()
  })

  /** Expires agents, as each instance does once a minute. @returns the number of expired agents */
  async function expire(): Promise<number> {
    const config = loadConfig(await auth.stores.settingsFor(auth.origin))
    const { redis } = auth.stores
    await using stores = await openStores(config, {
      log: silent,
      now,
      redisTimeoutMs: 3_000,
      ...(redis && { redisPrefix: redis.prefix, revocation: redis.revocation }),
    })
    return await expireAgents({ ...stores, events: createEvents() }, now(), 1_000)
  }
  const getAgent = (agent: Registered, at = auth) =>
    send(at.url, { path: '/api/agent', headers: asAgent(agent) })
  const expiryIn = ({ text }: HttpResponse, member: string) =>
    (new Date(String((JSON.parse(text) as Record<string, unknown>)[member])).getTime() -
      clock.now.getTime()) /
    DAY_MS

  test('registration, GET and every token say when the client expires', async () => {
    const agent = await register(auth)
    expect(agent['idle_expiry']).toBe(new Date(clock.now.getTime() + 7 * DAY_MS).toISOString())
    expect(expiryIn(await getAgent(agent), 'idle_expiry')).toBe(7)
    const response = await requestToken(auth, agent)
    auth.confidential.add((JSON.parse(response.text) as { access_token: string }).access_token)
    expect(expiryIn(response, 'client_expires_at')).toBe(91)
    expect(expiryIn(await getAgent(agent, other), 'idle_expiry')).toBe(91)
  })

  test('records use once a day over all instances, not for each token', async () => {
    const agent = await register(auth)
    const version = async () => {
      const { rows } = await auth.stores.db.query<{ written: string; used: Date }>(
        'select xmin::text as written, last_used_at as used from agents where id = $1',
        [agent.client_id],
      )
      return rows[0]!
    }
    await Promise.all(Array.from({ length: 8 }, () => getToken(auth, agent)))
    const first = await version()
    expect(first.used).toEqual(clock.now)
    await getToken(other, agent)
    wait(0.9)
    for (const at of [auth, other, auth]) await getToken(at, agent)
    expect(await version()).toEqual(first)
    wait(0.2)
    await getToken(other, agent)
    expect((await version()).used).toEqual(clock.now)
  })

  test('expires a client without a token after 7 days, and reveals it only to its owner', async () => {
    const [idle, used] = [await register(auth, 'Canary of the unused'), await register(auth)]
    await getToken(auth, used)
    wait(6.9)
    expect(await expire()).toBe(0)
    expect((await getAgent(idle)).status).toBe(200)
    wait(0.1)
    expect(await expire()).toBe(1)
    const { rows } = await auth.stores.db.query('select id from agents where id = $1', [idle.client_id])
    expect(rows).toEqual([])
    for (const at of [auth, other]) {
      await expect.poll(async () => (await requestToken(at, idle)).text).toContain('client-expired')
      const refused = await requestToken(at, idle)
      expectProblem(refused, { ...EXPIRED, says: /Register again with POST \/api\/agent\/register/ })
      expect(JSON.parse(refused.text)).toMatchObject({ error_uri: `${auth.origin}/problems/client-expired` })
      await expectSafe(at, refused)
      expectProblem(await getAgent(idle, at), { ...EXPIRED, form: 'agent' })
      await getToken(at, used)
    }
    expect((await register(auth)).client_id).not.toBe(idle.client_id)
  })

  test('an expired client looks like an unknown or deleted one to callers without its credentials', async () => {
    const [expired, deleted] = [await register(auth), await register(auth)]
    const secret = expired.client_secret
    expect((await deleteAgent(auth, deleted)).status).toBe(204)
    wait(7)
    const alive = await register(auth)
    expect(await expire()).toBeGreaterThan(0)
    const wrong = `pps_${'A'.repeat(43)}`
    const never = { ...expired, client_id: `agt_${'A'.repeat(22)}` }
    await expect.poll(async () => (await requestToken(auth, expired)).text).toContain('client-expired')
    const responses = await Promise.all(
      [{ ...expired, client_secret: wrong }, never, { ...alive, client_secret: secret }, deleted].map(
        (each) => requestToken(auth, each),
      ),
    )
    for (const response of responses) expectProblem(response, NOBODY)
    expect(new Set(responses.map(({ text }) => text)).size).toBe(1)
    const names = responses.map(({ headers }) => [...headers.keys()].sort().join())
    expect(new Set(names).size).toBe(1)
  })

  test('reveals an expired client to a caller with its key, and not to a caller with another key', async () => {
    const [agent, stranger] = [await registerKeys(auth), await registerKeys(auth)]
    wait(7)
    expect(await expire()).toBeGreaterThan(0)
    const at = {
      iat: Math.floor(clock.now.getTime() / 1000),
      exp: Math.floor(clock.now.getTime() / 1000) + 60,
    }
    const by = (key: typeof agent.key) => assertionOf(auth, { ...agent, key }, at)
    const request = async (key: typeof agent.key) =>
      send(auth.url, { path: '/api/agent', headers: { 'client-assertion': await by(key) } })
    expectProblem(await request(agent.key), { ...EXPIRED, form: 'agent' })
    expectProblem(await request(stranger.key), { ...NOBODY, form: 'agent' })
  })

  test('keeps a client that is used, and expires one unused for 91 days', async () => {
    const agent = await register(auth)
    for (let weeks = 0; weeks < 4; weeks += 1) {
      await getToken(auth, agent)
      wait(80)
      await expire()
    }
    await getToken(other, agent)
    wait(90.9)
    await expire()
    await getToken(auth, agent)
    wait(91)
    expect(await expire()).toBeGreaterThan(0)
    await expect.poll(async () => (await requestToken(auth, agent)).text).toContain('client-expired')
    wait(90)
    await expect
      .poll(async () => (await requestToken(auth, agent)).text)
      .toBe((await requestToken(auth, { ...agent, client_secret: 'pps_wrong' })).text)
  })

  test('an instance with a stale cache gives no token to an expired client', async () => {
    const agent = await register(auth)
    expect((await getAgent(agent, other)).status).toBe(200)
    expect((await requestToken(other, { ...agent, client_secret: 'pps_wrong' })).status).toBe(401)
    const triggers = (what: 'disable' | 'enable') =>
      auth.stores.asOwner(
        `alter table agents ${what} trigger agents_changed; alter table agent_secrets ${what} trigger agent_secrets_changed`,
      )
    await triggers('disable')
    wait(7)
    expect(await expire()).toBeGreaterThan(0)
    expectProblem(await requestToken(other, agent), NOBODY)
    await triggers('enable')
    expect((await send(auth.url, { path: '/api/agent', headers: basic(agent.client_id, 'x') })).status).toBe(
      401,
    )
  })
})
