import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { basic } from './agent-client.ts'
import { type DocumentServer, documentOf, startDocumentServer } from './document-server.ts'
import { dpopProof, PROOF_REQUIRED } from './dpop-client.ts'
import { expectProblem, expectRefusal, type Refusal } from './expect-refusal.ts'
import { type KeyPair, newKey } from './key-agent.ts'
import { type AuthStores, openAuthStores } from './open-auth-stores.ts'
import { type HttpResponse, send } from './send.ts'
import type { RunningAuth } from './start-auth.ts'
import { type Clock, getUrlToken, requestUrlToken, sendAs, setBack, startUrlInstance } from './url-agent.ts'

const NOBODY: Refusal = { status: 401, code: 'invalid-client', error: 'invalid_client' }
const UNPROVEN: Refusal = { ...NOBODY, says: /^The signature cannot be verified/ }
const UNUSABLE: Refusal = { ...NOBODY, says: /^There is no usable document at your client_id/ }

const resources = new AsyncDisposableStack()
let server: DocumentServer
let stores: AuthStores
let auth: RunningAuth
let keys: readonly [KeyPair, KeyPair]
const clock: Clock = { now: new Date() }
beforeAll(async () => {
  server = resources.use(await startDocumentServer())
  stores = resources.use(await openAuthStores())
  auth = resources.use(await startUrlInstance(stores, server, clock))
  keys = [await newKey(), await newKey('Ed25519')]
})
afterAll(() => resources.disposeAsync())

const publish = () => server.publish([keys[0]])
const rowOf = async (id: string) =>
  (await stores.db.query('select * from agents where id = $1', [id])).rows[0]

describe('a client that is known by a URL is refused, with nothing stored, for', () => {
  const cases: readonly {
    why: string
    request: (agent: ReturnType<typeof publish>) => Promise<Awaited<ReturnType<typeof requestUrlToken>>>
    as: Refusal
    fetches?: number
  }[] = [
    {
      why: 'a signature of another key',
      request: (agent) => requestUrlToken(auth, { ...agent, key: keys[1] }, clock),
      as: UNPROVEN,
      fetches: 1,
    },
    {
      why: 'another issuer, unfetched',
      request: (agent) => requestUrlToken(auth, agent, clock, { claims: { iss: 'agt_1' } }),
      as: { ...NOBODY, says: /iss and sub/ },
    },
    {
      why: 'another audience, unfetched',
      request: (agent) => requestUrlToken(auth, agent, clock, { claims: { aud: 'https://evil.example' } }),
      as: { ...NOBODY, says: /aud/ },
    },
    {
      why: 'an expired assertion, unfetched',
      request: (agent) => requestUrlToken(auth, agent, clock, { claims: { iat: 1, exp: 2 } }),
      as: { ...NOBODY, says: /expired/ },
    },
    {
      why: 'another client_id beside it, unfetched',
      request: (agent) =>
        requestUrlToken(auth, agent, clock, { fields: { client_id: `${agent.client_id}x` } }),
      as: { status: 400, code: 'invalid-request' },
    },
    {
      why: 'no assertion, unfetched',
      request: (agent) =>
        send(auth.url, {
          method: 'POST',
          path: '/oauth/token',
          body: new URLSearchParams({ grant_type: 'client_credentials', client_id: agent.client_id }),
        }),
      as: NOBODY,
    },
    {
      why: 'nonsense as assertion, unfetched',
      request: (agent) =>
        requestUrlToken(auth, agent, clock, {
          fields: { client_id: agent.client_id, client_assertion: 'a.b.c' },
        }),
      as: NOBODY,
    },
    ...[
      ['encoded', (id: string) => encodeURIComponent(id)],
      ['as it is', (id: string) => id],
    ].map(([how, encode]) => ({
      why: `HTTP Basic with the URL ${how as string}, unfetched`,
      request: (agent: ReturnType<typeof publish>) =>
        send(auth.url, {
          method: 'POST',
          path: '/oauth/token',
          headers: basic((encode as (id: string) => string)(agent.client_id), 'secret'),
          body: new URLSearchParams({ grant_type: 'client_credentials' }),
        }),
      as: { ...NOBODY, says: /known by a URL has no secret/ },
    })),
    {
      why: 'a secret in the form, unfetched',
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
      as: { ...NOBODY, says: /known by a URL has no secret/ },
    },
    ...[
      ['http', (id: string) => id.replace('https:', 'http:')],
      ['a host in capitals', (id: string) => id.replace('agents', 'AGENTS')],
      ['dot segments', (id: string) => id.replace(/\/([^/]+)$/, '/x/../$1')],
      ['a fragment', (id: string) => `${id}#x`],
      ['credentials', (id: string) => id.replace('//', '//user@')],
      ['no path', (id: string) => new URL(id).origin],
      ['256 characters', (id: string) => id.padEnd(256, 'z')],
    ].map(([what, change]) => ({
      why: `a URL with ${what as string}, unfetched`,
      request: (agent: ReturnType<typeof publish>) =>
        requestUrlToken(
          auth,
          { ...agent, client_id: (change as (id: string) => string)(agent.client_id) },
          clock,
        ),
      as: { ...NOBODY, says: what === '256 characters' ? /sub/ : /begins with https/ },
    })),
    {
      why: 'a document that is not there',
      request: (agent) => {
        agent.change(undefined)
        return requestUrlToken(auth, agent, clock)
      },
      as: UNUSABLE,
      fetches: 1,
    },
    {
      why: 'a document of another client',
      request: (agent) => {
        agent.change(documentOf(`${agent.client_id}x`, [keys[0]]))
        return requestUrlToken(auth, agent, clock)
      },
      as: UNUSABLE,
      fetches: 1,
    },
    ...(['GET', 'DELETE'] as const).map((method) => ({
      why: `${method} /api/agent before any token request, unfetched`,
      request: (agent: ReturnType<typeof publish>) =>
        sendAs(auth, agent, clock, { method, path: '/api/agent' }),
      as: { ...NOBODY, form: 'agent' as const, says: /begins with a token request\.$/ },
    })),
  ]
  test.for(cases)('$why', async ({ request, as, fetches = 0 }) => {
    const agent = publish()
    await expectRefusal(auth, () => request(agent), as)
    expect(await rowOf(agent.client_id)).toBeUndefined()
    expect(agent.fetched()).toBe(fetches)
    agent.changeKeys(keys[0])
  })
})

test('the same request with a sound assertion gets a token', async () => {
  expect((await requestUrlToken(auth, publish(), clock)).status).toBe(200)
})

describe('limits of an address:', () => {
  const limited = (policy: string): Refusal => ({
    status: 429,
    code: 'rate-limited',
    error: 'rate_limited',
    says: new RegExp(policy),
    headers: { 'retry-after': /^[1-9]\d*$/ },
  })
  const countStatuses = (responses: readonly HttpResponse[]) =>
    Object.groupBy(
      responses.map(({ status }) => status),
      (status) => String(status),
    )

  test('documents that it may cause to be fetched, and clients that may begin', async () => {
    await using limitedAuth = await startUrlInstance(stores, server, clock, {
      env: { AUTH_LIMITS_FACTOR: '1' },
    })
    const known = publish()
    expect((await requestUrlToken(limitedAuth, known, clock)).status).toBe(200)
    const responses: HttpResponse[] = []
    for (let n = 0; n < 21; n += 1) responses.push(await requestUrlToken(limitedAuth, publish(), clock))
    expect(countStatuses(responses)).toMatchObject({ 200: { length: 19 }, 429: { length: 2 } })
    const unbegun = publish()
    const tooMany = await requestUrlToken(limitedAuth, unbegun, clock)
    expectProblem(tooMany, limited('register-address'))
    expect(await rowOf(unbegun.client_id)).toBeUndefined()
    const wrong = async () => await requestUrlToken(limitedAuth, { ...publish(), key: keys[1] }, clock)
    for (let n = 0; n < 7; n += 1) expectProblem(await wrong(), UNPROVEN)
    const unfetched = publish()
    expectProblem(await requestUrlToken(limitedAuth, unfetched, clock), limited('document-address'))
    expect(unfetched.fetched()).toBe(0)
    expect((await requestUrlToken(limitedAuth, known, clock)).status).toBe(200)
  })
})

test('a client needs a proof for each token when its document says so, also when it says so later', async () => {
  setBack(clock, 0)
  const bound = (agent: ReturnType<typeof publish>) => ({
    ...documentOf(agent.client_id, keys),
    dpop_bound_access_tokens: true,
  })
  const agent = server.publish([keys[0]], { maxAge: 300 })
  agent.change(bound(agent))
  expectProblem(await requestUrlToken(auth, agent, clock), PROOF_REQUIRED)
  const proven = await requestUrlToken(auth, agent, clock, {
    headers: { dpop: await dpopProof(auth, keys[0]) },
  })
  expect(JSON.parse(proven.text)).toMatchObject({ token_type: 'DPoP' })

  const later = server.publish([keys[0]], { maxAge: 300 })
  setBack(clock, 301)
  await getUrlToken(auth, later, clock)
  later.change(bound(later))
  setBack(clock, 0)
  const refused = await requestUrlToken(auth, later, clock)
  expectProblem(refused, PROOF_REQUIRED)
})
