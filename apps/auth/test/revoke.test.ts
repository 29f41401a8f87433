import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  agentAuthHeader,
  basicAuth,
  getToken,
  isActive,
  type RegisteredAgent,
  register,
  revoke,
} from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { CANARY, countStored, expectRefusal, expectSafe, type Refusal } from './expect-refusal.ts'
import { TOKEN_STORES } from './open-auth-testbed.ts'
import { type HttpRequest, send } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

const invalidRequest: Refusal = { status: 400, code: 'invalid-request' }
const unsupportedMediaType: Refusal = { status: 415, code: 'unsupported-media-type' }
const invalidClient: Refusal = { status: 401, code: 'invalid-client', error: 'invalid_client' }
const createFormRequest = (body: string) => ({
  body,
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
})

describe.for(TOKEN_STORES)('POST /oauth/revoke, tokens in %s,', (tokenStore) => {
  let auth: RunningAuth
  let agent: RegisteredAgent
  let otherAgent: RegisteredAgent
  beforeAll(async () => {
    auth = await startAuth({ tokenStore })
    agent = await register(auth, 'Atlas of revocations')
    otherAgent = await register(auth)
  })
  afterAll(async () => {
    await expectNoConfidentialValues(auth)
    await auth[Symbol.asyncDispose]()
  })
  const post = (request: Partial<HttpRequest>) =>
    send(auth.url, {
      method: 'POST',
      path: '/oauth/revoke',
      ...request,
      headers: { ...agentAuthHeader(agent), ...request.headers },
    })

  test('revokes a token that is inactive because of its credential version, even if that version becomes current again', async () => {
    const client = await register(auth)
    const [token, otherToken] = [await getToken(auth, client), await getToken(auth, client)]
    // The column `generation` contains the credential version.
    const changeVersion = (by: number) =>
      auth.testbed.db.query('update agents set generation = generation + $2 where id = $1', [
        client.client_id,
        by,
      ])
    await changeVersion(1)
    await expect.poll(() => isActive(auth, otherToken)).toBe(false)
    expect((await revoke(auth, client, token)).status).toBe(200)
    await changeVersion(-1)
    // Without a cached version, the instance reads the version from PostgreSQL again.
    await auth.testbed.redis?.loseKeys('generation:*')
    await expect.poll(() => isActive(auth, otherToken)).toBe(true)
    expect(await isActive(auth, token)).toBe(false)
  })

  test('revokes the token before it responds', async () => {
    const [token, otherToken] = [await getToken(auth, agent), await getToken(auth, agent)]
    const response = await revoke(auth, agent, token)
    expect([response.status, response.text]).toEqual([200, '{}'])
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    await expectSafe(auth, response)
    expect([await isActive(auth, token), await isActive(auth, otherToken)]).toEqual([false, true])
  })

  test.for([
    ['an unknown token', `ppt_${'A'.repeat(43)}`],
    ['other text', CANARY],
    ['text that looks like a JWT', 'eyJhbGciOiJub25lIn0.e30.'],
    ['text with NUL', 'a\0b'],
    ['text of 65 kB', 'x'.repeat(65_000)],
  ] satisfies [string, string][])('accepts %s without an error', async ([_title, token]) => {
    const storedBefore = await countStored(auth)
    const response = await revoke(auth, agent, token)
    expect([response.status, response.text]).toEqual([200, '{}'])
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(await countStored(auth)).toEqual(storedBefore)
  })

  test('accepts a token that was revoked before', async () => {
    const token = await getToken(auth, agent)
    expect((await revoke(auth, agent, token)).status).toBe(200)
    expect((await revoke(auth, agent, token)).status).toBe(200)
  })

  test.for(['access_token', 'refresh_token', CANARY, ''])('ignores the hint %o', async (hint) => {
    const token = await getToken(auth, agent)
    const response = await post({ body: new URLSearchParams({ token, token_type_hint: hint }) })
    expect(response.status).toBe(200)
    expect(await isActive(auth, token)).toBe(false)
  })

  test('accepts a client that authenticates in the form', async () => {
    const token = await getToken(auth, agent)
    const { client_id, client_secret } = agent
    const response = await send(auth.url, {
      method: 'POST',
      path: '/oauth/revoke',
      body: new URLSearchParams({ token, client_id, client_secret }),
    })
    expect(response.status).toBe(200)
    expect(await isActive(auth, token)).toBe(false)
  })

  test('rejects the token of another client, which stays active', async () => {
    const token = await getToken(auth, otherAgent)
    await expectRefusal(auth, () => revoke(auth, agent, token), { status: 400, code: 'foreign-token' })
    expect(await isActive(auth, token)).toBe(true)
    expect((await revoke(auth, otherAgent, token)).status).toBe(200)
  })

  const UNAUTHENTICATED: [string, Record<string, string>][] = [
    ['no credentials', { authorization: '' }],
    ['an unknown client', basicAuth(`agt_${'A'.repeat(22)}`, 'x')],
    ['a bearer token as credentials', { authorization: `Bearer ${CANARY}` }],
  ]
  test.for(UNAUTHENTICATED)('revokes nothing with %s', async ([_title, headers]) => {
    const token = await getToken(auth, agent)
    await expectRefusal(auth, () => post({ headers, body: new URLSearchParams({ token }) }), invalidClient)
    expect(await isActive(auth, token)).toBe(true)
  })
  test('revokes nothing with a wrong secret', async () => {
    const token = await getToken(auth, agent)
    const agentWithWrongSecret = { ...agent, client_secret: otherAgent.client_secret }
    await expectRefusal(auth, () => revoke(auth, agentWithWrongSecret, token), invalidClient)
    expect(await isActive(auth, token)).toBe(true)
  })

  test.for([
    ['no token', createFormRequest('x=1'), invalidRequest],
    ['an empty token', createFormRequest('token='), invalidRequest],
    ['no body', {}, invalidRequest],
    [
      'a JSON body',
      { headers: { 'content-type': 'application/json' }, body: '{"token":"x"}' },
      unsupportedMediaType,
    ],
    ['a text body', { headers: { 'content-type': 'text/plain' }, body: 'token=x' }, unsupportedMediaType],
    [
      'a body over 64 KiB',
      createFormRequest(`token=${'x'.repeat(65_536)}`),
      { status: 413, code: 'content-too-large' },
    ],
    [
      '33 parameters',
      createFormRequest(Array.from({ length: 33 }, (_, n) => `x${n}=1`).join('&')),
      invalidRequest,
    ],
    ['a token in the query', { path: `/oauth/revoke?token=${CANARY}` }, invalidRequest],
  ] satisfies [string, Partial<HttpRequest>, Refusal][])('refuses %s', async ([_title, request, refusal]) => {
    await expectRefusal(auth, () => post(request), refusal)
    expect(auth.logged.join('')).not.toContain(CANARY)
  })

  test('rejects two token parameters, and revokes neither', async () => {
    const [firstToken, secondToken] = [await getToken(auth, agent), await getToken(auth, agent)]
    await expectRefusal(
      auth,
      () => post(createFormRequest(`token=${firstToken}&token=${secondToken}`)),
      invalidRequest,
    )
    expect([await isActive(auth, firstToken), await isActive(auth, secondToken)]).toEqual([true, true])
  })

  test.for(['GET', 'PUT', 'DELETE', 'PATCH'])('rejects %s with 405', async (method) => {
    const expected = { status: 405, code: 'method-not-allowed', headers: { allow: /^POST$/ } }
    await expectRefusal(auth, () => send(auth.url, { method, path: '/oauth/revoke' }), expected)
  })

  test('no introspection that begins after the first response to ten simultaneous revocations finds the token active', async () => {
    const token = await getToken(auth, agent)
    let revokedAt = Number.POSITIVE_INFINITY
    const concurrentIntrospections = Array.from({ length: 30 }, async () => {
      const startedAt = performance.now()
      return { startedAt, active: await isActive(auth, token) }
    })
    const revocations = Array.from({ length: 10 }, async () => {
      expect((await revoke(auth, agent, token)).status).toBe(200)
      revokedAt = Math.min(revokedAt, performance.now())
    })
    await Promise.all(revocations)
    const introspections = [
      ...(await Promise.all(concurrentIntrospections)),
      { startedAt: performance.now(), active: await isActive(auth, token) },
    ]
    expect(introspections.filter(({ startedAt, active }) => active && startedAt > revokedAt)).toEqual([])
  })
})
