import { createHash } from 'node:crypto'
import { decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  ACCEPT_SIGNED,
  agentAuthHeader,
  apiAuthHeader,
  basicAuth,
  deleteAgent,
  getToken,
  introspect,
  isActive,
  type RegisteredAgent,
  register,
  requestIntrospection,
  revoke,
} from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { CANARY, expectProblem, expectRefusal, expectSafe, type Refusal } from './expect-refusal.ts'
import { TOKEN_STORES } from './open-auth-testbed.ts'
import { formatRawRequest, type HttpRequest, send, sendRaw } from './send.ts'
import { type RunningAuth, startAuth, startInstance } from './start-auth.ts'

const invalidRequest: Refusal = { status: 400, code: 'invalid-request' }
const unsupportedMediaType: Refusal = { status: 415, code: 'unsupported-media-type' }
const createFormRequest = (body: string) => ({
  body,
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
})
const invalidClient: Refusal = {
  status: 401,
  code: 'invalid-client',
  error: 'invalid_client',
  headers: { 'www-authenticate': 'Basic realm="plainpath introspection"' },
}

describe.for(TOKEN_STORES)('POST /oauth/introspect, tokens in %s,', (tokenStore) => {
  let auth: RunningAuth
  let agent: RegisteredAgent
  let token: string
  beforeAll(async () => {
    auth = await startAuth({ tokenStore })
    agent = await register(auth, 'Atlas of introspections')
    token = await getToken(auth, agent)
  })
  afterAll(async () => {
    await expectNoConfidentialValues(auth)
    await auth[Symbol.asyncDispose]()
  })
  const post = (request: Partial<HttpRequest>) =>
    send(auth.internalUrl, {
      method: 'POST',
      path: '/oauth/introspect',
      body: new URLSearchParams({ token }),
      ...request,
      headers: { ...ACCEPT_SIGNED, ...apiAuthHeader(auth), ...request.headers },
    })

  test('returns a signed description of an active token', async () => {
    const nowInSeconds = Date.now() / 1000
    const { payload, protectedHeader } = await introspect(auth, token)
    expect(protectedHeader).toEqual({
      alg: 'ES256',
      typ: 'token-introspection+jwt',
      kid: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
    })
    expect(payload).toEqual({
      iss: 'https://plainpath.example',
      aud: 'rs_api',
      // The precision -1 allows a difference of 5 s.
      iat: expect.closeTo(nowInSeconds, -1),
      token_hash: createHash('sha256').update(token).digest('base64url'),
      // A mark names the Redis data through which the revocation of the token would be published. An API caches only a response
      // that has one.
      ...(tokenStore === 'Redis' && { revocation_mark: expect.stringMatching(/^[0-9a-f-]{36}$/) }),
      token_introspection: {
        active: true,
        client_id: agent.client_id,
        scope: 'guides:read waitlist:write',
        aud: 'https://plainpath.example/api',
        iss: 'https://plainpath.example',
        token_type: 'Bearer',
        identity_type: 'anonymous',
        email_verified: false,
        iat: expect.closeTo(nowInSeconds, -1),
        exp: expect.closeTo(nowInSeconds + 3600, -1),
      },
    })
    const jwks = JSON.parse((await send(auth.url, { path: '/oauth/jwks.json' })).text) as {
      keys: { kid: string }[]
    }
    expect(jwks.keys.map(({ kid }) => kid)).toContain(protectedHeader.kid)
  })

  async function expectInactive(presentedToken: string, caller: 'rs_api' | 'rs_other' = 'rs_api') {
    const { payload } = await introspect(auth, presentedToken, caller)
    expect(payload).toEqual({
      iss: 'https://plainpath.example',
      aud: caller,
      iat: expect.any(Number),
      token_hash: createHash('sha256').update(presentedToken).digest('base64url'),
      token_introspection: { active: false },
    })
  }

  test.for([
    ['an unknown token', `ppt_${'A'.repeat(43)}`],
    ['other text', CANARY],
    ['text of 65 kB', 'x'.repeat(65_000)],
    ['text with NUL', 'ppt_\0'],
    ['text that looks like a JWT', 'eyJhbGciOiJub25lIn0.e30.'],
    ['the name of a member of every object', '__proto__'],
  ] satisfies [string, string][])(
    'reports %s as inactive, and nothing else',
    async ([_title, presentedToken]) => {
      await expectInactive(presentedToken)
    },
  )
  test('reports a slightly changed token as inactive', async () => {
    const otherLetter = token.at(-1) === 'A' ? 'B' : 'A'
    for (const changedToken of [
      token.slice(0, -1),
      `${token}A`,
      `${token} `,
      token.toUpperCase(),
      token.slice(0, -1) + otherLetter,
    ])
      await expectInactive(changedToken)
    expect(await isActive(auth, token)).toBe(true)
  })
  test('reports a client secret as inactive', () => expectInactive(agent.client_secret))
  test('reveals nothing about a token to another API', async () => {
    await expectInactive(token, 'rs_other')
    expect(await isActive(auth, token)).toBe(true)
  })

  test('reports a revoked token, and a token of a deleted or disabled client, as inactive', async () => {
    const [deleted, disabled] = [await register(auth), await register(auth)]
    const revokedToken = await getToken(auth, agent)
    const tokenOfDeleted = await getToken(auth, deleted)
    const tokenOfDisabled = await getToken(auth, disabled)
    await revoke(auth, agent, revokedToken)
    await deleteAgent(auth, deleted)
    await auth.testbed.db.query(`update agents set status = 'disabled', generation = 2 where id = $1`, [
      disabled.client_id,
    ])
    await expect.poll(() => isActive(auth, tokenOfDisabled)).toBe(false)
    for (const inactiveToken of [revokedToken, tokenOfDeleted, tokenOfDisabled])
      await expectInactive(inactiveToken)
  })

  test('reports a token as inactive once its row in PostgreSQL has expired or its key in Redis is gone', async () => {
    const expiredToken = await getToken(auth, agent)
    if (auth.testbed.redis) await auth.testbed.redis.loseKeys('token:*')
    else await auth.testbed.db.query(`update tokens set expires_at = now() - interval '1 second'`)
    await expectInactive(expiredToken)
    // The statements above have also ended the token that the other tests use.
    token = await getToken(auth, agent)
  })

  test.for([
    [-1, true],
    [0, false],
    [1, false],
  ] as const)('%i s after its exp, a token is active: %s', async ([secondsAfterExp, isStillActive]) => {
    const clock = { now: new Date() }
    await using instanceWithClock = await startInstance(auth.testbed, { now: () => clock.now })
    const timedToken = await getToken(instanceWithClock, agent)
    const { payload } = await introspect(instanceWithClock, timedToken)
    const { exp = 0 } = payload.token_introspection as { exp?: number }
    clock.now = new Date((exp + secondsAfterExp) * 1000)
    expect(await isActive(instanceWithClock, timedToken)).toBe(isStillActive)
    // This instance has the real clock.
    expect(await isActive(auth, timedToken)).toBe(true)
  })

  test.for(['access_token', 'refresh_token', CANARY])('ignores the hint %o', async (hint) => {
    const response = await post({ body: new URLSearchParams({ token, token_type_hint: hint }) })
    expect(response.status).toBe(200)
    expect(decodeProtectedHeader(response.text)).toMatchObject({ typ: 'token-introspection+jwt' })
  })

  test('forbids caching of responses', async () => {
    const response = await requestIntrospection(auth, token)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('access-control-allow-origin')).toBeNull()
    await expectSafe(auth, response)
  })

  test('does not accept its response as a token or as a credential', async () => {
    const response = (await requestIntrospection(auth, token)).text
    await expectInactive(response)
    await expectRefusal(auth, () => post({ headers: { authorization: `Bearer ${response}` } }), invalidClient)
    const assertion = new URLSearchParams({
      token,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: response,
    })
    await expectRefusal(auth, () => post({ body: assertion, headers: { authorization: '' } }), invalidClient)
    expect(await isActive(auth, token)).toBe(true)
  })

  test('refuses callers without the credentials of a resource server in the header', async () => {
    const callers: Record<string, string>[] = [
      { authorization: '' },
      { authorization: `Bearer ${token}` },
      { authorization: `Basic ${CANARY}` },
      basicAuth('rs_api', auth.testbed.secrets.rs_other),
      basicAuth('rs_unknown', auth.testbed.secrets.rs_api),
      basicAuth('rs_api', ''),
      agentAuthHeader(agent),
    ]
    for (const headers of callers) await expectRefusal(auth, () => post({ headers }), invalidClient)
    await expectRefusal(
      auth,
      () =>
        send(auth.internalUrl, {
          method: 'POST',
          path: '/oauth/introspect',
          headers: ACCEPT_SIGNED,
          body: new URLSearchParams({
            token,
            client_id: 'rs_api',
            client_secret: auth.testbed.secrets.rs_api,
          }),
        }),
      invalidClient,
    )
    expect(await isActive(auth, token)).toBe(true)
  })

  test.for(['application/json', '*/*', 'application/jwt', 'text/html', ''])(
    'refuses a request that accepts only %o',
    async (accept) => {
      await expectRefusal(auth, () => post({ headers: { accept } }), {
        status: 406,
        code: 'not-acceptable',
        says: 'application/token-introspection+jwt only',
      })
    },
  )
  test('returns the signed format when JSON is accepted too', async () => {
    const response = await post({
      headers: { accept: 'application/json, application/token-introspection+jwt' },
    })
    expect(response.headers.get('content-type')).toMatch(/^application\/token-introspection\+jwt/)
  })

  test.for([
    ['an empty token', createFormRequest('token='), invalidRequest],
    ['no token', createFormRequest('x=1'), invalidRequest],
    ['no body', { body: undefined }, invalidRequest],
    ['a token twice', createFormRequest('token=a&token=b'), invalidRequest],
    [
      'JSON',
      { headers: { 'content-type': 'application/json' }, body: '{"token":"x"}' },
      unsupportedMediaType,
    ],
    [
      'a body over 64 KiB',
      createFormRequest(`token=${'x'.repeat(65_536)}`),
      { status: 413, code: 'content-too-large' },
    ],
    ['a token in the query', { path: `/oauth/introspect?token=${CANARY}`, body: undefined }, invalidRequest],
  ] satisfies [string, Partial<HttpRequest>, Refusal][])('refuses %s', async ([_title, request, refusal]) => {
    await expectRefusal(auth, () => post(request), refusal)
    expect(auth.logged.join('')).not.toContain(CANARY)
  })

  test('refuses two Authorization headers', async () => {
    const { authorization } = apiAuthHeader(auth)
    const body = 'token=x'
    const headers = [
      `Authorization: ${authorization}`,
      `Authorization: ${authorization}`,
      `Accept: ${ACCEPT_SIGNED.accept}`,
      'Content-Type: application/x-www-form-urlencoded',
      `Content-Length: ${body.length}`,
    ]
    const [response] = await sendRaw(
      auth.internalUrl,
      formatRawRequest('POST /oauth/introspect', headers, body),
    )
    expectProblem(response!, invalidClient)
  })

  test('rejects GET with 405, and does not log the token in its URL', async () => {
    const request = {
      path: `/oauth/introspect?token=${CANARY}`,
      headers: { ...ACCEPT_SIGNED, ...apiAuthHeader(auth) },
    }
    const expected = { status: 405, code: 'method-not-allowed', headers: { allow: /^POST$/ } }
    await expectRefusal(auth, () => send(auth.internalUrl, request), expected)
    expect(auth.logged.join('')).not.toContain(CANARY)
  })

  test('is not served on the public listener', async () => {
    const request = {
      method: 'POST',
      path: '/oauth/introspect',
      headers: { ...ACCEPT_SIGNED, ...apiAuthHeader(auth) },
      body: new URLSearchParams({ token }),
    }
    await expectRefusal(auth, () => send(auth.url, request), { status: 404, code: 'not-found' })
  })
})
