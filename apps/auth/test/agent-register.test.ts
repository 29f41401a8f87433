import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { asAgent, getToken, isActive, json, register } from './agent-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { CANARY, countStored, expectRefusal, expectSafe, type Refusal } from './expect-refusal.ts'
import { type HttpRequest, rawRequest, send, sendRaw } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

let auth: RunningAuth
beforeAll(async () => {
  auth = await startAuth()
})
afterAll(async () => {
  await expectNothingInClear(auth)
  await auth[Symbol.asyncDispose]()
})

const POST = { method: 'POST', path: '/api/agent/register' }
const JSON_TYPE = { 'content-type': 'application/json' }
const text = (body: HttpRequest['body'], type = 'application/json') => ({
  headers: { 'content-type': type },
  body,
})
const post = (request: Partial<HttpRequest> = {}) => send(auth.url, { ...POST, ...request })

async function registered(request: Partial<HttpRequest> = {}) {
  const response = await post(request)
  expect(response.status, response.text).toBe(201)
  const agent = JSON.parse(response.text) as Record<string, unknown>
  auth.confidential.add(String(agent['client_secret']))
  return { response, agent }
}

/** The good twin of every refusal. */
async function expectAccepted() {
  const storedBefore = await countStored(auth)
  await registered(json({ client_name: 'Atlas' }))
  expect(await countStored(auth)).toEqual({
    ...storedBefore,
    agents: Number(storedBefore['agents']) + 1,
    agent_secrets: Number(storedBefore['agent_secrets']) + 1,
  })
}

describe('POST /api/agent/register', () => {
  test('returns 201 with everything that an agent needs, once', async () => {
    const { response, agent } = await registered(json({ client_name: 'Atlas the guide' }))
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
    ['no body and no type', {}],
    ['a type and no body', { headers: JSON_TYPE }],
    ['an empty object', text('{}')],
    ['no name', text('{"client_name":null}')],
    ['an empty name', text('{"client_name":""}')],
    ['a name of blanks', text('{"client_name":"   "}')],
    ['the type that is understood', text('{"type":"anonymous"}')],
    ['a type in capitals, with parameters', text('{}', 'Application/JSON; charset=UTF-8; x=1')],
    ['an Authorization that means nothing here', { headers: { authorization: 'Bearer nothing' } }],
  ] satisfies [string, Partial<HttpRequest>][])('accepts %s', async ([_why, request]) => {
    const { agent } = await registered(request)
    expect(agent).not.toHaveProperty('client_name')
  })

  test.for([
    ['200 characters', 'x'.repeat(200)],
    ['200 characters of four bytes', '😀'.repeat(200)],
    ['a flood of combining marks', `Z${'\u0301'.repeat(199)}`],
    ['markup, which is only text', '<b onclick="x">Atlas</b> & co'],
    ['what looks like SQL', `'); drop table agents; --`],
    ['what looks like a template', '{{7*7}} ${process.env}'],
    ['letters of any script', 'أطلس アトラス Ａｔｌａｓ'],
  ])('accepts a name of %s', async ([_what, name]) => {
    const { agent } = await registered(json({ client_name: name }))
    expect(agent['client_name']).toBe(name)
    const { client_id, client_secret } = agent as { client_id: string; client_secret: string }
    const shown = await send(auth.url, { path: '/api/agent', headers: asAgent({ client_id, client_secret }) })
    expect(JSON.parse(shown.text)).toMatchObject({ client_name: name })
  })

  test('ignores an id, a secret, scopes and grants that the client chooses', async () => {
    const other = await register(auth)
    const { agent } = await registered(
      json({
        client_id: other.client_id,
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
    expect(agent['client_id']).not.toBe(other.client_id)
    expect(agent['client_secret']).not.toBe('chosen')
    // The service does not offer the registration management of RFC 7592.
    expect(Object.keys(agent)).not.toContain('registration_client_uri')
    expect(await isActive(auth, await getToken(auth, other))).toBe(true)
  })

  test('registers a hundred agents, many of them simultaneously', async () => {
    const all: Record<string, unknown>[] = []
    for (let round = 0; round < 5; round++) {
      const batch = Array.from({ length: 20 }, () => registered(json({ client_name: 'Atlas' })))
      all.push(...(await Promise.all(batch)).map(({ agent }) => agent))
    }
    expect(new Set(all.map((agent) => agent['client_id'])).size).toBe(100)
    expect(new Set(all.map((agent) => agent['client_secret'])).size).toBe(100)
  })
})

const invalid: Refusal = { status: 400, code: 'invalid-request', form: 'agent' }
const metadata: Refusal = {
  status: 400,
  code: 'invalid-client-metadata',
  error: 'invalid_client_metadata',
  form: 'agent',
}
const media: Refusal = {
  status: 415,
  code: 'unsupported-media-type',
  form: 'agent',
  says: 'Send Content-Type: application/json in UTF-8.',
}
const large: Refusal = {
  status: 413,
  code: 'content-too-large',
  form: 'agent',
  headers: { connection: 'close' },
}
const named = (name: unknown) => json({ client_name: name })
const JSON_CHUNKED = 'Content-Type: application/json\r\nTransfer-Encoding: chunked'
const deep = (levels: number) => `${'{"a":'.repeat(levels)}0${'}'.repeat(levels)}`

describe('POST /api/agent/register refuses, storing nothing,', () => {
  test.for([
    ['JSON text of another type', text('{}', 'text/plain'), media],
    ['a list of types', text('{}', 'application/json, application/x-www-form-urlencoded'), media],
    ['a form', { body: new URLSearchParams({ client_name: 'Atlas' }) }, media],
    ['a type like ours', text('{}', 'application/json5'), media],
    ['a body without a type', text('{}', ''), media],
    ['another charset', text('{}', 'application/json; charset=latin1'), media],
    ['an unknown charset', text('{}', 'application/json; charset=klingon'), media],
    [
      'a compressed body',
      { headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body: '{}' },
      { ...media, says: 'without Content-Encoding' },
    ],
    ['half of JSON', text(`{"client_name":"${CANARY}`), { ...invalid, says: 'not JSON' }],
    ['something behind it', text(`{} ${CANARY}`), { ...invalid, says: 'not JSON' }],
    ['two documents', text('{}{}'), invalid],
    ['a comma too many', text('{"client_name":"x",}'), invalid],
    ['single quotes', text(`{'client_name':'x'}`), invalid],
    ['a comment', text('{/* */}'), invalid],
    ['NaN', text('{"client_name":NaN}'), invalid],
    ['a number past all numbers', text('{"x":1e400}'), invalid],
    ['a member twice', text('{"client_name":"a","client_name":"b"}'), { ...invalid, says: 'named twice' }],
    ['a member twice, once escaped', text('{"client_name":"a","client\\u005fname":"b"}'), invalid],
    ['__proto__', text('{"__proto__":{"client_name":"x"}}'), { ...invalid, says: '__proto__' }],
    ['half a surrogate pair', text('{"client_name":"\\ud800"}'), { ...invalid, says: 'surrogate' }],
    ['NUL', text('{"client_name":"a\\u0000b"}'), { ...invalid, says: 'NUL' }],
    ['a byte order mark', text('\uFEFF{}'), invalid],
    ['UTF-16', text(Uint8Array.from(Buffer.from('{}', 'utf16le'))), invalid],
    ['a byte that is no UTF-8', text(Uint8Array.of(0x22, 0xff, 0x22)), { ...invalid, says: 'UTF-8' }],
    ['an overlong encoding', text(Uint8Array.of(0x22, 0xc0, 0xaf, 0x22)), { ...invalid, says: 'UTF-8' }],
    ['17 levels', text(deep(17)), { ...invalid, says: 'deeper than 16' }],
    ['thousands of levels', text('['.repeat(16_000)), invalid],
    ['thousands of items', text(`[${'0,'.repeat(8_000)}0]`), metadata],
    ['an array', text('[]'), metadata],
    ['a string', text('"Atlas"'), metadata],
    ['a number', text('0'), metadata],
    ['null', text('null'), metadata],
    ['a number as name', named(42), metadata],
    ['an array as name', named(['Atlas']), metadata],
    ['an object as name', named({ toString: 1 }), metadata],
    ['true as name', named(true), metadata],
    ['201 characters', named('x'.repeat(201)), metadata],
    ['a text-direction override', named(`Atlas \u202E${CANARY}`), metadata],
    ['an isolate', named('Atlas \u2066'), metadata],
    ['a line break', named('Atlas\r\nBcc: all@example.org'), metadata],
    ['a line separator', named('Atlas\u2028x'), metadata],
    ['a C1 control', named('Atlas\u009b31m'), metadata],
    ['a type of 101 characters', json({ type: 'x'.repeat(101) }), metadata],
    [
      'a type that is not offered',
      json({ type: `verified_email ${CANARY}` }),
      {
        status: 400,
        code: 'unsupported-credential-type',
        error: 'unsupported_credential_type',
        form: 'agent',
      },
    ],
    ['16 KiB and one', text(`{"a":"${'x'.repeat(16_384 - 7)}"}`), large],
    ['a megabyte', text('x'.repeat(1_000_000)), large],
    [
      'another site’s script',
      { headers: { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' } },
      { status: 403, code: 'cross-site-request', form: 'agent' },
    ],
  ] satisfies [string, Partial<HttpRequest>, Refusal][])('%s', async ([_why, request, expected]) => {
    await expectRefusal(auth, () => post(request), expected)
    await expectAccepted()
  })

  test('names all mistakes at once', async () => {
    const response = await expectRefusal(auth, () => post(json({ client_name: 1, type: 2 })), metadata)
    const { errors } = JSON.parse(response.text) as { errors: { pointer: string }[] }
    expect(errors.map(({ pointer }) => pointer)).toEqual(['#/client_name', '#/type'])
  })

  test('reads a body of exactly 16 KiB', async () => {
    const { response } = await registered(text(`{"a":"${'x'.repeat(16_384 - 8)}"}`))
    expect(response.status).toBe(201)
  })

  test('reads 16 levels of nesting', async () => {
    const { response } = await registered(text(deep(16)))
    expect(response.status).toBe(201)
  })

  test.for(['GET', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'])('%s', async (method) => {
    const response = await send(auth.url, { ...POST, method })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
    await expectSafe(auth, response)
  })

  test.for([
    [
      '16 KiB and one in chunks',
      [JSON_CHUNKED, '', '4001', `"${'x'.repeat(0x4000 - 1)}"x`, '0', '', ''],
      large,
    ],
    [
      'a length that ends the body too early',
      ['Content-Type: application/json', 'Content-Length: 1', '', '{'],
      invalid,
    ],
  ] satisfies [string, string[], Refusal][])('%s', async ([_why, lines, expected]) => {
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
    const request = rawRequest('POST /api/agent/register', ['Host: plainpath.example', 'Content-Length: 0'])
    await expectRefusal(auth, async () => (await sendRaw(auth.url, request))[0]!, invalid)
    await expectAccepted()
  })
})
