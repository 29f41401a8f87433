import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  asAgent,
  basic,
  deleteAgent,
  getToken,
  isActive,
  json,
  register,
  requestToken,
} from './agent-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { countStored, expectRefusal, expectSafe, type Refusal } from './expect-refusal.ts'
import {
  assertionFields,
  assertionOf,
  inHeader,
  type KeyAgent,
  newKey,
  registerKeys,
  tokenByKey,
  tokenFor,
} from './key-agent.ts'
import { type HttpRequest, type HttpResponse, rawRequest, send, sendRaw } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

const metadata: Refusal = {
  status: 400,
  code: 'invalid-client-metadata',
  error: 'invalid_client_metadata',
  form: 'agent',
}
const nobody: Refusal = { status: 401, code: 'invalid-client', error: 'invalid_client', form: 'agent' }
const invalid: Refusal = { status: 400, code: 'invalid-request', form: 'agent' }
/** As an older PyJWT wrote it: 31 bytes for an `x` that begins with a zero byte. */
const SHORT_P256: JWK = {
  kty: 'EC',
  crv: 'P-256',
  x: '9I5e9IDGElnxKkxVBdig2MLYHfphuOB5bnqfliRfQQ',
  y: 'hXNGVwbYG0WoWkJLJQE-SEaWU6Md4v3ItQCVkIjT_og',
}

let auth: RunningAuth
let p256: JWK
let ed25519: JWK
let secrets: JWK
let rsa: JWK
beforeAll(async () => {
  auth = await startAuth()
  const pair = await generateKeyPair('ES256', { extractable: true })
  p256 = await exportJWK(pair.publicKey)
  secrets = await exportJWK(pair.privateKey)
  ed25519 = (await newKey('EdDSA', null)).jwk
  rsa = await exportJWK((await generateKeyPair('RS256', { extractable: true })).publicKey)
})
afterAll(async () => {
  auth.confidential.add(secrets.d!)
  auth.confidential.add('pps_none')
  await expectNothingInClear(auth)
  await auth[Symbol.asyncDispose]()
})

const post = (body: unknown) => send(auth.url, { method: 'POST', path: '/api/agent/register', ...json(body) })
const put = (headers: Record<string, string>, body: unknown, more: Partial<HttpRequest> = {}) => {
  const sent = json(body)
  return send(auth.url, {
    method: 'PUT',
    path: '/api/agent/jwks',
    ...sent,
    headers: { ...sent.headers, ...headers },
    ...more,
  })
}
const parsed = (response: HttpResponse) =>
  JSON.parse(response.text) as Record<string, unknown> & { jwks: { keys: JWK[] } }

describe('registering keys', () => {
  test('returns the keys with their kids, and no secret', async () => {
    const storedBefore = await countStored(auth)
    const response = await post({
      client_name: 'Atlas',
      jwks: { keys: [{ ...p256, ext: true, key_ops: ['verify'] }] },
    })
    expect(response.status, response.text).toBe(201)
    await expectSafe(auth, response)
    expect(parsed(response)).toEqual({
      client_id: expect.stringMatching(/^agt_/),
      client_name: 'Atlas',
      identity_type: 'anonymous',
      email_verified: false,
      grant_types: ['client_credentials', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
      scopes: ['guides:read', 'waitlist:write'],
      scope: 'guides:read waitlist:write',
      client_id_issued_at: expect.any(Number),
      token_endpoint: 'https://plainpath.example/oauth/token',
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_signing_alg: 'ES256',
      jwks: { keys: [{ ...p256, kid: await calculateJwkThumbprint(p256), alg: 'ES256', use: 'sig' }] },
      resource: 'https://plainpath.example/api',
      idle_expiry: expect.stringMatching(/^20.*Z$/),
      claim_url: 'https://plainpath.example/api/agent/claim',
      post_claim_scopes: ['guides:read', 'waitlist:write', 'contact:write'],
    })
    expect(await countStored(auth)).toEqual({ ...storedBefore, agents: Number(storedBefore['agents']) + 1 })
  })

  test.for([
    ['three keys of both kinds', () => [p256, ed25519, { ...p256, kid: 'again' }]],
    ['a key with all that may stand there', () => [{ ...p256, kid: 'k', alg: 'ES256', use: 'sig' }]],
    ['an Ed25519 key by its new name', () => [{ ...ed25519, alg: 'Ed25519' }]],
    ['null for what is left out', () => [{ ...p256, kid: null, alg: null, use: null, key_ops: null }]],
  ] satisfies [string, () => object[]][])('takes %s', async ([_what, keys]) => {
    const response = await post({ jwks: { keys: keys() } })
    expect([response.status, parsed(response).jwks.keys.length]).toEqual([201, keys().length])
  })

  const REFUSED: [string, () => unknown, string | RegExp][] = [
    ['a private key', () => [secrets], 'is secret'],
    ['a symmetric key', () => [{ kty: 'oct', k: 'AAAA', crv: '', x: '' }], 'is secret'],
    ['a symmetric key as it is', () => [{ kty: 'oct', k: 'AAAA' }], 'missing'],
    ['an RSA key', () => [{ ...rsa, crv: '', x: '' }], 'Send'],
    ['an RSA key as it is', () => [rsa], 'missing'],
    ['another curve', () => [{ ...p256, crv: 'P-384' }], 'Send'],
    ['the curve of Bitcoin', () => [{ ...p256, crv: 'secp256k1' }], 'Send'],
    ['a key for agreement', () => [{ kty: 'OKP', crv: 'X25519', x: ed25519.x }], 'Send'],
    ['no key', () => [], '1 to 3'],
    ['four keys', () => ['a', 'b', 'c', 'd'].map((kid) => ({ ...p256, kid })), '1 to 3'],
    ['one key twice', () => [p256, p256], 'two keys with the same kid'],
    [
      'one kid twice',
      () => [
        { ...p256, kid: 'k' },
        { ...ed25519, kid: 'k' },
      ],
      'two keys with the same kid',
    ],
    ['a coordinate without its leading zero byte', () => [SHORT_P256], 'leading zero bytes included'],
    ['a point beside P-256', () => [{ ...p256, y: p256.x }], 'no point'],
    ['zero', () => [{ ...p256, x: 'A'.repeat(43), y: 'A'.repeat(43) }], 'no point'],
    ['a point beside Ed25519', () => [{ ...ed25519, x: 'Ag'.padEnd(43, 'A') }], 'no usable point'],
    ['a point under which anybody can sign', () => [{ ...ed25519, x: 'AQ'.padEnd(43, 'A') }], 'no usable'],
    ['a point that is too short', () => [{ ...p256, x: 'AAAA' }], '32 bytes'],
    ['a point in other letters', () => [{ ...p256, x: `${p256.x!.slice(0, -1)}=` }], '32 bytes'],
    ['half a point', () => [{ ...p256, y: undefined }], '32 bytes'],
    ['another algorithm', () => [{ ...p256, alg: 'RS256' }], 'ES256'],
    ['the algorithm of the other curve', () => [{ ...p256, alg: 'EdDSA' }], 'ES256'],
    ['a key for encryption', () => [{ ...p256, use: 'enc' }], 'sig'],
    ['a key that does not verify', () => [{ ...p256, key_ops: ['sign'] }], 'verify'],
    ['the address of a certificate', () => [{ ...p256, x5u: 'https://evil.example' }], 'not read here'],
    ['a certificate', () => [{ ...p256, x5c: ['AAAA'] }], 'not read here'],
    ['a kid of 129 characters', () => [{ ...p256, kid: 'x'.repeat(129) }], '1 to 128'],
    ['an empty kid', () => [{ ...p256, kid: '' }], '1 to 128'],
    ['a kid with a line break', () => [{ ...p256, kid: 'a\nb' }], '1 to 128'],
    ['a key that is no object', () => ['key'], 'object'],
    ['keys that are no list', () => ({ 0: p256 }), 'array'],
  ]

  test.for(REFUSED)('%s is refused at both endpoints', async ([_what, keys, says]) => {
    const agent = await register(auth)
    await expectRefusal(auth, () => post({ jwks: { keys: keys() } }), { ...metadata, says })
    await expectRefusal(auth, () => put(asAgent(agent), { keys: keys() }), { ...metadata, says })
    expect((await requestToken(auth, agent)).status).toBe(200)
  })

  test.for([
    ['the address of keys', () => ({ jwks_uri: 'http://169.254.169.254/latest' }), 'as jwks'],
    ['the address beside keys', () => ({ jwks_uri: 'https://a.example', jwks: { keys: [p256] } }), 'as jwks'],
    ['keys that are no set', () => ({ jwks: [p256] }), 'object'],
    ['a set without keys', () => ({ jwks: {} }), 'missing'],
  ] satisfies [string, () => object, string][])('%s is refused', async ([_what, body, says]) => {
    await expectRefusal(auth, () => post(body()), { ...metadata, says })
    expect((await post({ jwks_uri: null, jwks: null })).status).toBe(201)
  })
})

describe('PUT /api/agent/jwks', () => {
  test('replaces a client’s secret by keys, and revokes its tokens', async () => {
    const agent = await register(auth)
    const token = await getToken(auth, agent)
    const key = await newKey('EdDSA', 'my-key')
    const response = await put(asAgent(agent), { keys: [key.jwk] })
    expect(response.status, response.text).toBe(200)
    await expectSafe(auth, response)
    const keyed: KeyAgent = { client_id: agent.client_id, key }
    const shown = await send(auth.url, { path: '/api/agent', headers: await inHeader(auth, keyed) })
    const { warning, ...described } = parsed(response)
    expect(JSON.parse(shown.text)).toEqual(described)
    expect(warning).toMatch(
      /^The request has no proof that you can sign with the new key my-key\. Try it now/,
    )
    expect(parsed(shown)).toMatchObject({
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_signing_alg: 'EdDSA',
      jwks: { keys: [{ kid: 'my-key' }] },
    })
    expect(shown.text).not.toContain('client_secret')
    expect((await requestToken(auth, agent)).status).toBe(401)
    expect((await tokenByKey(auth, keyed)).status).toBe(200)
    expect(await isActive(auth, token)).toBe(false)
    const { rows } = await auth.stores.db.query('select id from agent_secrets where agent_id = $1', [
      agent.client_id,
    ])
    expect(rows).toEqual([])
  })

  test('replaces all keys, and rejects an old one, also with an assertion made before', async () => {
    const agent = await registerKeys(auth)
    const early = assertionFields(await assertionOf(auth, agent))
    const key = await newKey()
    expect((await put(await inHeader(auth, agent), { keys: [key.jwk] })).status).toBe(200)
    expect((await tokenFor(auth, early)).status).toBe(401)
    expect((await tokenByKey(auth, agent)).status).toBe(401)
    expect((await tokenByKey(auth, { ...agent, key })).status).toBe(200)
  })

  test('accepts an assertion once, whatever the outcome of the request', async () => {
    const agent = await registerKeys(auth)
    const headers = await inHeader(auth, agent)
    await expectRefusalAfterAuthentication(() => put(headers, { keys: [] }))
    await expectRefusal(auth, () => put(headers, { keys: [agent.key.jwk] }), nobody)
  })
  async function expectRefusalAfterAuthentication(sendWith: () => Promise<HttpResponse>) {
    const response = await sendWith()
    expect([response.status, parsed(response)['error']]).toEqual([400, 'invalid_client_metadata'])
  }

  test.for(['GET', 'POST', 'DELETE', 'PATCH'])('rejects %s with 405', async (method) => {
    await expectRefusal(auth, () => send(auth.url, { method, path: '/api/agent/jwks' }), {
      status: 405,
      code: 'method-not-allowed',
      form: 'agent',
      headers: { allow: 'PUT' },
    })
  })

  test('refuses to replace keys for a script of another site', async () => {
    const agent = await register(auth)
    const headers = { ...asAgent(agent), 'sec-fetch-site': 'cross-site' }
    await expectRefusal(auth, () => put(headers, { keys: [p256] }), {
      status: 403,
      code: 'cross-site-request',
      form: 'agent',
    })
    expect((await requestToken(auth, agent)).status).toBe(200)
  })
})

describe.for([
  ['GET', '/api/agent'],
  ['DELETE', '/api/agent'],
  ['PUT', '/api/agent/jwks'],
] as const)('%s %s with the header Client-Assertion', ([method, path]) => {
  const sendWith = (headers: Record<string, string>) =>
    method === 'PUT' ? put(headers, { keys: [p256] }) : send(auth.url, { method, path, headers })
  let agent: KeyAgent
  beforeAll(async () => {
    agent = await registerKeys(auth)
  })

  test('accepts each assertion once', async () => {
    const fresh = await registerKeys(auth)
    const headers = await inHeader(auth, fresh)
    expect((await sendWith(headers)).status).toBe(method === 'DELETE' ? 204 : 200)
    await expectRefusal(auth, () => sendWith(headers), nobody)
  })

  test.for([
    ['for another server', async () => claiming({ aud: 'https://other.example' }), nobody],
    ['over', async () => claiming({ exp: 1, iat: undefined }), nobody],
    ['what is no JWT', async () => ({ 'client-assertion': 'x' }), nobody],
    ['an empty one', async () => ({ 'client-assertion': '' }), nobody],
    [
      'as a bearer token',
      async () => ({ authorization: `Bearer ${await assertionOf(auth, agent)}` }),
      nobody,
    ],
    [
      'beside Basic',
      async () => ({ ...(await inHeader(auth, agent)), ...basic(agent.client_id, 'x') }),
      invalid,
    ],
  ] satisfies [string, () => Promise<Record<string, string>>, Refusal][])(
    'refuses %s',
    async ([_why, headers, expected]) => {
      const sent = await headers()
      await expectRefusal(auth, () => sendWith(sent), expected)
      expect((await tokenByKey(auth, agent)).status).toBe(200)
    },
  )
  const claiming = async (claims: Record<string, unknown>) => ({
    'client-assertion': await assertionOf(auth, agent, claims),
  })

  test('refuses a request with two of these headers', async () => {
    const lines = await Promise.all(
      [1, 2].map(async () => `Client-Assertion: ${await assertionOf(auth, agent)}`),
    )
    const request = rawRequest(`${method} ${path}`, [...lines, 'Content-Length: 0'])
    await expectRefusal(auth, async () => (await sendRaw(auth.url, request))[0]!, invalid)
  })
})

test('rejects a deleted or disabled client with keys, and its tokens', async () => {
  const [deleted, disabled] = [await registerKeys(auth), await registerKeys(auth)]
  const tokenOf = async (agent: KeyAgent) => String(parsed(await tokenByKey(auth, agent))['access_token'])
  const token = await tokenOf(deleted)
  expect(await isActive(auth, token)).toBe(true)
  const response = await send(auth.url, {
    method: 'DELETE',
    path: '/api/agent',
    headers: await inHeader(auth, deleted),
  })
  expect(response.status).toBe(204)
  expect(await isActive(auth, token)).toBe(false)
  const { rows } = await auth.stores.db.query('select status, jwks from agents where id = $1', [
    deleted.client_id,
  ])
  expect(rows).toEqual([{ status: 'deleted', jwks: null }])
  await auth.stores.db.query(`update agents set status = 'disabled' where id = $1`, [disabled.client_id])
  for (const each of [deleted, disabled])
    await expect.poll(async () => (await tokenByKey(auth, each)).status).toBe(401)
  await auth.stores.db.query(`update agents set status = 'active' where id = $1`, [disabled.client_id])
  await expect.poll(async () => (await tokenByKey(auth, disabled)).status).toBe(200)
  const other = await register(auth)
  expect((await deleteAgent(auth, other)).status).toBe(204)
})
