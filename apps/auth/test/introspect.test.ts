import { createHash } from 'node:crypto'
import { decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  asAgent,
  asApi,
  basic,
  deleteAgent,
  getToken,
  introspect,
  isActive,
  type Registered,
  register,
  requestIntrospection,
  revoke,
  SIGNED,
} from './agent-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { CANARY, expectProblem, expectRefusal, expectSafe, type Refusal } from './expect-refusal.ts'
import { TOKEN_PLACES } from './open-auth-stores.ts'
import { type HttpRequest, rawRequest, send, sendRaw } from './send.ts'
import { type RunningAuth, startAuth, startInstance } from './start-auth.ts'

const invalid: Refusal = { status: 400, code: 'invalid-request' }
const media: Refusal = { status: 415, code: 'unsupported-media-type' }
const form = (body: string) => ({ body, headers: { 'content-type': 'application/x-www-form-urlencoded' } })
const nobody: Refusal = {
  status: 401,
  code: 'invalid-client',
  error: 'invalid_client',
  headers: { 'www-authenticate': 'Basic realm="plainpath introspection"' },
}

describe.for(TOKEN_PLACES)('POST /oauth/introspect, tokens in %s,', (tokens) => {
  let auth: RunningAuth
  let agent: Registered
  let token: string
  beforeAll(async () => {
    auth = await startAuth({ tokens })
    agent = await register(auth, 'Atlas of looks')
    token = await getToken(auth, agent)
  })
  afterAll(async () => {
    await expectNothingInClear(auth)
    await auth[Symbol.asyncDispose]()
  })
  const post = (request: Partial<HttpRequest>) =>
    send(auth.internalUrl, {
      method: 'POST',
      path: '/oauth/introspect',
      body: new URLSearchParams({ token }),
      ...request,
      headers: { ...SIGNED, ...asApi(auth), ...request.headers },
    })

  test('returns a signed description of an active token', async () => {
    const now = Date.now() / 1000
    const { payload, protectedHeader } = await introspect(auth, token)
    expect(protectedHeader).toEqual({
      alg: 'ES256',
      typ: 'token-introspection+jwt',
      kid: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
    })
    expect(payload).toEqual({
      iss: 'https://plainpath.example',
      aud: 'rs_api',
      iat: expect.closeTo(now, -1),
      token_hash: createHash('sha256').update(token).digest('base64url'),
      // APIs may cache only responses whose revocation is published to them.
      ...(tokens === 'Redis' && { revocation_mark: expect.stringMatching(/^[0-9a-f-]{36}$/) }),
      token_introspection: {
        active: true,
        client_id: agent.client_id,
        scope: 'guides:read waitlist:write',
        aud: 'https://plainpath.example/api',
        iss: 'https://plainpath.example',
        token_type: 'Bearer',
        identity_type: 'anonymous',
        email_verified: false,
        iat: expect.closeTo(now, -1),
        exp: expect.closeTo(now + 3600, -1),
      },
    })
    const jwks = JSON.parse((await send(auth.url, { path: '/oauth/jwks.json' })).text) as {
      keys: { kid: string }[]
    }
    expect(jwks.keys.map(({ kid }) => kid)).toContain(protectedHeader.kid)
  })

  async function expectInactive(presented: string, caller: 'rs_api' | 'rs_other' = 'rs_api') {
    const { payload } = await introspect(auth, presented, caller)
    expect(payload).toEqual({
      iss: 'https://plainpath.example',
      aud: caller,
      iat: expect.any(Number),
      token_hash: createHash('sha256').update(presented).digest('base64url'),
      token_introspection: { active: false },
    })
  }

  test.for([
    ['an unknown token', `ppt_${'A'.repeat(43)}`],
    ['what is no token', CANARY],
    ['8 kB', 'x'.repeat(8_000)],
    ['NUL', 'ppt_\0'],
    ['what looks like a JWT', 'eyJhbGciOiJub25lIn0.e30.'],
    ['the name of a member of every object', '__proto__'],
  ] satisfies [string, string][])(
    '%s is not active, and the response says nothing else',
    async ([_what, presented]) => {
      await expectInactive(presented)
    },
  )
  test('reports a token with one letter changed as inactive', async () => {
    const last = token.at(-1) === 'A' ? 'B' : 'A'
    for (const near of [
      token.slice(0, -1),
      `${token}A`,
      `${token} `,
      token.toUpperCase(),
      token.slice(0, -1) + last,
    ])
      await expectInactive(near)
    expect(await isActive(auth, token)).toBe(true)
  })
  test('reports a client secret as inactive', () => expectInactive(agent.client_secret))
  test('reveals nothing about a token to another API', async () => {
    await expectInactive(token, 'rs_other')
    expect(await isActive(auth, token)).toBe(true)
  })

  test('reports a revoked token, and one of a deleted or disabled client, as inactive', async () => {
    const [deleted, disabled] = [await register(auth), await register(auth)]
    const ended = [await getToken(auth, agent), await getToken(auth, deleted), await getToken(auth, disabled)]
    await revoke(auth, agent, ended[0]!)
    await deleteAgent(auth, deleted)
    await auth.stores.db.query(`update agents set status = 'disabled', generation = 2 where id = $1`, [
      disabled.client_id,
    ])
    await expect.poll(() => isActive(auth, ended[2]!)).toBe(false)
    for (const each of ended) await expectInactive(each)
  })

  test('reports an expired token as inactive', async () => {
    const short = await getToken(auth, agent)
    if (auth.stores.redis) await auth.stores.redis.lose('token:*')
    else await auth.stores.db.query(`update tokens set expires_at = now() - interval '1 second'`)
    await expectInactive(short)
    token = await getToken(auth, agent)
  })

  test.for([
    [-1, true],
    [0, false],
    [1, false],
  ] as const)('%i s after its end a token is active: %s', async ([after, active]) => {
    const clock = { now: new Date() }
    await using timed = await startInstance(auth.stores, { now: () => clock.now })
    const timely = await getToken(timed, agent)
    const { payload } = await introspect(timed, timely)
    const { exp = 0 } = payload.token_introspection as { exp?: number }
    clock.now = new Date((exp + after) * 1000)
    expect(await isActive(timed, timely)).toBe(active)
    expect(await isActive(auth, timely)).toBe(true)
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

  test('issues responses that are accepted neither as a token nor as a credential', async () => {
    const response = (await requestIntrospection(auth, token)).text
    await expectInactive(response)
    await expectRefusal(auth, () => post({ headers: { authorization: `Bearer ${response}` } }), nobody)
    const assertion = new URLSearchParams({
      token,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: response,
    })
    await expectRefusal(auth, () => post({ body: assertion, headers: { authorization: '' } }), nobody)
    expect(await isActive(auth, token)).toBe(true)
  })

  test('responds to resource servers only', async () => {
    const callers: Record<string, string>[] = [
      { authorization: '' },
      { authorization: `Bearer ${token}` },
      { authorization: `Basic ${CANARY}` },
      basic('rs_api', auth.stores.secrets.rs_other),
      basic('rs_unknown', auth.stores.secrets.rs_api),
      basic('rs_api', ''),
      asAgent(agent),
    ]
    for (const headers of callers) await expectRefusal(auth, () => post({ headers }), nobody)
    await expectRefusal(
      auth,
      () =>
        send(auth.internalUrl, {
          method: 'POST',
          path: '/oauth/introspect',
          headers: SIGNED,
          body: new URLSearchParams({
            token,
            client_id: 'rs_api',
            client_secret: auth.stores.secrets.rs_api,
          }),
        }),
      nobody,
    )
    expect(await isActive(auth, token)).toBe(true)
  })

  test.for(['application/json', '*/*', 'application/jwt', 'text/html', ''])(
    '%o instead of the signed form is refused',
    async (accept) => {
      await expectRefusal(auth, () => post({ headers: { accept } }), {
        status: 406,
        code: 'not-acceptable',
        says: 'application/token-introspection+jwt only',
      })
    },
  )
  test('responds signed when JSON is accepted as well', async () => {
    const response = await post({
      headers: { accept: 'application/json, application/token-introspection+jwt' },
    })
    expect(response.headers.get('content-type')).toMatch(/^application\/token-introspection\+jwt/)
  })

  test.for([
    ['an empty token', form('token='), invalid],
    ['no token', form('x=1'), invalid],
    ['no body', { body: undefined }, invalid],
    ['a token twice', form('token=a&token=b'), invalid],
    ['JSON', { headers: { 'content-type': 'application/json' }, body: '{"token":"x"}' }, media],
    ['a body over 16 KiB', form(`token=${'x'.repeat(16_384)}`), { status: 413, code: 'content-too-large' }],
    ['a token in the query', { path: `/oauth/introspect?token=${CANARY}`, body: undefined }, invalid],
  ] satisfies [string, Partial<HttpRequest>, Refusal][])('refuses %s', async ([_why, request, expected]) => {
    await expectRefusal(auth, () => post(request), expected)
    expect(auth.logged.join('')).not.toContain(CANARY)
  })

  test('refuses two Authorization headers', async () => {
    const { authorization } = asApi(auth)
    const body = 'token=x'
    const headers = [
      `Authorization: ${authorization}`,
      `Authorization: ${authorization}`,
      `Accept: ${SIGNED.accept}`,
      'Content-Type: application/x-www-form-urlencoded',
      `Content-Length: ${body.length}`,
    ]
    const [response] = await sendRaw(auth.internalUrl, rawRequest('POST /oauth/introspect', headers, body))
    expectProblem(response!, nobody)
  })

  test('rejects GET with 405, and does not log the token in its URL', async () => {
    const request = { path: `/oauth/introspect?token=${CANARY}`, headers: { ...SIGNED, ...asApi(auth) } }
    const expected = { status: 405, code: 'method-not-allowed', headers: { allow: /^POST$/ } }
    await expectRefusal(auth, () => send(auth.internalUrl, request), expected)
    expect(auth.logged.join('')).not.toContain(CANARY)
  })

  test('is not served on the public listener', async () => {
    const request = {
      method: 'POST',
      path: '/oauth/introspect',
      headers: { ...SIGNED, ...asApi(auth) },
      body: new URLSearchParams({ token }),
    }
    await expectRefusal(auth, () => send(auth.url, request), { status: 404, code: 'not-found' })
  })
})
