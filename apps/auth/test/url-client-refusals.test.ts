import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { basicAuth } from './agent-client.ts'
import { type AgentDocuments, createDocument, startAgentDocuments, type UrlAgent } from './agent-documents.ts'
import { createDpopProof, PROOF_REQUIRED } from './dpop-client.ts'
import { expectProblem, expectRefusal, INVALID_CLIENT, type Refusal } from './expect-refusal.ts'
import { generateTestKeyPair, type KeyPair } from './key-agent.ts'
import { type AuthTestbed, openAuthTestbed } from './open-auth-testbed.ts'
import { type HttpResponse, send } from './send.ts'
import type { RunningAuth } from './start-auth.ts'
import {
  type Clock,
  getUrlToken,
  requestUrlToken,
  sendAsAgent,
  setClockBack,
  startUrlInstance,
} from './url-agent.ts'

const UNPROVEN: Refusal = { ...INVALID_CLIENT, says: /^The signature cannot be verified/ }
const UNUSABLE: Refusal = { ...INVALID_CLIENT, says: /^There is no usable document at your client_id/ }

const resources = new AsyncDisposableStack()
let agentDocuments: AgentDocuments
let testbed: AuthTestbed
let auth: RunningAuth
let keys: readonly [KeyPair, KeyPair]
const clock: Clock = { now: new Date() }
beforeAll(async () => {
  agentDocuments = resources.use(await startAgentDocuments())
  testbed = resources.use(await openAuthTestbed())
  auth = resources.use(await startUrlInstance(testbed, agentDocuments, clock))
  keys = [await generateTestKeyPair(), await generateTestKeyPair('Ed25519')]
})
afterAll(() => resources.disposeAsync())

const publish = () => agentDocuments.publish([keys[0]])
const findAgentRow = async (id: string) =>
  (await testbed.db.query('select * from agents where id = $1', [id])).rows[0]

describe('a URL client is refused, with nothing stored and no needless fetch, for', () => {
  const cases: readonly {
    title: string
    request: (agent: UrlAgent) => Promise<HttpResponse>
    refusal: Refusal
    /** How many times the document must be fetched. The default is 0. */
    fetches?: number
  }[] = [
    {
      title: 'a signature of another key',
      request: (agent) => requestUrlToken(auth, { ...agent, key: keys[1] }, clock),
      refusal: UNPROVEN,
      fetches: 1,
    },
    {
      title: 'another issuer',
      request: (agent) => requestUrlToken(auth, agent, clock, { claims: { iss: 'agt_1' } }),
      refusal: { ...INVALID_CLIENT, says: /iss and sub/ },
    },
    {
      title: 'another audience',
      request: (agent) => requestUrlToken(auth, agent, clock, { claims: { aud: 'https://evil.example' } }),
      refusal: { ...INVALID_CLIENT, says: /aud/ },
    },
    {
      title: 'an expired assertion',
      request: (agent) => requestUrlToken(auth, agent, clock, { claims: { iat: 1, exp: 2 } }),
      refusal: { ...INVALID_CLIENT, says: /expired/ },
    },
    {
      title: 'another client_id in the form',
      request: (agent) =>
        requestUrlToken(auth, agent, clock, { fields: { client_id: `${agent.client_id}x` } }),
      refusal: { status: 400, code: 'invalid-request' },
    },
    {
      title: 'no assertion',
      request: (agent) =>
        send(auth.url, {
          method: 'POST',
          path: '/oauth/token',
          body: new URLSearchParams({ grant_type: 'client_credentials', client_id: agent.client_id }),
        }),
      refusal: INVALID_CLIENT,
    },
    {
      title: 'text that is not an assertion',
      request: (agent) =>
        requestUrlToken(auth, agent, clock, {
          fields: { client_id: agent.client_id, client_assertion: 'a.b.c' },
        }),
      refusal: INVALID_CLIENT,
    },
    ...(
      [
        ['percent-encoded', (id: string) => encodeURIComponent(id)],
        ['as it is', (id: string) => id],
      ] as const
    ).map(([spelling, encode]) => ({
      title: `HTTP Basic with the URL ${spelling}`,
      request: (agent: UrlAgent) =>
        send(auth.url, {
          method: 'POST',
          path: '/oauth/token',
          headers: basicAuth(encode(agent.client_id), 'secret'),
          body: new URLSearchParams({ grant_type: 'client_credentials' }),
        }),
      refusal: { ...INVALID_CLIENT, says: /known by a URL has no secret/ },
    })),
    {
      title: 'a secret in the form',
      request: (agent) =>
        send(auth.url, {
          method: 'POST',
          path: '/oauth/token',
          body: new URLSearchParams({
            grant_type: 'client_credentials',
            client_id: agent.client_id,
            client_secret: 'secret',
          }),
        }),
      refusal: { ...INVALID_CLIENT, says: /known by a URL has no secret/ },
    },
    ...(
      [
        ['http', (id: string) => id.replace('https:', 'http:')],
        ['a host in capitals', (id: string) => id.replace('agents', 'AGENTS')],
        ['dot segments', (id: string) => id.replace(/\/([^/]+)$/, '/x/../$1')],
        ['a fragment', (id: string) => `${id}#x`],
        ['credentials', (id: string) => id.replace('//', '//user@')],
        ['no path', (id: string) => new URL(id).origin],
        // One character more than an id may have. The assertion's `sub` is then too long.
        ['256 characters', (id: string) => id.padEnd(256, 'z')],
      ] as const
    ).map(([feature, change]) => ({
      title: `a URL with ${feature}`,
      request: (agent: UrlAgent) =>
        requestUrlToken(auth, { ...agent, client_id: change(agent.client_id) }, clock),
      refusal: { ...INVALID_CLIENT, says: feature === '256 characters' ? /sub/ : /begins with https/ },
    })),
    {
      title: 'a missing document',
      request: (agent) => {
        agent.setDocument(undefined)
        return requestUrlToken(auth, agent, clock)
      },
      refusal: UNUSABLE,
      fetches: 1,
    },
    {
      title: 'a document of another client',
      request: (agent) => {
        agent.setDocument(createDocument(`${agent.client_id}x`, [keys[0]]))
        return requestUrlToken(auth, agent, clock)
      },
      refusal: UNUSABLE,
      fetches: 1,
    },
    ...(['GET', 'DELETE'] as const).map((method) => ({
      title: `${method} /api/agent before any token request`,
      request: (agent: UrlAgent) => sendAsAgent(auth, agent, clock, { method, path: '/api/agent' }),
      refusal: { ...INVALID_CLIENT, errorFormat: 'agent' as const, says: /begins with a token request\.$/ },
    })),
  ]
  test.for(cases)('$title', async ({ request, refusal, fetches = 0 }) => {
    const agent = publish()
    await expectRefusal(auth, () => request(agent), refusal)
    expect(await findAgentRow(agent.client_id)).toBeUndefined()
    expect(agent.countFetches()).toBe(fetches)
  })
})

test('a URL client with a valid assertion and a valid document gets a token', async () => {
  expect((await requestUrlToken(auth, publish(), clock)).status).toBe(200)
})

describe('an address has a limit for', () => {
  const rateLimited = (policy: string): Refusal => ({
    status: 429,
    code: 'rate-limited',
    error: 'rate_limited',
    says: new RegExp(policy),
    headers: { 'retry-after': /^[1-9]\d*$/ },
  })
  const groupStatuses = (responses: readonly HttpResponse[]) =>
    Object.groupBy(
      responses.map(({ status }) => status),
      (status) => String(status),
    )

  test('new URL clients and for fetched documents, but not for requests of known clients', async () => {
    await using limitedAuth = await startUrlInstance(testbed, agentDocuments, clock, {
      env: { AUTH_LIMITS_FACTOR: '1' },
    })
    // An address may add 20 new clients in ten minutes, and cause 30 fetches of documents in a minute.
    const knownClient = publish()
    expect((await requestUrlToken(limitedAuth, knownClient, clock)).status).toBe(200)
    const responses: HttpResponse[] = []
    // `knownClient` was the first of the 20, so 19 of these requests get a token.
    for (let n = 0; n < 21; n += 1) responses.push(await requestUrlToken(limitedAuth, publish(), clock))
    expect(groupStatuses(responses)).toMatchObject({ 200: { length: 19 }, 429: { length: 2 } })
    const newClient = publish()
    const tooMany = await requestUrlToken(limitedAuth, newClient, clock)
    expectProblem(tooMany, rateLimited('register-address'))
    expect(await findAgentRow(newClient.client_id)).toBeUndefined()
    const requestWithWrongKey = async () =>
      await requestUrlToken(limitedAuth, { ...publish(), key: keys[1] }, clock)
    // With the 23 documents that were fetched above, these use up the limit of 30.
    for (let n = 0; n < 7; n += 1) expectProblem(await requestWithWrongKey(), UNPROVEN)
    const lastClient = publish()
    expectProblem(await requestUrlToken(limitedAuth, lastClient, clock), rateLimited('document-address'))
    expect(lastClient.countFetches()).toBe(0)
    expect((await requestUrlToken(limitedAuth, knownClient, clock)).status).toBe(200)
  })
})

test('a client needs a DPoP proof if its document requires one, even if only a later version of the document does', async () => {
  setClockBack(clock, 0)
  const createBoundDocument = (agent: UrlAgent) => ({
    ...createDocument(agent.client_id, keys),
    dpop_bound_access_tokens: true,
  })
  const agent = agentDocuments.publish([keys[0]], { maxAge: 300 })
  agent.setDocument(createBoundDocument(agent))
  expectProblem(await requestUrlToken(auth, agent, clock), PROOF_REQUIRED)
  const provenResponse = await requestUrlToken(auth, agent, clock, {
    headers: { dpop: await createDpopProof(auth, keys[0]) },
  })
  expect(JSON.parse(provenResponse.text)).toMatchObject({ token_type: 'DPoP' })

  // The first version of this document expires after 300 s, so the request at the end fetches the second version.
  const agentBoundLater = agentDocuments.publish([keys[0]], { maxAge: 300 })
  setClockBack(clock, 301)
  await getUrlToken(auth, agentBoundLater, clock)
  agentBoundLater.setDocument(createBoundDocument(agentBoundLater))
  setClockBack(clock, 0)
  expectProblem(await requestUrlToken(auth, agentBoundLater, clock), PROOF_REQUIRED)
})

test.for([
  ['PUT', '/api/agent/jwks', true],
  ['POST', '/api/agent/secrets', false],
  ['DELETE', '/api/agent/secrets/6f6c0f0e-6f2b-4d1c-9a5e-2a9d1f6f3b10', false],
] as const)(
  'a URL client is advised to change its document instead: %s %s',
  async ([method, path, sendsKeys]) => {
    const agent = publish()
    await getUrlToken(auth, agent, clock)
    const rowBefore = await findAgentRow(agent.client_id)
    const body = sendsKeys ? { keys: [keys[1].jwk] } : undefined
    const response = await sendAsAgent(auth, agent, clock, { method, path, body })
    expect(response.status, response.text).toBe(409)
    expect(JSON.parse(response.text)).toMatchObject({
      code: 'client-has-document',
      detail: expect.stringMatching(/Change the keys in your document/),
    })
    expect(await findAgentRow(agent.client_id)).toEqual(rowBefore)
  },
)
