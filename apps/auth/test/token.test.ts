import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  agentAuthHeader,
  basicAuth,
  CLIENT_CREDENTIALS_GRANT,
  getToken,
  introspect,
  isActive,
  type RegisteredAgent,
  register,
  requestToken,
} from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { CANARY, countStored, expectRefusal, expectSafe, type Refusal } from './expect-refusal.ts'
import { TOKEN_STORES } from './open-auth-testbed.ts'
import { type HttpRequest, send } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

const invalidRequest: Refusal = { status: 400, code: 'invalid-request' }
const invalidScope: Refusal = { status: 400, code: 'invalid-scope', error: 'invalid_scope' }
const invalidTarget: Refusal = {
  status: 400,
  code: 'invalid-target',
  error: 'invalid_target',
  says: 'Leave resource out, or send resource=https://plainpath.example/api or resource=https://plainpath.example/api/mcp',
}
const unsupportedGrantType: Refusal = {
  status: 400,
  code: 'unsupported-grant-type',
  error: 'unsupported_grant_type',
}
/** The refusal of grants that only connected apps may use. */
const unauthorizedClient: Refusal = { status: 400, code: 'unauthorized-client', error: 'unauthorized_client' }
const unsupportedMediaType: Refusal = {
  status: 415,
  code: 'unsupported-media-type',
  says: 'Send Content-Type: application/x-www-form-urlencoded in UTF-8. Send it as: curl -u',
}
const invalidClient: Refusal = { status: 401, code: 'invalid-client', error: 'invalid_client' }

const SAML_GRANT = 'urn:ietf:params:oauth:grant-type:saml2-bearer'
/** Creates a token request with these fields in addition to the usual grant. */
const withFields = (fields: Record<string, string> = {}) => ({
  body: new URLSearchParams({ ...CLIENT_CREDENTIALS_GRANT, ...fields }),
})
/** Creates a form request whose body is exactly this text. */
const createFormRequest = (body: string) => ({
  body,
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
})
/** Creates a token request with this content type, by default with the usual grant as its body. */
const withContentType = (type: string, body = 'grant_type=client_credentials') => ({
  headers: { 'content-type': type },
  body,
})
/** Creates a form with `grant_type` and one further parameter, which occurs `count` times. */
const withRepeatedParameter = (count: number) =>
  createFormRequest(`grant_type=client_credentials${'&x=1'.repeat(count)}`)
/** Creates a form with `grant_type` and `count` further parameters, each with another name. */
const withDistinctParameters = (count: number) =>
  createFormRequest(
    ['grant_type=client_credentials', ...Array.from({ length: count }, (_, n) => `x${n}=1`)].join('&'),
  )

describe.for(TOKEN_STORES)('POST /oauth/token, tokens in %s,', (tokenStore) => {
  let auth: RunningAuth
  let agent: RegisteredAgent
  beforeAll(async () => {
    auth = await startAuth({ tokenStore })
    agent = await register(auth, 'Atlas of tokens')
  })
  afterAll(async () => {
    await expectNoConfidentialValues(auth)
    await auth[Symbol.asyncDispose]()
  })

  const post = (request: Partial<HttpRequest>) =>
    send(auth.url, {
      method: 'POST',
      path: '/oauth/token',
      ...request,
      headers: { ...agentAuthHeader(agent), ...request.headers },
    })
  /**
   * Sends a token request, by default with the usual grant. Checks that it gets a token and that only the token is stored. Adds
   * the token to `auth.confidential`.
   */
  async function requestAndCheckToken(request: Partial<HttpRequest> = withFields()) {
    const storedBefore = await countStored(auth)
    const response = await post(request)
    expect(response.status, response.text).toBe(200)
    const body = JSON.parse(response.text) as Record<string, string>
    auth.confidential.add(String(body['access_token']))
    const storedAfter = await countStored(auth)
    const counter = tokenStore === 'Redis' ? 'redisTokens' : 'tokens'
    expect(storedAfter).toEqual({ ...storedBefore, [counter]: Number(storedBefore[counter]) + 1 })
    return { response, body }
  }

  test('issues an opaque token for the API', async () => {
    const { response, body } = await requestAndCheckToken()
    // The body contains the token, which is confidential, so it is left out of this check.
    await expectSafe(auth, { ...response, text: '' })
    expect(body).toEqual({
      access_token: expect.stringMatching(/^ppt_[A-Za-z0-9_-]{43}$/),
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'guides:read waitlist:write',
      client_expires_at: expect.stringMatching(/^20.*Z$/),
    })
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(response.headers.get('access-control-allow-origin')).toBeNull()
    const { payload } = await introspect(auth, String(body['access_token']))
    expect(payload.token_introspection).toMatchObject({ aud: 'https://plainpath.example/api' })
  })

  test.for([
    ['an empty scope', withFields({ scope: '' }), 'guides:read waitlist:write'],
    ['a scope of blanks', withFields({ scope: '  ' }), 'guides:read waitlist:write'],
    ['one scope', withFields({ scope: 'guides:read' }), 'guides:read'],
    [
      'a scope that the client may not have, with one that it may have',
      withFields({ scope: 'contact:write guides:read' }),
      'guides:read',
    ],
    ['an unknown scope with a known one', withFields({ scope: 'admin guides:read' }), 'guides:read'],
    [
      'the API as the resource',
      withFields({ resource: 'https://plainpath.example/api' }),
      'guides:read waitlist:write',
    ],
    [
      'the MCP server as the resource',
      withFields({ resource: 'https://plainpath.example/api/mcp' }),
      'guides:read waitlist:write',
    ],
    ['an empty resource', withFields({ resource: '' }), 'guides:read waitlist:write'],
    [
      'an empty resource next to the API',
      createFormRequest('grant_type=client_credentials&resource=&resource=https://plainpath.example/api'),
      'guides:read waitlist:write',
    ],
    ['expires_in, which is ignored', withFields({ expires_in: '999999' }), 'guides:read waitlist:write'],
    [
      'request_uri, which is ignored',
      withFields({ request_uri: 'http://127.0.0.1:9/x' }),
      'guides:read waitlist:write',
    ],
    ['an unknown parameter', withFields({ unknown: 'x' }), 'guides:read waitlist:write'],
    [
      'a body of almost 64 KiB',
      createFormRequest(`grant_type=client_credentials&x=${'x'.repeat(65_000)}`),
      'guides:read waitlist:write',
    ],
    ['32 parameters', withDistinctParameters(31), 'guides:read waitlist:write'],
    [
      'other parameters in the query',
      { ...withFields(), path: '/oauth/token?scope=guides:read&grant_type=x' },
      'guides:read waitlist:write',
    ],
    [
      'a content type with a charset',
      withContentType('application/x-www-form-urlencoded; charset=UTF-8'),
      'guides:read waitlist:write',
    ],
  ] satisfies [string, Partial<HttpRequest>, string][])('accepts %s', async ([_title, request, granted]) => {
    const { body } = await requestAndCheckToken(request)
    expect(body).toMatchObject({ expires_in: 3600, scope: granted })
    const { payload } = await introspect(auth, String(body['access_token']))
    expect(payload.token_introspection).toMatchObject({
      active: true,
      scope: granted,
      aud: 'https://plainpath.example/api',
    })
  })

  test.for([
    ['no grant_type', createFormRequest('x=1'), invalidRequest],
    ['no body', {}, invalidRequest],
    ['an empty grant_type', createFormRequest('grant_type='), invalidRequest],
    ['password', withFields({ grant_type: 'password' }), unsupportedGrantType],
    ['implicit', withFields({ grant_type: 'implicit' }), unsupportedGrantType],
    ['authorization_code', withFields({ grant_type: 'authorization_code' }), unauthorizedClient],
    ['refresh_token', withFields({ grant_type: 'refresh_token' }), unauthorizedClient],
    ['the grant for SAML assertions', withFields({ grant_type: SAML_GRANT }), unsupportedGrantType],
    ['an unknown grant', withFields({ grant_type: CANARY }), unsupportedGrantType],
    ['a grant_type in another case', withFields({ grant_type: 'Client_Credentials' }), unsupportedGrantType],
    [
      'grant_type twice',
      createFormRequest('grant_type=client_credentials&grant_type=client_credentials'),
      invalidRequest,
    ],
    ['scope twice', createFormRequest('grant_type=client_credentials&scope=a&scope=b'), invalidRequest],
    [
      'client_id twice',
      createFormRequest('grant_type=client_credentials&client_id=a&client_id=a'),
      invalidRequest,
    ],
    [
      'an unknown parameter twice',
      createFormRequest('grant_type=client_credentials&x=1&x=1'),
      invalidRequest,
    ],
    ['parameters in the query only', { path: '/oauth/token?grant_type=client_credentials' }, invalidRequest],
    [
      'JSON',
      withContentType('application/json', '{"grant_type":"client_credentials"}'),
      {
        ...invalidRequest,
        says: /accepts a form, not JSON\. Send it as: curl -u .+ -d grant_type=client_credentials$/,
      },
    ],
    [
      'a media type that ends in +json',
      withContentType('application/vnd.api+json', '{}'),
      unsupportedMediaType,
    ],
    ['text', withContentType('text/plain'), unsupportedMediaType],
    ['a multipart form', withContentType('multipart/form-data; boundary=x'), unsupportedMediaType],
    [
      'another charset',
      withContentType('application/x-www-form-urlencoded; charset=utf-16'),
      unsupportedMediaType,
    ],
    [
      'bytes that are not UTF-8',
      // The bytes are `x=` and 0xff, which no UTF-8 text contains.
      { ...createFormRequest(''), body: Uint8Array.of(0x78, 0x3d, 0xff) },
      invalidRequest,
    ],
    [
      'only unknown scopes',
      withFields({ scope: CANARY }),
      { ...invalidScope, says: 'This client can have: guides:read waitlist:write' },
    ],
    [
      'only a scope that needs a verified e-mail address',
      withFields({ scope: 'contact:write' }),
      {
        ...invalidScope,
        says: /contact:write\. For that scope, a person must first confirm the client by e-mail/,
      },
    ],
    ['a quote in the scope', withFields({ scope: 'guides:read"' }), invalidScope],
    ['a backslash in the scope', withFields({ scope: 'guides:read\\' }), invalidScope],
    ['a letter outside ASCII in the scope', withFields({ scope: 'guides:réad' }), invalidScope],
    ['a scope of 4 kB', withFields({ scope: 'x'.repeat(4096) }), invalidScope],
    ['a relative resource', withFields({ resource: '/api' }), invalidTarget],
    [
      'a resource with a fragment',
      withFields({ resource: 'https://plainpath.example/api#x' }),
      invalidTarget,
    ],
    [
      'a resource with a trailing slash',
      withFields({ resource: 'https://plainpath.example/api/' }),
      invalidTarget,
    ],
    [
      'a resource with a capital letter',
      withFields({ resource: 'https://Plainpath.example/api' }),
      invalidTarget,
    ],
    ['the origin as the resource', withFields({ resource: 'https://plainpath.example' }), invalidTarget],
    [
      'the MCP server with a trailing slash',
      withFields({ resource: 'https://plainpath.example/api/mcp/' }),
      invalidTarget,
    ],
    [
      'the MCP server in capitals',
      withFields({ resource: 'https://plainpath.example/api/MCP' }),
      invalidTarget,
    ],
    [
      'a resource with another path',
      withFields({ resource: 'https://plainpath.example/api/other' }),
      invalidTarget,
    ],
    [
      'a path below the MCP server',
      withFields({ resource: 'https://plainpath.example/api/mcp/x' }),
      invalidTarget,
    ],
    [
      'the API and the MCP server as resources',
      createFormRequest(
        'grant_type=client_credentials&resource=https://plainpath.example/api&resource=https://plainpath.example/api/mcp',
      ),
      invalidTarget,
    ],
    [
      'a resource with another host',
      withFields({ resource: 'https://plainpath.example.evil.example/api' }),
      invalidTarget,
    ],
    [
      'two resources',
      createFormRequest(
        'grant_type=client_credentials&resource=https://plainpath.example/api&resource=https://b.example',
      ),
      invalidTarget,
    ],
    [
      'an empty resource twice',
      createFormRequest('grant_type=client_credentials&resource=&resource='),
      invalidTarget,
    ],
    ['33 parameters', withDistinctParameters(32), invalidRequest],
    ['a thousand parameters', withDistinctParameters(1_000), invalidRequest],
    ['one parameter thousands of times', withRepeatedParameter(3_000), invalidRequest],
    [
      'a body over 64 KiB',
      createFormRequest(`grant_type=client_credentials&x=${'x'.repeat(65_536)}`),
      { status: 413, code: 'content-too-large', headers: { connection: 'close' } },
    ],
    [
      'a compressed body',
      { ...withFields(), headers: { 'content-encoding': 'gzip' } },
      { ...unsupportedMediaType, says: 'without Content-Encoding' },
    ],
    [
      'a request from a script of another site',
      { ...withFields(), headers: { 'sec-fetch-site': 'cross-site' } },
      { status: 403, code: 'cross-site-request' },
    ],
  ] satisfies [string, Partial<HttpRequest>, Refusal][])('refuses %s', async ([_title, request, refusal]) => {
    await expectRefusal(auth, () => post(request), refusal)
    // After the refusal, the same client still gets a token.
    await requestAndCheckToken()
  })

  test('returns errors as JSON, whatever Accept says', async () => {
    for (const accept of ['text/html', 'text/html,*/*;q=0.1', 'image/png', 'x'.repeat(8_000)]) {
      await expectRefusal(
        auth,
        () => post({ ...withFields({ grant_type: 'x' }), headers: { accept } }),
        unsupportedGrantType,
      )
      await requestAndCheckToken({ ...withFields(), headers: { accept } })
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
            headers: agentAuthHeader(agent),
          }),
        {
          status: 405,
          code: 'method-not-allowed',
          headers: { allow: /^POST$/ },
        },
      )
    // A response to HEAD has no body, so only its status is checked.
    expect((await send(auth.url, { method: 'HEAD', path: '/oauth/token' })).status).toBe(405)
  })

  test('issues no token to a resource server', async () => {
    await expectRefusal(
      auth,
      () => post({ ...withFields(), headers: basicAuth('rs_api', auth.testbed.secrets.rs_api) }),
      invalidClient,
    )
  })

  test('issues different tokens for twenty simultaneous requests', async () => {
    const issuedTokens = await Promise.all(Array.from({ length: 20 }, () => getToken(auth, agent)))
    expect(new Set(issuedTokens).size).toBe(20)
    expect(await Promise.all(issuedTokens.slice(0, 5).map((token) => isActive(auth, token)))).not.toContain(
      false,
    )
  })

  test('does not log values of request parameters', async () => {
    await requestToken(auth, agent, { ...CLIENT_CREDENTIALS_GRANT, scope: CANARY, resource: CANARY })
    await post({ ...withFields(), path: `/oauth/token?token=${CANARY}` })
    expect(auth.logged.join('')).not.toContain(CANARY)
  })
})
