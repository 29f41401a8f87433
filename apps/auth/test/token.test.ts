import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  asAgent,
  basic,
  GRANT,
  getToken,
  introspect,
  isActive,
  type Registered,
  register,
  requestToken,
} from './agent-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { CANARY, countStored, expectRefusal, expectSafe, type Refusal } from './expect-refusal.ts'
import { TOKEN_PLACES } from './open-auth-stores.ts'
import { type HttpRequest, send } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

const invalid: Refusal = { status: 400, code: 'invalid-request' }
const scope: Refusal = { status: 400, code: 'invalid-scope', error: 'invalid_scope' }
const target: Refusal = {
  status: 400,
  code: 'invalid-target',
  error: 'invalid_target',
  says: 'Leave resource out, or send resource=https://plainpath.example/api or resource=https://plainpath.example/api/mcp',
}
const grant: Refusal = { status: 400, code: 'unsupported-grant-type', error: 'unsupported_grant_type' }
/** Grants of apps that people connect. */
const forApps: Refusal = { status: 400, code: 'unauthorized-client', error: 'unauthorized_client' }
const media: Refusal = {
  status: 415,
  code: 'unsupported-media-type',
  says: 'Send Content-Type: application/x-www-form-urlencoded in UTF-8. Send it as: curl -u',
}
const nobody: Refusal = { status: 401, code: 'invalid-client', error: 'invalid_client' }

const SAML = 'urn:ietf:params:oauth:grant-type:saml2-bearer'
const fields = (more: Record<string, string> | string = {}) => ({
  body: typeof more === 'string' ? more : new URLSearchParams({ ...GRANT, ...more }),
})
/** A form given as text. */
const form = (body: string) => ({ body, headers: { 'content-type': 'application/x-www-form-urlencoded' } })
const typed = (type: string, body = 'grant_type=client_credentials') => ({
  headers: { 'content-type': type },
  body,
})
const many = (count: number) => form(`grant_type=client_credentials${'&x=1'.repeat(count)}`)
const distinct = (count: number) =>
  form(['grant_type=client_credentials', ...Array.from({ length: count }, (_, n) => `x${n}=1`)].join('&'))

describe.for(TOKEN_PLACES)('POST /oauth/token, tokens in %s,', (tokens) => {
  let auth: RunningAuth
  let agent: Registered
  beforeAll(async () => {
    auth = await startAuth({ tokens })
    agent = await register(auth, 'Atlas of tokens')
  })
  afterAll(async () => {
    await expectNothingInClear(auth)
    await auth[Symbol.asyncDispose]()
  })

  const post = (request: Partial<HttpRequest>) =>
    send(auth.url, {
      method: 'POST',
      path: '/oauth/token',
      ...request,
      headers: { ...asAgent(agent), ...request.headers },
    })
  async function expectGranted(request: Partial<HttpRequest> = fields()) {
    const storedBefore = await countStored(auth)
    const response = await post(request)
    expect(response.status, response.text).toBe(200)
    const token = JSON.parse(response.text) as Record<string, string>
    auth.confidential.add(String(token['access_token']))
    const after = await countStored(auth)
    const place = tokens === 'Redis' ? 'redisTokens' : 'tokens'
    expect(after).toEqual({ ...storedBefore, [place]: Number(storedBefore[place]) + 1 })
    return { response, token }
  }

  test('issues an opaque token for the API, and nothing else', async () => {
    const { response, token } = await expectGranted()
    await expectSafe(auth, { ...response, text: '' })
    expect(token).toEqual({
      access_token: expect.stringMatching(/^ppt_[A-Za-z0-9_-]{43}$/),
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'guides:read waitlist:write',
      client_expires_at: expect.stringMatching(/^20.*Z$/),
    })
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(response.headers.get('access-control-allow-origin')).toBeNull()
    const { payload } = await introspect(auth, String(token['access_token']))
    expect(payload.token_introspection).toMatchObject({ aud: 'https://plainpath.example/api' })
  })

  test.for([
    ['an empty scope', fields({ scope: '' }), 'guides:read waitlist:write'],
    ['a scope of blanks', fields({ scope: '  ' }), 'guides:read waitlist:write'],
    ['one scope', fields({ scope: 'guides:read' }), 'guides:read'],
    ['more than it may have', fields({ scope: 'contact:write guides:read' }), 'guides:read'],
    ['an unknown scope beside a known one', fields({ scope: 'admin guides:read' }), 'guides:read'],
    ['the resource', fields({ resource: 'https://plainpath.example/api' }), 'guides:read waitlist:write'],
    [
      'the MCP server as resource',
      fields({ resource: 'https://plainpath.example/api/mcp' }),
      'guides:read waitlist:write',
    ],
    ['an empty resource', fields({ resource: '' }), 'guides:read waitlist:write'],
    ['a wish for a longer life', fields({ expires_in: '999999' }), 'guides:read waitlist:write'],
    ['a request object', fields({ request_uri: 'http://127.0.0.1:9/x' }), 'guides:read waitlist:write'],
    ['an unknown parameter', fields({ unknown: 'x' }), 'guides:read waitlist:write'],
    ['32 parameters', distinct(31), 'guides:read waitlist:write'],
    [
      'other parameters in the query',
      { ...fields(), path: '/oauth/token?scope=guides:read&grant_type=x' },
      'guides:read waitlist:write',
    ],
    [
      'a type with a charset',
      typed('application/x-www-form-urlencoded; charset=UTF-8'),
      'guides:read waitlist:write',
    ],
  ] satisfies [string, Partial<HttpRequest>, string][])('accepts %s', async ([_why, request, granted]) => {
    const { token } = await expectGranted(request)
    expect(token).toMatchObject({ expires_in: 3600, scope: granted })
    const { payload } = await introspect(auth, String(token['access_token']))
    expect(payload.token_introspection).toMatchObject({
      active: true,
      scope: granted,
      aud: 'https://plainpath.example/api',
    })
  })

  test.for([
    ['no grant_type', form('x=1'), invalid],
    ['no body', {}, invalid],
    ['an empty grant_type', form('grant_type='), invalid],
    ['password', fields({ grant_type: 'password' }), grant],
    ['implicit', fields({ grant_type: 'implicit' }), grant],
    ['authorization_code', fields({ grant_type: 'authorization_code' }), forApps],
    ['refresh_token', fields({ grant_type: 'refresh_token' }), forApps],
    ['a grant of another kind of assertion', fields({ grant_type: SAML }), grant],
    ['an unknown grant', fields({ grant_type: CANARY }), grant],
    ['another case', fields({ grant_type: 'Client_Credentials' }), grant],
    ['grant_type twice', form('grant_type=client_credentials&grant_type=client_credentials'), invalid],
    ['scope twice', form('grant_type=client_credentials&scope=a&scope=b'), invalid],
    ['client_id twice', form('grant_type=client_credentials&client_id=a&client_id=a'), invalid],
    ['an unknown parameter twice', form('grant_type=client_credentials&x=1&x=1'), invalid],
    ['parameters in the query only', { path: '/oauth/token?grant_type=client_credentials' }, invalid],
    [
      'JSON',
      typed('application/json', '{"grant_type":"client_credentials"}'),
      {
        ...invalid,
        says: /accepts a form, not JSON\. Send it as: curl -u .+ -d grant_type=client_credentials$/,
      },
    ],
    ['JSON of another kind', typed('application/vnd.api+json', '{}'), media],
    ['text', typed('text/plain'), media],
    ['a multipart form', typed('multipart/form-data; boundary=x'), media],
    ['another charset', typed('application/x-www-form-urlencoded; charset=utf-16'), media],
    ['bytes that are no UTF-8', { ...form(''), body: Uint8Array.of(0x78, 0x3d, 0xff) }, invalid],
    [
      'only unknown scopes',
      fields({ scope: CANARY }),
      { ...scope, says: 'This client can have: guides:read waitlist:write' },
    ],
    [
      'only a scope that needs an e-mail address',
      fields({ scope: 'contact:write' }),
      { ...scope, says: /contact:write\. For that scope, a person must first confirm the client by e-mail/ },
    ],
    ['a quote in the scope', fields({ scope: 'guides:read"' }), scope],
    ['a backslash in the scope', fields({ scope: 'guides:read\\' }), scope],
    ['other letters in the scope', fields({ scope: 'guides:réad' }), scope],
    ['4 kB of scope', fields({ scope: 'x'.repeat(4096) }), scope],
    ['a relative resource', fields({ resource: '/api' }), target],
    ['a resource with a fragment', fields({ resource: 'https://plainpath.example/api#x' }), target],
    ['a resource with a slash', fields({ resource: 'https://plainpath.example/api/' }), target],
    ['a resource in other letters', fields({ resource: 'https://Plainpath.example/api' }), target],
    ['the origin as resource', fields({ resource: 'https://plainpath.example' }), target],
    ['the MCP server with a slash', fields({ resource: 'https://plainpath.example/api/mcp/' }), target],
    ['the MCP server in other letters', fields({ resource: 'https://plainpath.example/api/MCP' }), target],
    ['another path', fields({ resource: 'https://plainpath.example/api/other' }), target],
    ['a path below the MCP server', fields({ resource: 'https://plainpath.example/api/mcp/x' }), target],
    [
      'both names of the resource',
      form(
        'grant_type=client_credentials&resource=https://plainpath.example/api&resource=https://plainpath.example/api/mcp',
      ),
      target,
    ],
    ['another host', fields({ resource: 'https://plainpath.example.evil.example/api' }), target],
    [
      'two resources',
      form('grant_type=client_credentials&resource=https://plainpath.example/api&resource=https://b.example'),
      target,
    ],
    ['33 parameters', distinct(32), invalid],
    ['a thousand parameters', distinct(1_000), invalid],
    ['thousands of one parameter', many(3_000), invalid],
    [
      '16 KiB and one',
      form(`grant_type=client_credentials&x=${'x'.repeat(16_384)}`),
      { status: 413, code: 'content-too-large', headers: { connection: 'close' } },
    ],
    [
      'a compressed body',
      { ...fields(), headers: { 'content-encoding': 'gzip' } },
      { ...media, says: 'without Content-Encoding' },
    ],
    [
      'another site’s script',
      { ...fields(), headers: { 'sec-fetch-site': 'cross-site' } },
      { status: 403, code: 'cross-site-request' },
    ],
  ] satisfies [string, Partial<HttpRequest>, Refusal][])('refuses %s', async ([_why, request, expected]) => {
    await expectRefusal(auth, () => post(request), expected)
    await expectGranted()
  })

  test('returns errors as JSON, whatever Accept says', async () => {
    for (const accept of ['text/html', 'text/html,*/*;q=0.1', 'image/png', 'x'.repeat(8_000)]) {
      await expectRefusal(auth, () => post({ ...fields({ grant_type: 'x' }), headers: { accept } }), grant)
      await expectGranted({ ...fields(), headers: { accept } })
    }
  })

  test('rejects other methods with 405', async () => {
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
      await expectRefusal(
        auth,
        () =>
          send(auth.url, {
            method,
            path: '/oauth/token?grant_type=client_credentials',
            headers: asAgent(agent),
          }),
        {
          status: 405,
          code: 'method-not-allowed',
          headers: { allow: /^POST$/ },
        },
      )
    expect((await send(auth.url, { method: 'HEAD', path: '/oauth/token' })).status).toBe(405)
  })

  test('issues no token to a resource server', async () => {
    await expectRefusal(
      auth,
      () => post({ ...fields(), headers: basic('rs_api', auth.stores.secrets.rs_api) }),
      nobody,
    )
  })

  test('issues different tokens for simultaneous requests, all active', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => getToken(auth, agent)))
    expect(new Set(all).size).toBe(20)
    expect(await Promise.all(all.slice(0, 5).map((token) => isActive(auth, token)))).not.toContain(false)
  })

  test('does not log the content of rejected requests', async () => {
    await requestToken(auth, agent, { ...GRANT, scope: CANARY, resource: CANARY })
    await post({ ...fields(), path: `/oauth/token?token=${CANARY}` })
    expect(auth.logged.join('')).not.toContain(CANARY)
  })
})
