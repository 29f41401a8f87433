import { type AgentId, type AgentKey, DAY_MS } from '@plainpath/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expireAgents } from '../src/agents/agent-expiry.ts'
import { blockDomain } from '../src/agents/block-domain.ts'
import { loadConfig } from '../src/config.ts'
import { createEvents } from '../src/events.ts'
import { openStores } from '../src/stores.ts'
import { isActive } from './agent-client.ts'
import { type DocumentServer, documentOf, startDocumentServer } from './document-server.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { countStored, expectProblem, expectRefusal, type Refusal } from './expect-refusal.ts'
import { type KeyPair, newKey } from './key-agent.ts'
import { type AuthStores, openAuthStores, TOKEN_PLACES } from './open-auth-stores.ts'
import { securityEventsIn } from './security-events-in.ts'
import type { RunningAuth } from './start-auth.ts'
import {
  type Clock,
  getUrlToken,
  requestUrlToken,
  sendAs,
  setBack,
  signedNow,
  startUrlInstance,
} from './url-agent.ts'

const NOBODY: Refusal = { status: 401, code: 'invalid-client', error: 'invalid_client' }
const UNPROVEN: Refusal = { ...NOBODY, says: /^The signature cannot be verified/ }
const UNUSABLE: Refusal = { ...NOBODY, says: /^There is no usable document at your client_id/ }
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }

describe.for(TOKEN_PLACES)('a client that is known by the URL of its document, tokens in %s:', (tokens) => {
  const resources = new AsyncDisposableStack()
  let server: DocumentServer
  let stores: AuthStores
  let auth: RunningAuth
  let other: RunningAuth
  let keys: readonly [KeyPair, KeyPair]
  let clock: Clock
  beforeAll(async () => {
    clock = { now: new Date() }
    server = resources.use(await startDocumentServer())
    stores = resources.use(await openAuthStores(tokens))
    auth = resources.use(await startUrlInstance(stores, server, clock))
    other = resources.use(await startUrlInstance(stores, server, clock, { origin: auth.origin }))
    keys = [await newKey(), await newKey('Ed25519')]
  })
  afterAll(async () => {
    await expectNothingInClear(auth)
    await resources.disposeAsync()
  })

  const publish = (options: Parameters<DocumentServer['publish']>[1] = {}) =>
    server.publish([keys[0]], options)
  const rowOf = async (id: string) =>
    (await stores.db.query('select * from agents where id = $1', [id])).rows[0]
  const activeAt = (token: string) => Promise.all([isActive(auth, token), isActive(other, token)])

  test('gets its first token without registration, and the second without a fetch', async () => {
    const agent = publish()
    const before = await countStored(auth)
    const first = await getUrlToken(auth, agent, clock)
    expect(first).toMatchObject({ expiresIn: 3600, scope: 'guides:read waitlist:write' })
    expect(agent.fetched()).toBe(1)
    expect(await activeAt(first.token)).toEqual([true, true])
    const stored = await countStored(auth)
    expect(stored['agents']).toBe((before['agents'] ?? 0) + 1)
    const second = await getUrlToken(auth, agent, clock)
    const third = await getUrlToken(other, agent, clock)
    expect(agent.fetched()).toBe(1)
    for (const { token } of [first, second, third]) expect(await activeAt(token)).toEqual([true, true])
  })

  test('stores the URL and the keys, and nothing else of the document', async () => {
    const agent = publish()
    await getUrlToken(auth, agent, clock)
    const row = (await rowOf(agent.client_id)) ?? {}
    expect(row).toMatchObject({ id: agent.client_id, name_sealed: null, status: 'active' })
    expect(row['jwks']).toEqual([{ ...keys[0].jwk, alg: 'ES256', use: 'sig' }])
    expect(JSON.stringify(row)).not.toContain('Canary')
  })

  test('is described by its URL, without a name', async () => {
    const agent = publish()
    await getUrlToken(auth, agent, clock)
    const response = await sendAs(auth, agent, clock, { method: 'GET', path: '/api/agent' })
    expect(response.status, response.text).toBe(200)
    const body = JSON.parse(response.text) as Record<string, unknown>
    expect(body).toMatchObject({
      client_id: agent.client_id,
      token_endpoint_auth_method: 'private_key_jwt',
      identity_type: 'anonymous',
    })
    expect(body).not.toHaveProperty('client_name')
  })

  test('may have a URL of 255 characters with any character that URLs have', async () => {
    const path = "/a%20b%C3%A9%/c:d@e;f=g,h!i$j&k'l(m)*n+~_-.|[]?q={x}^|%00&y=%ff:%2F%23"
    const [host] = server.settings.AUTH_CLIENT_DOCUMENT_TEST_HOSTS.split(',').slice(1)
    const room = 255 - `https://${host}`.length - path.length
    const agent = publish({ path: path + 'z'.repeat(room) })
    expect(agent.client_id).toHaveLength(255)
    const { token } = await getUrlToken(auth, agent, clock)
    expect(await activeAt(token)).toEqual([true, true])
    const revoked = await requestUrlToken(other, agent, clock, { path: '/oauth/revoke', fields: { token } })
    expect(revoked.status, revoked.text).toBe(200)
    expect(await activeAt(token)).toEqual([false, false])
    expect(agent.fetched()).toBe(1)
  })

  test('is added once by simultaneous first requests, which all get tokens', async () => {
    const agent = publish()
    const requests = await Promise.all(
      [auth, other, auth, other].map((each) => getUrlToken(each, agent, clock)),
    )
    for (const { token } of requests) expect(await activeAt(token)).toEqual([true, true])
  })

  test('gets a token at an instance that has just cached that it is unknown', async () => {
    const agent = publish()
    const early = await requestUrlToken(auth, agent, clock, { path: '/oauth/revoke', fields: { token: 'x' } })
    expect(early.status, early.text).toBe(401)
    await getUrlToken(other, agent, clock)
    const { token } = await getUrlToken(auth, agent, clock)
    expect(await activeAt(token)).toEqual([true, true])
  })

  test('can use an added key once the stored document is about to expire', async () => {
    const agent = publish()
    setBack(clock, 1_900)
    await getUrlToken(auth, agent, clock)
    agent.changeKeys(...keys)
    await expectRefusal(auth, () => requestUrlToken(auth, { ...agent, key: keys[1] }, clock), UNPROVEN)
    setBack(clock, 0)
    const { token } = await getUrlToken(auth, { ...agent, key: keys[1] }, clock)
    expect(agent.fetched()).toBe(2)
    expect(await activeAt(token)).toEqual([true, true])
  })

  test('loses its tokens at both instances when the document is fetched again without a key', async () => {
    const agent = publish()
    agent.changeKeys(...keys)
    setBack(clock, 1_900)
    const { token } = await getUrlToken(auth, agent, clock)
    await getUrlToken(other, agent, clock)
    agent.changeKeys(keys[1])
    const logged = auth.logged.length
    setBack(clock, 0)
    expect(await activeAt(token)).toEqual([true, true])
    await expectRefusal(auth, () => requestUrlToken(auth, agent, clock), UNPROVEN)
    expect(await activeAt(token)).toEqual([false, false])
    expect(securityEventsIn(auth.logged.slice(logged))).toEqual([
      { event: 'document-changed', client_id: agent.client_id, verified_domain: 'agents.clients.test' },
    ])
    await expectRefusal(other, () => requestUrlToken(other, agent, clock), UNPROVEN)
    const fresh = await getUrlToken(other, { ...agent, key: keys[1] }, clock)
    expect(await activeAt(fresh.token)).toEqual([true, true])
  })

  test('loses its tokens when the document has no keys, and the refusal names the mistake', async () => {
    const agent = publish()
    setBack(clock, 1_900)
    const { token } = await getUrlToken(auth, agent, clock)
    agent.change({ ...documentOf(agent.client_id, []), jwks: { keys: [] } })
    setBack(clock, 0)
    await expectRefusal(auth, () => requestUrlToken(auth, agent, clock), { ...NOBODY, says: /jwks/ })
    expect(await activeAt(token)).toEqual([false, false])
  })

  test('gets no token that outlasts the stored document', async () => {
    const agent = publish({ maxAge: 600 })
    const present = Date.now()
    setBack(clock, 892, present)
    expect((await getUrlToken(auth, agent, clock)).expiresIn).toBe(600)
    setBack(clock, 592.5, present)
    expect((await getUrlToken(auth, agent, clock)).expiresIn).toBe(300)
    expect(agent.fetched()).toBe(1)
    setBack(clock, 590, present)
    expect((await getUrlToken(auth, agent, clock)).expiresIn).toBe(600)
    expect(agent.fetched()).toBe(2)
    agent.change(undefined)
    setBack(clock, 0, present)
    const last = await getUrlToken(auth, agent, clock)
    expect(last.expiresIn).toBe(10)
    expect(await activeAt(last.token)).toEqual([true, true])
    setBack(clock, -60, present)
    expect(await activeAt(last.token)).toEqual([false, false])
    await expectRefusal(auth, () => requestUrlToken(auth, agent, clock), UNUSABLE)
    expect((await getUrlToken(auth, publish(), clock)).expiresIn).toBe(3600)
    setBack(clock, 0)
  })

  test('a document that lasts a day is fetched again in its last hour', async () => {
    const agent = publish({ maxAge: 86_400 })
    setBack(clock, 85_000)
    await getUrlToken(auth, agent, clock)
    setBack(clock, 3_000)
    expect((await getUrlToken(auth, agent, clock)).expiresIn).toBe(3600)
    expect(agent.fetched()).toBe(1)
    setBack(clock, 0)
    expect((await getUrlToken(auth, agent, clock)).expiresIn).toBe(3600)
    expect(agent.fetched()).toBe(2)
  })

  test('revokes its own token, and no other', async () => {
    const [agent, stranger] = [publish(), publish()]
    const { token } = await getUrlToken(auth, agent, clock)
    await getUrlToken(auth, stranger, clock)
    const refused = await requestUrlToken(auth, stranger, clock, { path: '/oauth/revoke', fields: { token } })
    expectProblem(refused, { status: 400, code: 'foreign-token' })
    expect(await activeAt(token)).toEqual([true, true])
    const done = await requestUrlToken(auth, agent, clock, { path: '/oauth/revoke', fields: { token } })
    expect(done.status, done.text).toBe(200)
    expect(await activeAt(token)).toEqual([false, false])
  })

  test('is removed by DELETE, and can begin again with a token request only', async () => {
    const agent = publish()
    const { token } = await getUrlToken(auth, agent, clock)
    const used = await signedNow(auth, agent, clock)
    await requestUrlToken(auth, agent, clock, { fields: { client_assertion: used } })
    const left = await sendAs(auth, agent, clock, { method: 'DELETE', path: '/api/agent' })
    expect(left.status, left.text).toBe(204)
    expect(await activeAt(token)).toEqual([false, false])
    expect(await rowOf(agent.client_id)).toMatchObject({
      status: 'deleted',
      jwks: null,
      document_expires_at: null,
    })
    const get = () => sendAs(auth, agent, clock, { method: 'GET', path: '/api/agent' })
    await expectRefusal(auth, get, { ...NOBODY, form: 'agent', says: /begins with a token request\.$/ })
    // An assertion that was used before does not bring it back.
    const replay = () => requestUrlToken(auth, agent, clock, { fields: { client_assertion: used } })
    await expectRefusal(auth, replay, { ...NOBODY, says: /used before/ })
    expect(await rowOf(agent.client_id)).toMatchObject({ status: 'deleted' })
    const again = await getUrlToken(other, agent, clock)
    await expect.poll(() => activeAt(again.token)).toEqual([true, true])
    expect(await activeAt(token)).toEqual([false, false])
  })

  test('expires without a trace if it is not used, and can begin again', async () => {
    const agent = publish()
    setBack(clock, 92 * 86_400)
    const { token } = await getUrlToken(auth, agent, clock)
    setBack(clock, 0)
    expect(await expire()).toBeGreaterThan(0)
    expect(await rowOf(agent.client_id)).toBeUndefined()
    const { rows } = await stores.db.query('select from expired_agents where id = $1', [agent.client_id])
    expect(rows).toEqual([])
    const again = await getUrlToken(other, agent, clock)
    expect(await activeAt(again.token)).toEqual([true, true])
    expect(await activeAt(token)).toEqual([false, false])
  })

  test('is expired by a flood if it never got a token', async () => {
    const agent = publish()
    setBack(clock, 3_700)
    const refused = await requestUrlToken(auth, agent, clock, { fields: { scope: 'contact:write' } })
    expect(refused.status).toBe(400)
    expect(await rowOf(agent.client_id)).toMatchObject({ last_used_at: null })
    setBack(clock, 0)
    await expire(0)
    expect(await rowOf(agent.client_id)).toBeUndefined()
    const { token } = await getUrlToken(auth, agent, clock)
    expect(await activeAt(token)).toEqual([true, true])
  })

  async function openSameStores() {
    const { redis } = stores
    const settings = { ...(await stores.settingsFor(auth.origin)), ...server.settings }
    return await openStores(loadConfig(settings), {
      log: silent,
      now: () => clock.now,
      redisTimeoutMs: 3_000,
      ...(redis && { redisPrefix: redis.prefix, revocation: redis.revocation }),
    })
  }
  /** Expires agents, as each instance does once a minute. */
  async function expire(neverUsed = 1_000): Promise<number> {
    await using opened = await openSameStores()
    return await expireAgents({ ...opened, events: createEvents() }, clock.now, neverUsed)
  }

  test('is disabled with its tokens at both instances when its domain is blocked, also if it begins meanwhile', async () => {
    await using opened = await openSameStores()
    const block = async () =>
      await blockDomain(
        opened,
        'other.clients.test',
        { by: { user: 'test', host: 'test' }, reason: 'test' },
        clock.now,
      )
    const known = publish({ host: 'other.clients.test' })
    const { token } = await getUrlToken(auth, known, clock)
    await getUrlToken(other, known, clock)
    const beginning = Array.from({ length: 12 }, () => publish({ host: 'other.clients.test' }))
    const requests = beginning.map((agent, n) => requestUrlToken(n % 2 ? auth : other, agent, clock))
    const [responses] = await Promise.all([Promise.all(requests), block()])
    expect(await activeAt(token)).toEqual([false, false])
    for (const [n, { status, text }] of responses.entries()) {
      const row = await rowOf(beginning[n]?.client_id ?? '')
      if (row) expect(row).toMatchObject({ status: 'disabled' })
      if (status !== 200) continue
      const { access_token } = JSON.parse(text) as { access_token: string }
      auth.confidential.add(access_token)
      expect(await activeAt(access_token)).toEqual([false, false])
    }
    await opened.urlClients.setBlocked(
      'unblock',
      'other.clients.test',
      { by: { user: 'test', host: 'test' }, reason: 'test' },
      clock.now,
    )
    expect((await requestUrlToken(auth, publish({ host: 'other.clients.test' }), clock)).status).toBe(200)
  })

  test('a block waits for an agent that is about to be stored', async () => {
    await using opened = await openSameStores()
    const by = { by: { user: 'test', host: 'test' }, reason: 'test' }
    const id = publish({ host: 'third.clients.test' }).client_id as AgentId
    const key = { ...keys[0].jwk, alg: 'ES256', use: 'sig' } as AgentKey
    const expiresAt = new Date(clock.now.getTime() + DAY_MS)
    const waiting = async () =>
      (
        await stores.db.query(`select from pg_locks join pg_database on pg_database.oid = database
            where locktype = 'advisory' and not granted and datname = current_database()`)
      ).rowCount
    let blocked: Promise<unknown> = Promise.resolve()
    const begun = await opened.urlClients.activate(
      id,
      { keys: [key], dpopBound: false, fetchedAt: clock.now, expiresAt },
      { clientId: id, jti: 'a block waits', key, expiresAt },
      async () => {
        blocked = opened.urlClients.setBlocked('block', 'third.clients.test', by, clock.now)
        await expect.poll(waiting, { interval: 10, timeout: 400 }).toBeGreaterThan(0)
      },
    )
    expect(begun.ok).toBe(true)
    await blocked
    expect(await opened.urlClients.listByDomain('third.clients.test', 10)).toEqual([id])
    await opened.urlClients.setBlocked('unblock', 'third.clients.test', by, clock.now)
  })

  test('no document that was requested before the stored one replaces it', async () => {
    const agent = publish()
    await getUrlToken(auth, agent, clock)
    await using opened = await openSameStores()
    const expiresAt = new Date(clock.now.getTime() + DAY_MS)
    const older = { keys: [], dpopBound: false, fetchedAt: new Date(clock.now.getTime() - 1), expiresAt }
    const kept = await opened.urlClients.refresh(agent.client_id as AgentId, older, async () => undefined)
    expect(kept).toMatchObject({ isOlder: true, keys: [{ kid: keys[0].jwk.kid }] })
  })

  test('stays refused while it is disabled, and its document is not fetched', async () => {
    const agent = publish()
    setBack(clock, DAY_MS / 1000)
    await getUrlToken(auth, agent, clock)
    await stores.db.query(
      `update agents set status = 'disabled', generation = generation + 1 where id = $1`,
      [agent.client_id],
    )
    const fetched = agent.fetched()
    for (const seconds of [DAY_MS / 1000, 0]) {
      setBack(clock, seconds)
      await expect.poll(async () => (await requestUrlToken(auth, agent, clock)).status).toBe(401)
      await expectRefusal(auth, () => requestUrlToken(auth, agent, clock), UNPROVEN)
    }
    expect(agent.fetched()).toBe(fetched)
    await stores.db.query(`update agents set status = 'active' where id = $1`, [agent.client_id])
    await expect.poll(async () => (await requestUrlToken(auth, agent, clock)).status).toBe(200)
  })

  test.for([
    ['PUT', '/api/agent/jwks', true],
    ['POST', '/api/agent/secrets', false],
    ['DELETE', '/api/agent/secrets/6f6c0f0e-6f2b-4d1c-9a5e-2a9d1f6f3b10', false],
  ] as const)('is refused with the advice to change its document: %s %s', async ([method, path, hasKeys]) => {
    const agent = publish()
    await getUrlToken(auth, agent, clock)
    const request = () =>
      sendAs(auth, agent, clock, { method, path, ...(hasKeys && { body: { keys: [keys[1].jwk] } }) })
    const before = await rowOf(agent.client_id)
    await expectConflict(await request())
    expect(await rowOf(agent.client_id)).toEqual(before)
  })
  async function expectConflict(response: { status: number; text: string }) {
    expect(response.status, response.text).toBe(409)
    expect(JSON.parse(response.text)).toMatchObject({
      code: 'client-has-document',
      detail: expect.stringMatching(/Change the keys in your document/),
    })
  }
})
