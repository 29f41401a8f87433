import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agentAuthHeader, createJsonContent, getToken, isActive, register } from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { CANARY, countStored, expectRefusal, expectSafe, type Refusal } from './expect-refusal.ts'
import { formatRawRequest, type HttpRequest, send, sendRaw } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

let auth: RunningAuth
beforeAll(async () => {
  auth = await startAuth()
})
afterAll(async () => {
  await expectNoConfidentialValues(auth)
  await auth[Symbol.asyncDispose]()
})

const REGISTRATION = { method: 'POST', path: '/api/agent/register' }
const JSON_HEADERS = { 'content-type': 'application/json' }
const createContent = (body: HttpRequest['body'], type = 'application/json') => ({
  headers: { 'content-type': type },
  body,
})
const createNamedContent = (name: unknown) => createJsonContent({ client_name: name })
const nestObjects = (levels: number) => `${'{"a":'.repeat(levels)}0${'}'.repeat(levels)}`
const post = (request: Partial<HttpRequest> = {}) => send(auth.url, { ...REGISTRATION, ...request })

async function registerAgent(request: Partial<HttpRequest> = {}) {
  const response = await post(request)
  expect(response.status, response.text).toBe(201)
  const agent = JSON.parse(response.text) as Record<string, unknown>
  auth.confidential.add(String(agent['client_secret']))
  return { response, agent }
}

/**
 * Checks that a valid request is accepted and stores one agent. This shows that only the tested fault caused the preceding
 * refusal.
 */
async function expectAccepted() {
  const storedBefore = await countStored(auth)
  await registerAgent(createJsonContent({ client_name: 'Atlas' }))
  expect(await countStored(auth)).toEqual({
    ...storedBefore,
    agents: Number(storedBefore['agents']) + 1,
    agent_secrets: Number(storedBefore['agent_secrets']) + 1,
  })
}

describe('POST /api/agent/register', () => {
  test('returns 201 with the id, the secret, the scopes and the URLs of a new agent', async () => {
    const { response, agent } = await registerAgent(createJsonContent({ client_name: 'Atlas the guide' }))
    // The body contains the secret, which is confidential everywhere else.
    await expectSafe(auth, { ...response, text: '' })
    expect(agent).toEqual({
      client_id: expect.stringMatching(/^agt_[A-Za-z0-9_-]{22}$/),
      client_secret: expect.stringMatching(/^pps_[A-Za-z0-9_-]{43}$/),
      client_name: 'Atlas the guide',
      identity_type: 'anonymous',
      email_verified: false,
      grant_types: ['client_credentials', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
      scopes: ['guides:read', 'waitlist:write'],
      scope: 'guides:read waitlist:write',
      // Within 5 s.
      client_id_issued_at: expect.closeTo(Date.now() / 1000, -1),
      client_secret_expires_at: 0,
      token_endpoint: 'https://plainpath.example/oauth/token',
      token_endpoint_auth_method: 'client_secret_basic',
      resource: 'https://plainpath.example/api',
      idle_expiry: expect.stringMatching(/^20.*Z$/),
      claim_url: 'https://plainpath.example/api/agent/claim',
      post_claim_scopes: ['guides:read', 'waitlist:write', 'contact:write'],
    })
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  test.for([
    ['a request with neither a body nor a Content-Type', {}],
    ['a Content-Type without a body', { headers: JSON_HEADERS }],
    ['an empty object', createContent('{}')],
    ['a null name', createContent('{"client_name":null}')],
    ['an empty name', createContent('{"client_name":""}')],
    ['a name of blanks', createContent('{"client_name":"   "}')],
    ['the credential type `anonymous`', createContent('{"type":"anonymous"}')],
    [
      'a Content-Type in mixed case, with parameters',
      createContent('{}', 'Application/JSON; charset=UTF-8; x=1'),
    ],
    ['an Authorization header, which is ignored', { headers: { authorization: 'Bearer nothing' } }],
  ] satisfies [string, Partial<HttpRequest>][])('accepts %s', async ([_title, request]) => {
    const { agent } = await registerAgent(request)
    expect(agent).not.toHaveProperty('client_name')
  })

  test.for([
    ['with 200 characters', 'x'.repeat(200)],
    ['with 200 characters of four bytes', '😀'.repeat(200)],
    ['with a letter and 199 combining marks', `Z${'\u0301'.repeat(199)}`],
    ['with markup', '<b onclick="x">Atlas</b> & co'],
    ['that looks like SQL', `'); drop table agents; --`],
    ['that looks like a template', '{{7*7}} ${process.env}'],
    ['with letters of several scripts', 'أطلس アトラス Ａｔｌａｓ'],
  ])('accepts a name %s', async ([_title, name]) => {
    const { agent } = await registerAgent(createJsonContent({ client_name: name }))
    expect(agent['client_name']).toBe(name)
    const { client_id, client_secret } = agent as { client_id: string; client_secret: string }
    const describeResponse = await send(auth.url, {
      path: '/api/agent',
      headers: agentAuthHeader({ client_id, client_secret }),
    })
    expect(JSON.parse(describeResponse.text)).toMatchObject({ client_name: name })
  })

  test('ignores an id, a secret, scopes, grants and other metadata that the client chooses', async () => {
    const otherAgent = await register(auth)
    const { agent } = await registerAgent(
      createJsonContent({
        client_id: otherAgent.client_id,
        client_secret: 'chosen',
        scope: 'contact:write *',
        scopes: ['contact:write'],
        grant_types: ['password', 'implicit', 'authorization_code'],
        token_endpoint_auth_method: 'none',
        redirect_uris: ['java\tscript:alert(1)', 'https://evil.example/'],
        software_statement: 'e30.e30.',
        is_admin: true,
        credentialVersion: 99,
        status: 'active',
        expires_in: 1e9,
        registration_client_uri: 'https://evil.example/',
      }),
    )
    expect(agent).toMatchObject({
      grant_types: ['client_credentials', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
      scope: 'guides:read waitlist:write',
      token_endpoint_auth_method: 'client_secret_basic',
    })
    expect(agent['client_id']).not.toBe(otherAgent.client_id)
    expect(agent['client_secret']).not.toBe('chosen')
    // The service does not offer the registration management of RFC 7592.
    expect(Object.keys(agent)).not.toContain('registration_client_uri')
    // The registration did not replace the other agent.
    expect(await isActive(auth, await getToken(auth, otherAgent))).toBe(true)
  })

  test('accepts a body of exactly 64 KiB', async () => {
    // `{"a":""}` around the text has 8 bytes.
    const { response } = await registerAgent(createContent(`{"a":"${'x'.repeat(65_536 - 8)}"}`))
    expect(response.status).toBe(201)
  })

  test('accepts 16 levels of nesting', async () => {
    const { response } = await registerAgent(createContent(nestObjects(16)))
    expect(response.status).toBe(201)
  })

  test('registers a hundred agents with different ids and secrets, twenty at a time', async () => {
    const agents: Record<string, unknown>[] = []
    for (let round = 0; round < 5; round++) {
      const batch = Array.from({ length: 20 }, () =>
        registerAgent(createJsonContent({ client_name: 'Atlas' })),
      )
      agents.push(...(await Promise.all(batch)).map(({ agent }) => agent))
    }
    expect(new Set(agents.map((agent) => agent['client_id'])).size).toBe(100)
    expect(new Set(agents.map((agent) => agent['client_secret'])).size).toBe(100)
  })
})

const invalidRequest: Refusal = { status: 400, code: 'invalid-request', errorFormat: 'agent' }
const invalidMetadata: Refusal = {
  status: 400,
  code: 'invalid-client-metadata',
  error: 'invalid_client_metadata',
  errorFormat: 'agent',
}
const unsupportedMediaType: Refusal = {
  status: 415,
  code: 'unsupported-media-type',
  errorFormat: 'agent',
  says: 'Send Content-Type: application/json in UTF-8.',
}
const contentTooLarge: Refusal = {
  status: 413,
  code: 'content-too-large',
  errorFormat: 'agent',
  headers: { connection: 'close' },
}
const JSON_CHUNKED = 'Content-Type: application/json\r\nTransfer-Encoding: chunked'

describe('POST /api/agent/register refuses, storing nothing,', () => {
  test.for([
    ['JSON text with another media type', createContent('{}', 'text/plain'), unsupportedMediaType],
    [
      'a list of media types',
      createContent('{}', 'application/json, application/x-www-form-urlencoded'),
      unsupportedMediaType,
    ],
    ['a form', { body: new URLSearchParams({ client_name: 'Atlas' }) }, unsupportedMediaType],
    ['a similar media type', createContent('{}', 'application/json5'), unsupportedMediaType],
    ['a body with an empty Content-Type', createContent('{}', ''), unsupportedMediaType],
    ['another charset', createContent('{}', 'application/json; charset=latin1'), unsupportedMediaType],
    ['an unknown charset', createContent('{}', 'application/json; charset=klingon'), unsupportedMediaType],
    [
      'a compressed body',
      { headers: { ...JSON_HEADERS, 'content-encoding': 'gzip' }, body: '{}' },
      { ...unsupportedMediaType, says: 'without Content-Encoding' },
    ],
    ['incomplete JSON', createContent(`{"client_name":"${CANARY}`), { ...invalidRequest, says: 'not JSON' }],
    ['text after the JSON', createContent(`{} ${CANARY}`), { ...invalidRequest, says: 'not JSON' }],
    ['two JSON texts', createContent('{}{}'), invalidRequest],
    ['a trailing comma', createContent('{"client_name":"x",}'), invalidRequest],
    ['single quotes', createContent(`{'client_name':'x'}`), invalidRequest],
    ['a comment', createContent('{/* */}'), invalidRequest],
    ['NaN', createContent('{"client_name":NaN}'), invalidRequest],
    ['a number that is too large for a double', createContent('{"x":1e400}'), invalidRequest],
    [
      'a duplicate member',
      createContent('{"client_name":"a","client_name":"b"}'),
      { ...invalidRequest, says: 'named twice' },
    ],
    [
      'a duplicate member, escaped once',
      createContent('{"client_name":"a","client\\u005fname":"b"}'),
      invalidRequest,
    ],
    [
      '__proto__',
      createContent('{"__proto__":{"client_name":"x"}}'),
      { ...invalidRequest, says: '__proto__' },
    ],
    [
      'a lone surrogate',
      createContent('{"client_name":"\\ud800"}'),
      { ...invalidRequest, says: 'surrogate' },
    ],
    ['NUL', createContent('{"client_name":"a\\u0000b"}'), { ...invalidRequest, says: 'NUL' }],
    ['a byte order mark', createContent('\uFEFF{}'), invalidRequest],
    ['UTF-16', createContent(Uint8Array.from(Buffer.from('{}', 'utf16le'))), invalidRequest],
    [
      'a byte that is not UTF-8',
      createContent(Uint8Array.of(0x22, 0xff, 0x22)),
      { ...invalidRequest, says: 'UTF-8' },
    ],
    [
      'an overlong UTF-8 encoding',
      createContent(Uint8Array.of(0x22, 0xc0, 0xaf, 0x22)),
      { ...invalidRequest, says: 'UTF-8' },
    ],
    ['17 levels of nesting', createContent(nestObjects(17)), { ...invalidRequest, says: 'deeper than 16' }],
    ['thousands of levels of nesting', createContent('['.repeat(65_000)), invalidRequest],
    ['thousands of items', createContent(`[${'0,'.repeat(32_000)}0]`), invalidMetadata],
    ['an array', createContent('[]'), invalidMetadata],
    ['a string', createContent('"Atlas"'), invalidMetadata],
    ['a number', createContent('0'), invalidMetadata],
    ['null', createContent('null'), invalidMetadata],
    ['a number as the name', createNamedContent(42), invalidMetadata],
    ['an array as the name', createNamedContent(['Atlas']), invalidMetadata],
    ['an object as the name', createNamedContent({ toString: 1 }), invalidMetadata],
    ['true as the name', createNamedContent(true), invalidMetadata],
    ['a name of 201 characters', createNamedContent('x'.repeat(201)), invalidMetadata],
    ['a text-direction override', createNamedContent(`Atlas \u202E${CANARY}`), invalidMetadata],
    ['a bidirectional isolate', createNamedContent('Atlas \u2066'), invalidMetadata],
    ['a line break', createNamedContent('Atlas\r\nBcc: all@example.org'), invalidMetadata],
    ['a line separator', createNamedContent('Atlas\u2028x'), invalidMetadata],
    ['a C1 control character', createNamedContent('Atlas\u009b31m'), invalidMetadata],
    ['a credential type of 101 characters', createJsonContent({ type: 'x'.repeat(101) }), invalidMetadata],
    [
      'a credential type that is not offered',
      createJsonContent({ type: `verified_email ${CANARY}` }),
      {
        status: 400,
        code: 'unsupported-credential-type',
        error: 'unsupported_credential_type',
        errorFormat: 'agent',
      },
    ],
    ['a body of 64 KiB and one byte', createContent(`{"a":"${'x'.repeat(65_536 - 7)}"}`), contentTooLarge],
    ['a body of a megabyte', createContent('x'.repeat(1_000_000)), contentTooLarge],
    [
      'a request from a script of another site',
      { headers: { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' } },
      { status: 403, code: 'cross-site-request', errorFormat: 'agent' },
    ],
  ] satisfies [string, Partial<HttpRequest>, Refusal][])('%s', async ([_title, request, expected]) => {
    await expectRefusal(auth, () => post(request), expected)
    await expectAccepted()
  })

  test('a request with two mistakes, and names both', async () => {
    const response = await expectRefusal(
      auth,
      () => post(createJsonContent({ client_name: 1, type: 2 })),
      invalidMetadata,
    )
    const { errors } = JSON.parse(response.text) as { errors: { pointer: string }[] }
    expect(errors.map(({ pointer }) => pointer)).toEqual(['#/client_name', '#/type'])
  })

  test.for(['GET', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'])('%s with 405', async (method) => {
    const response = await send(auth.url, { ...REGISTRATION, method })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
    await expectSafe(auth, response)
  })

  test.for([
    [
      'a body of 64 KiB and one byte in chunks',
      // 10001, hexadecimal, is 64 KiB and one byte.
      [JSON_CHUNKED, '', '10001', `"${'x'.repeat(0x10001 - 2)}"`, '0', '', ''],
      contentTooLarge,
    ],
    [
      'a Content-Length that ends the body too early',
      ['Content-Type: application/json', 'Content-Length: 1', '', '{'],
      invalidRequest,
    ],
  ] satisfies [string, string[], Refusal][])('%s', async ([_title, lines, expected]) => {
    const request = [
      'POST /api/agent/register HTTP/1.1',
      'Host: plainpath.example',
      'Connection: close',
      ...lines,
    ]
    await expectRefusal(auth, async () => (await sendRaw(auth.url, request.join('\r\n')))[0]!, expected)
    await expectAccepted()
  })

  test('a second Host header', async () => {
    const request = formatRawRequest('POST /api/agent/register', [
      'Host: plainpath.example',
      'Content-Length: 0',
    ])
    await expectRefusal(auth, async () => (await sendRaw(auth.url, request))[0]!, invalidRequest)
    await expectAccepted()
  })
})
