import { type AgentId, type AgentKey, DAY_MS } from '@plainpath/domain'
import { waitForBlockedSessions } from '@plainpath/postgres/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expireAgents } from '../src/agents/agent-expiry.ts'
import { blockDomain } from '../src/agents/block-domain.ts'
import { createEvents } from '../src/events.ts'
import { isActive } from './agent-client.ts'
import { type AgentDocuments, createDocument, startAgentDocuments, type UrlAgent } from './agent-documents.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { countStored, expectProblem, expectRefusal, INVALID_CLIENT, type Refusal } from './expect-refusal.ts'
import { generateTestKeyPair, type KeyPair } from './key-agent.ts'
import { type AuthTestbed, openAuthTestbed, TOKEN_STORES } from './open-auth-testbed.ts'
import { parseSecurityEvents } from './parse-security-events.ts'
import type { RunningAuth } from './start-auth.ts'
import {
  type Clock,
  getUrlToken,
  openUrlStores,
  postFormAsUrlClient,
  requestUrlToken,
  sendAsAgent,
  setClockBack,
  signAssertionByClock,
  startUrlInstance,
} from './url-agent.ts'

const UNPROVEN: Refusal = { ...INVALID_CLIENT, says: /^The signature cannot be verified/ }
const UNUSABLE: Refusal = { ...INVALID_CLIENT, says: /^There is no usable document at your client_id/ }
const AUDIT = { actor: { user: 'test', host: 'test' }, reason: 'test' }
/** More than half of the hour for which a document is valid by default, so a token request causes another fetch. */
const REFETCH_AGE_SECONDS = 1_900

describe.for(TOKEN_STORES)('a URL client, tokens in %s,', (tokenStore) => {
  const resources = new AsyncDisposableStack()
  let agentDocuments: AgentDocuments
  let testbed: AuthTestbed
  let auth: RunningAuth
  let otherInstance: RunningAuth
  let keys: readonly [KeyPair, KeyPair]
  let clock: Clock
  beforeAll(async () => {
    clock = { now: new Date() }
    agentDocuments = resources.use(await startAgentDocuments())
    testbed = resources.use(await openAuthTestbed(tokenStore))
    auth = resources.use(await startUrlInstance(testbed, agentDocuments, clock))
    otherInstance = resources.use(
      await startUrlInstance(testbed, agentDocuments, clock, { origin: auth.origin }),
    )
    keys = [await generateTestKeyPair(), await generateTestKeyPair('Ed25519')]
  })
  afterAll(async () => {
    await expectNoConfidentialValues(auth)
    await resources.disposeAsync()
  })

  const publish = (options: Parameters<AgentDocuments['publish']>[1] = {}) =>
    agentDocuments.publish([keys[0]], options)
  const findAgentRow = async (id: string) =>
    (await testbed.db.query('select * from agents where id = $1', [id])).rows[0]
  const isActiveAtEachInstance = (token: string) =>
    Promise.all([isActive(auth, token), isActive(otherInstance, token)])
  const revokeAs = (agent: UrlAgent, token: string, instance = auth) =>
    postFormAsUrlClient(instance, agent, clock, { path: '/oauth/revoke', fields: { token } })

  test('gets its first token without registration, and later tokens without another fetch', async () => {
    const agent = publish()
    const storedBefore = await countStored(auth)
    const first = await getUrlToken(auth, agent, clock)
    expect(first).toMatchObject({ expiresIn: 3600, scope: 'guides:read waitlist:write' })
    expect(agent.countFetches()).toBe(1)
    expect(await isActiveAtEachInstance(first.token)).toEqual([true, true])
    const storedAfter = await countStored(auth)
    expect(storedAfter['agents']).toBe((storedBefore['agents'] ?? 0) + 1)
    const second = await getUrlToken(auth, agent, clock)
    const third = await getUrlToken(otherInstance, agent, clock)
    expect(agent.countFetches()).toBe(1)
    for (const { token } of [first, second, third])
      expect(await isActiveAtEachInstance(token)).toEqual([true, true])
  })

  test('is stored with its URL and keys, without the name in its document', async () => {
    const agent = publish()
    await getUrlToken(auth, agent, clock)
    const row = (await findAgentRow(agent.client_id)) ?? {}
    expect(row).toMatchObject({ id: agent.client_id, name_sealed: null, status: 'active' })
    expect(row['jwks']).toEqual([{ ...keys[0].jwk, alg: 'ES256', use: 'sig' }])
    expect(JSON.stringify(row)).not.toContain('Canary')
  })

  test('is described by its URL, without a name', async () => {
    const agent = publish()
    await getUrlToken(auth, agent, clock)
    const response = await sendAsAgent(auth, agent, clock, { method: 'GET', path: '/api/agent' })
    expect(response.status, response.text).toBe(200)
    const body = JSON.parse(response.text) as Record<string, unknown>
    expect(body).toMatchObject({
      client_id: agent.client_id,
      token_endpoint_auth_method: 'private_key_jwt',
      identity_type: 'anonymous',
    })
    expect(body).not.toHaveProperty('client_name')
  })

  test('may have a URL of 255 characters with unusual characters', async () => {
    const path = "/a%20b%C3%A9%/c:d@e;f=g,h!i$j&k'l(m)*n+~_-.|[]?q={x}^|%00&y=%ff:%2F%23"
    // The default hostname of `publish`, with its port.
    const host = agentDocuments.settings.AUTH_CLIENT_DOCUMENT_TEST_HOSTS.split(',')[1]
    const paddingLength = 255 - `https://${host}`.length - path.length
    const agent = publish({ path: path + 'z'.repeat(paddingLength) })
    expect(agent.client_id).toHaveLength(255)
    const { token } = await getUrlToken(auth, agent, clock)
    expect(await isActiveAtEachInstance(token)).toEqual([true, true])
    const revokeResponse = await revokeAs(agent, token, otherInstance)
    expect(revokeResponse.status, revokeResponse.text).toBe(200)
    expect(await isActiveAtEachInstance(token)).toEqual([false, false])
    expect(agent.countFetches()).toBe(1)
  })

  test('gets an active token for each of its simultaneous first requests', async () => {
    const agent = publish()
    const responses = await Promise.all(
      [auth, otherInstance, auth, otherInstance].map((each) => getUrlToken(each, agent, clock)),
    )
    for (const { token } of responses) expect(await isActiveAtEachInstance(token)).toEqual([true, true])
  })

  test('gets a token at an instance that has cached it as unknown', async () => {
    const agent = publish()
    const refusedResponse = await revokeAs(agent, 'x')
    expect(refusedResponse.status, refusedResponse.text).toBe(401)
    await getUrlToken(otherInstance, agent, clock)
    const { token } = await getUrlToken(auth, agent, clock)
    expect(await isActiveAtEachInstance(token)).toEqual([true, true])
  })

  test('can use an added key after its document was fetched again', async () => {
    const agent = publish()
    setClockBack(clock, REFETCH_AGE_SECONDS)
    await getUrlToken(auth, agent, clock)
    agent.setKeys(...keys)
    await expectRefusal(auth, () => requestUrlToken(auth, { ...agent, key: keys[1] }, clock), UNPROVEN)
    setClockBack(clock, 0)
    const { token } = await getUrlToken(auth, { ...agent, key: keys[1] }, clock)
    expect(agent.countFetches()).toBe(2)
    expect(await isActiveAtEachInstance(token)).toEqual([true, true])
  })

  test('loses its tokens at both instances when the document is fetched again without one of its keys', async () => {
    const agent = publish()
    agent.setKeys(...keys)
    setClockBack(clock, REFETCH_AGE_SECONDS)
    const { token } = await getUrlToken(auth, agent, clock)
    await getUrlToken(otherInstance, agent, clock)
    agent.setKeys(keys[1])
    const linesBefore = auth.logged.length
    setClockBack(clock, 0)
    expect(await isActiveAtEachInstance(token)).toEqual([true, true])
    await expectRefusal(auth, () => requestUrlToken(auth, agent, clock), UNPROVEN)
    expect(await isActiveAtEachInstance(token)).toEqual([false, false])
    expect(parseSecurityEvents(auth.logged.slice(linesBefore))).toEqual([
      { event: 'document-changed', client_id: agent.client_id, verified_domain: 'agents.clients.test' },
    ])
    await expectRefusal(otherInstance, () => requestUrlToken(otherInstance, agent, clock), UNPROVEN)
    const newToken = await getUrlToken(otherInstance, { ...agent, key: keys[1] }, clock)
    expect(await isActiveAtEachInstance(newToken.token)).toEqual([true, true])
  })

  test('loses its tokens when the document has no keys any more, and the refusal names the mistake', async () => {
    const agent = publish()
    setClockBack(clock, REFETCH_AGE_SECONDS)
    const { token } = await getUrlToken(auth, agent, clock)
    agent.setDocument({ ...createDocument(agent.client_id, []), jwks: { keys: [] } })
    setClockBack(clock, 0)
    await expectRefusal(auth, () => requestUrlToken(auth, agent, clock), { ...INVALID_CLIENT, says: /jwks/ })
    expect(await isActiveAtEachInstance(token)).toEqual([false, false])
  })

  test('gets no token that outlasts the stored document', async () => {
    const agent = publish({ maxAge: 600 })
    const present = Date.now()
    // The document is fetched 892 s before `present`, and is valid until 292 s before it.
    setClockBack(clock, 892, present)
    expect((await getUrlToken(auth, agent, clock)).expiresIn).toBe(600)
    // 300.5 s remain, more than half of the document's lifetime.
    setClockBack(clock, 592.5, present)
    expect((await getUrlToken(auth, agent, clock)).expiresIn).toBe(300)
    expect(agent.countFetches()).toBe(1)
    // 298 s remain, less than half, so the document is fetched again. It is then valid until 10 s after `present`.
    setClockBack(clock, 590, present)
    expect((await getUrlToken(auth, agent, clock)).expiresIn).toBe(600)
    expect(agent.countFetches()).toBe(2)
    // The document cannot be fetched any more, but the stored one is valid for another 10 s.
    agent.setDocument(undefined)
    setClockBack(clock, 0, present)
    const lastToken = await getUrlToken(auth, agent, clock)
    expect(lastToken.expiresIn).toBe(10)
    expect(await isActiveAtEachInstance(lastToken.token)).toEqual([true, true])
    // One minute later, the document and its last token have expired.
    setClockBack(clock, -60, present)
    expect(await isActiveAtEachInstance(lastToken.token)).toEqual([false, false])
    await expectRefusal(auth, () => requestUrlToken(auth, agent, clock), UNUSABLE)
    // Another client, whose document can be fetched, still gets a token.
    expect((await getUrlToken(auth, publish(), clock)).expiresIn).toBe(3600)
    setClockBack(clock, 0)
  })

  test('with a document that is valid for a day causes another fetch in the last hour of that day', async () => {
    const agent = publish({ maxAge: 86_400 })
    // From here on, the document has 86,400 s left, then 4,400 s, and at the end 1,400 s, which is less than an hour.
    setClockBack(clock, 85_000)
    await getUrlToken(auth, agent, clock)
    setClockBack(clock, 3_000)
    expect((await getUrlToken(auth, agent, clock)).expiresIn).toBe(3600)
    expect(agent.countFetches()).toBe(1)
    setClockBack(clock, 0)
    expect((await getUrlToken(auth, agent, clock)).expiresIn).toBe(3600)
    expect(agent.countFetches()).toBe(2)
  })

  test('can revoke its own token, but not that of another client', async () => {
    const [agent, stranger] = [publish(), publish()]
    const { token } = await getUrlToken(auth, agent, clock)
    await getUrlToken(auth, stranger, clock)
    const refusedResponse = await revokeAs(stranger, token)
    expectProblem(refusedResponse, { status: 400, code: 'foreign-token' })
    expect(await isActiveAtEachInstance(token)).toEqual([true, true])
    const revokeResponse = await revokeAs(agent, token)
    expect(revokeResponse.status, revokeResponse.text).toBe(200)
    expect(await isActiveAtEachInstance(token)).toEqual([false, false])
  })

  test('is deleted by DELETE /api/agent, and is active again only after a token request with a new assertion', async () => {
    const agent = publish()
    const { token } = await getUrlToken(auth, agent, clock)
    const usedAssertion = await signAssertionByClock(auth, agent, clock)
    await requestUrlToken(auth, agent, clock, { fields: { client_assertion: usedAssertion } })
    const deleteResponse = await sendAsAgent(auth, agent, clock, { method: 'DELETE', path: '/api/agent' })
    expect(deleteResponse.status, deleteResponse.text).toBe(204)
    expect(await isActiveAtEachInstance(token)).toEqual([false, false])
    expect(await findAgentRow(agent.client_id)).toMatchObject({
      status: 'deleted',
      jwks: null,
      document_expires_at: null,
    })
    const get = () => sendAsAgent(auth, agent, clock, { method: 'GET', path: '/api/agent' })
    await expectRefusal(auth, get, {
      ...INVALID_CLIENT,
      errorFormat: 'agent',
      says: /begins with a token request\.$/,
    })
    // A used assertion does not add the client again.
    const replay = () => requestUrlToken(auth, agent, clock, { fields: { client_assertion: usedAssertion } })
    await expectRefusal(auth, replay, { ...INVALID_CLIENT, says: /used before/ })
    expect(await findAgentRow(agent.client_id)).toMatchObject({ status: 'deleted' })
    const newToken = await getUrlToken(otherInstance, agent, clock)
    await expect.poll(() => isActiveAtEachInstance(newToken.token)).toEqual([true, true])
    expect(await isActiveAtEachInstance(token)).toEqual([false, false])
  })

  test('expires without a row in expired_agents if it is not used, and can begin again', async () => {
    const agent = publish()
    // An agent expires at most 91 days after its last token: 90, and one because its use is recorded at most once a day.
    setClockBack(clock, 92 * 86_400)
    const { token } = await getUrlToken(auth, agent, clock)
    setClockBack(clock, 0)
    expect(await expire()).toBeGreaterThan(0)
    expect(await findAgentRow(agent.client_id)).toBeUndefined()
    const { rows } = await testbed.db.query('select from expired_agents where id = $1', [agent.client_id])
    expect(rows).toEqual([])
    const newToken = await getUrlToken(otherInstance, agent, clock)
    expect(await isActiveAtEachInstance(newToken.token)).toEqual([true, true])
    expect(await isActiveAtEachInstance(token)).toEqual([false, false])
  })

  test('expires after an hour in a flood of registrations if it never got a token', async () => {
    const agent = publish()
    // Over an hour ago, because a new registration is safe from expiry for an hour.
    setClockBack(clock, 3_700)
    const refusedResponse = await requestUrlToken(auth, agent, clock, { fields: { scope: 'contact:write' } })
    expect(refusedResponse.status).toBe(400)
    expect(await findAgentRow(agent.client_id)).toMatchObject({ last_used_at: null })
    setClockBack(clock, 0)
    await expire(0)
    expect(await findAgentRow(agent.client_id)).toBeUndefined()
    const { token } = await getUrlToken(auth, agent, clock)
    expect(await isActiveAtEachInstance(token)).toEqual([true, true])
  })

  const openSharedStores = () => openUrlStores(testbed, auth, agentDocuments, clock)

  /**
   * Expires agents, as the upkeep of each instance does.
   *
   * @param maxNeverUsed the maximum number of agents that never received a token
   */
  async function expire(maxNeverUsed = 1_000): Promise<number> {
    await using openedStores = await openSharedStores()
    return await expireAgents({ ...openedStores, events: createEvents() }, clock.now, maxNeverUsed)
  }

  test('is disabled and loses its tokens at both instances when its domain is blocked, and so is each client whose first request arrives during the block', async () => {
    await using openedStores = await openSharedStores()
    const block = () => blockDomain(openedStores, 'other.clients.test', AUDIT, clock.now)
    const earlierAgent = publish({ hostname: 'other.clients.test' })
    const { token } = await getUrlToken(auth, earlierAgent, clock)
    await getUrlToken(otherInstance, earlierAgent, clock)
    const newAgents = Array.from({ length: 12 }, () => publish({ hostname: 'other.clients.test' }))
    const requests = newAgents.map((agent, n) => requestUrlToken(n % 2 ? auth : otherInstance, agent, clock))
    const [responses] = await Promise.all([Promise.all(requests), block()])
    expect(await isActiveAtEachInstance(token)).toEqual([false, false])
    for (const [n, { status, text }] of responses.entries()) {
      const row = await findAgentRow(newAgents[n]?.client_id ?? '')
      if (row) expect(row).toMatchObject({ status: 'disabled' })
      if (status !== 200) continue
      const { access_token } = JSON.parse(text) as { access_token: string }
      auth.confidential.add(access_token)
      expect(await isActiveAtEachInstance(access_token)).toEqual([false, false])
    }
    await openedStores.urlClients.setBlocked('unblock', 'other.clients.test', AUDIT, clock.now)
    expect((await requestUrlToken(auth, publish({ hostname: 'other.clients.test' }), clock)).status).toBe(200)
  })

  test('is listed for a block that began while the client was being stored, because the block waits for the commit', async () => {
    await using openedStores = await openSharedStores()
    const id = publish({ hostname: 'third.clients.test' }).client_id as AgentId
    const key = { ...keys[0].jwk, alg: 'ES256', use: 'sig' } as AgentKey
    const expiresAt = new Date(clock.now.getTime() + DAY_MS)
    let blocking: Promise<unknown> = Promise.resolve()
    const activation = await openedStores.urlClients.activate(
      id,
      { keys: [key], dpopBound: false, fetchedAt: clock.now, expiresAt },
      { clientId: id, jti: 'a block waits', key, expiresAt },
      async () => {
        blocking = openedStores.urlClients.setBlocked('block', 'third.clients.test', AUDIT, clock.now)
        // The block gives up after the lock timeout of 0.5 s, so the test must not wait longer than that.
        await waitForBlockedSessions(testbed.db, 1, 400)
      },
    )
    expect(activation.ok).toBe(true)
    await blocking
    expect(await openedStores.urlClients.listByDomain('third.clients.test', 10)).toEqual([id])
    await openedStores.urlClients.setBlocked('unblock', 'third.clients.test', AUDIT, clock.now)
  })

  test('ignores a document that was requested before the stored one', async () => {
    const agent = publish()
    await getUrlToken(auth, agent, clock)
    await using openedStores = await openSharedStores()
    const expiresAt = new Date(clock.now.getTime() + DAY_MS)
    const fetchedAt = new Date(clock.now.getTime() - 1)
    const olderDocument = { keys: [], dpopBound: false, fetchedAt, expiresAt }
    const id = agent.client_id as AgentId
    const refreshed = await openedStores.urlClients.refresh(id, olderDocument, async () => undefined)
    expect(refreshed).toMatchObject({ isDocumentIgnored: true, keys: [{ kid: keys[0].jwk.kid }] })
  })

  test('stays refused while it is disabled, and its document is not fetched', async () => {
    const agent = publish()
    setClockBack(clock, DAY_MS / 1000)
    await getUrlToken(auth, agent, clock)
    await testbed.db.query(
      `update agents set status = 'disabled', generation = generation + 1 where id = $1`,
      [agent.client_id],
    )
    const fetchesBefore = agent.countFetches()
    // At the second time, the stored document has expired, so an enabled client would cause another fetch.
    for (const secondsAgo of [DAY_MS / 1000, 0]) {
      setClockBack(clock, secondsAgo)
      await expect.poll(async () => (await requestUrlToken(auth, agent, clock)).status).toBe(401)
      await expectRefusal(auth, () => requestUrlToken(auth, agent, clock), UNPROVEN)
    }
    expect(agent.countFetches()).toBe(fetchesBefore)
    await testbed.db.query(`update agents set status = 'active' where id = $1`, [agent.client_id])
    await expect.poll(async () => (await requestUrlToken(auth, agent, clock)).status).toBe(200)
  })
})
