import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  agentAuthHeader,
  basicAuth,
  createJsonContent,
  deleteAgent,
  getToken,
  isActive,
  register,
  requestToken,
} from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { countStored, expectRefusal, expectSafe, type Refusal } from './expect-refusal.ts'
import {
  createAssertionFields,
  createAssertionHeader,
  generateTestKeyPair,
  type KeyAgent,
  registerKeys,
  requestTokenWithFields,
  requestTokenWithNewAssertion,
  signAssertion,
} from './key-agent.ts'
import { formatRawRequest, type HttpResponse, send, sendRaw } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

const invalidMetadata: Refusal = {
  status: 400,
  code: 'invalid-client-metadata',
  error: 'invalid_client_metadata',
  errorFormat: 'agent',
}
const invalidClient: Refusal = {
  status: 401,
  code: 'invalid-client',
  error: 'invalid_client',
  errorFormat: 'agent',
}
const invalidRequest: Refusal = { status: 400, code: 'invalid-request', errorFormat: 'agent' }
/** A key whose `x` has 31 bytes, because its leading zero byte was dropped. An older PyJWT wrote keys like this. */
const KEY_WITHOUT_ZERO_BYTE: JWK = {
  kty: 'EC',
  crv: 'P-256',
  x: '9I5e9IDGElnxKkxVBdig2MLYHfphuOB5bnqfliRfQQ',
  y: 'hXNGVwbYG0WoWkJLJQE-SEaWU6Md4v3ItQCVkIjT_og',
}

let auth: RunningAuth
let p256: JWK
let ed25519: JWK
let privateJwk: JWK
let rsa: JWK
beforeAll(async () => {
  auth = await startAuth()
  const pair = await generateKeyPair('ES256', { extractable: true })
  p256 = await exportJWK(pair.publicKey)
  privateJwk = await exportJWK(pair.privateKey)
  ed25519 = (await generateTestKeyPair('EdDSA', null)).jwk
  rsa = await exportJWK((await generateKeyPair('RS256', { extractable: true })).publicKey)
})
afterAll(async () => {
  auth.confidential.add(privateJwk.d!)
  auth.confidential.add('pps_none')
  await expectNoConfidentialValues(auth)
  await auth[Symbol.asyncDispose]()
})

const post = (body: unknown) =>
  send(auth.url, { method: 'POST', path: '/api/agent/register', ...createJsonContent(body) })
const put = (headers: Record<string, string>, body: unknown) => {
  const content = createJsonContent(body)
  return send(auth.url, {
    method: 'PUT',
    path: '/api/agent/jwks',
    ...content,
    headers: { ...content.headers, ...headers },
  })
}
const parseBody = (response: HttpResponse) =>
  JSON.parse(response.text) as Record<string, unknown> & { jwks: { keys: JWK[] } }

describe('registering keys', () => {
  test('returns 201 with the keys and their kids, and without a secret', async () => {
    const storedBefore = await countStored(auth)
    const response = await post({
      client_name: 'Atlas',
      jwks: { keys: [{ ...p256, ext: true, key_ops: ['verify'] }] },
    })
    expect(response.status, response.text).toBe(201)
    await expectSafe(auth, response)
    expect(parseBody(response)).toEqual({
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
    [
      'three keys on two curves, two of which differ only in kid',
      () => [p256, ed25519, { ...p256, kid: 'again' }],
    ],
    ['a key with kid, alg and use', () => [{ ...p256, kid: 'k', alg: 'ES256', use: 'sig' }]],
    ['an Ed25519 key with its new algorithm name', () => [{ ...ed25519, alg: 'Ed25519' }]],
    ['null for optional parameters', () => [{ ...p256, kid: null, alg: null, use: null, key_ops: null }]],
  ] satisfies [string, () => object[]][])('accepts %s', async ([_title, keys]) => {
    const response = await post({ jwks: { keys: keys() } })
    expect([response.status, parseBody(response).jwks.keys.length]).toEqual([201, keys().length])
  })

  // The columns: the title, the keys, and the text that the detail contains.
  const REFUSED: [string, () => unknown, string | RegExp][] = [
    ['a private key', () => [privateJwk], 'is secret'],
    ['a symmetric key with crv and x', () => [{ kty: 'oct', k: 'AAAA', crv: '', x: '' }], 'is secret'],
    ['a symmetric key', () => [{ kty: 'oct', k: 'AAAA' }], 'missing'],
    ['an RSA key with crv and x', () => [{ ...rsa, crv: '', x: '' }], 'Send'],
    ['an RSA key', () => [rsa], 'missing'],
    ['another curve', () => [{ ...p256, crv: 'P-384' }], 'Send'],
    ['the curve of Bitcoin', () => [{ ...p256, crv: 'secp256k1' }], 'Send'],
    ['a key for agreement', () => [{ kty: 'OKP', crv: 'X25519', x: ed25519.x }], 'Send'],
    ['no key', () => [], '1 to 3'],
    ['four keys', () => ['a', 'b', 'c', 'd'].map((kid) => ({ ...p256, kid })), '1 to 3'],
    ['the same key twice', () => [p256, p256], 'two keys with the same kid'],
    [
      'two keys with the same kid',
      () => [
        { ...p256, kid: 'k' },
        { ...ed25519, kid: 'k' },
      ],
      'two keys with the same kid',
    ],
    [
      'a coordinate without its leading zero byte',
      () => [KEY_WITHOUT_ZERO_BYTE],
      'leading zero bytes included',
    ],
    ['a point that is not on P-256', () => [{ ...p256, y: p256.x }], 'no point'],
    // `A` is zero in base64url.
    ['the point zero', () => [{ ...p256, x: 'A'.repeat(43), y: 'A'.repeat(43) }], 'no point'],
    ['a point that is not on Ed25519', () => [{ ...ed25519, x: 'Ag'.padEnd(43, 'A') }], 'no usable point'],
    // The encoding of the neutral element.
    ['a point for which anybody can sign', () => [{ ...ed25519, x: 'AQ'.padEnd(43, 'A') }], 'no usable'],
    ['a coordinate that is too short', () => [{ ...p256, x: 'AAAA' }], '32 bytes'],
    ['a coordinate with padding', () => [{ ...p256, x: `${p256.x!.slice(0, -1)}=` }], '32 bytes'],
    ['a point without y', () => [{ ...p256, y: undefined }], '32 bytes'],
    ['another algorithm', () => [{ ...p256, alg: 'RS256' }], 'ES256'],
    ['the algorithm of the other curve', () => [{ ...p256, alg: 'EdDSA' }], 'ES256'],
    ['an empty algorithm', () => [{ ...p256, alg: '' }], 'ES256'],
    ['a key for encryption', () => [{ ...p256, use: 'enc' }], 'sig'],
    ['a key with an empty use', () => [{ ...p256, use: '' }], 'sig'],
    ['a key that is not for verifying', () => [{ ...p256, key_ops: ['sign'] }], 'verify'],
    ['the URL of a certificate', () => [{ ...p256, x5u: 'https://evil.example' }], 'not read here'],
    ['a certificate', () => [{ ...p256, x5c: ['AAAA'] }], 'not read here'],
    ['a kid of 129 characters', () => [{ ...p256, kid: 'x'.repeat(129) }], '1 to 128'],
    ['an empty kid', () => [{ ...p256, kid: '' }], '1 to 128'],
    ['a kid with a line break', () => [{ ...p256, kid: 'a\nb' }], '1 to 128'],
    ['a key that is not an object', () => ['key'], 'object'],
    ['keys that are not a list', () => ({ 0: p256 }), 'array'],
  ]

  test.for(REFUSED)('refuses %s at both endpoints', async ([_title, keys, says]) => {
    const agent = await register(auth)
    await expectRefusal(auth, () => post({ jwks: { keys: keys() } }), { ...invalidMetadata, says })
    await expectRefusal(auth, () => put(agentAuthHeader(agent), { keys: keys() }), {
      ...invalidMetadata,
      says,
    })
    expect((await requestToken(auth, agent)).status).toBe(200)
  })

  test.for([
    ['the URL of keys', () => ({ jwks_uri: 'http://169.254.169.254/latest' }), 'as jwks'],
    [
      'the URL of keys in addition to keys',
      () => ({ jwks_uri: 'https://a.example', jwks: { keys: [p256] } }),
      'as jwks',
    ],
    ['keys that are not a key set', () => ({ jwks: [p256] }), 'object'],
    ['a set without keys', () => ({ jwks: {} }), 'missing'],
  ] satisfies [string, () => object, string][])('refuses %s', async ([_title, body, says]) => {
    await expectRefusal(auth, () => post(body()), { ...invalidMetadata, says })
    expect((await post({ jwks_uri: null, jwks: null })).status).toBe(201)
  })
})

describe('PUT /api/agent/jwks', () => {
  test('replaces the secret of a client by keys, and revokes the tokens of the client', async () => {
    const agent = await register(auth)
    const token = await getToken(auth, agent)
    const key = await generateTestKeyPair('EdDSA', 'my-key')
    const response = await put(agentAuthHeader(agent), { keys: [key.jwk] })
    expect(response.status, response.text).toBe(200)
    await expectSafe(auth, response)
    const agentWithKey: KeyAgent = { client_id: agent.client_id, key }
    const describeResponse = await send(auth.url, {
      path: '/api/agent',
      headers: await createAssertionHeader(auth, agentWithKey),
    })
    const { warning, ...description } = parseBody(response)
    expect(JSON.parse(describeResponse.text)).toEqual(description)
    expect(warning).toMatch(
      /^The request has no proof that you can sign with the new key my-key\. Try it now/,
    )
    expect(parseBody(describeResponse)).toMatchObject({
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_signing_alg: 'EdDSA',
      jwks: { keys: [{ kid: 'my-key' }] },
    })
    expect(describeResponse.text).not.toContain('client_secret')
    expect((await requestToken(auth, agent)).status).toBe(401)
    expect((await requestTokenWithNewAssertion(auth, agentWithKey)).status).toBe(200)
    expect(await isActive(auth, token)).toBe(false)
    const { rows } = await auth.testbed.db.query('select id from agent_secrets where agent_id = $1', [
      agent.client_id,
    ])
    expect(rows).toEqual([])
  })

  test('replaces all keys, and then rejects the old key, even with an assertion from before the change', async () => {
    const agent = await registerKeys(auth)
    const earlierAssertion = createAssertionFields(await signAssertion(auth, agent))
    const key = await generateTestKeyPair()
    expect((await put(await createAssertionHeader(auth, agent), { keys: [key.jwk] })).status).toBe(200)
    expect((await requestTokenWithFields(auth, earlierAssertion)).status).toBe(401)
    expect((await requestTokenWithNewAssertion(auth, agent)).status).toBe(401)
    expect((await requestTokenWithNewAssertion(auth, { ...agent, key })).status).toBe(200)
  })

  test('does not accept an assertion a second time, even if the first request was refused for its keys', async () => {
    const agent = await registerKeys(auth)
    const headers = await createAssertionHeader(auth, agent)
    const refusedResponse = await put(headers, { keys: [] })
    expect([refusedResponse.status, parseBody(refusedResponse)['error']]).toEqual([
      400,
      'invalid_client_metadata',
    ])
    await expectRefusal(auth, () => put(headers, { keys: [agent.key.jwk] }), invalidClient)
  })

  test.for(['GET', 'POST', 'DELETE', 'PATCH'])('rejects %s with 405', async (method) => {
    await expectRefusal(auth, () => send(auth.url, { method, path: '/api/agent/jwks' }), {
      status: 405,
      code: 'method-not-allowed',
      errorFormat: 'agent',
      headers: { allow: 'PUT' },
    })
  })

  test('refuses a cross-site request to replace keys', async () => {
    const agent = await register(auth)
    const headers = { ...agentAuthHeader(agent), 'sec-fetch-site': 'cross-site' }
    await expectRefusal(auth, () => put(headers, { keys: [p256] }), {
      status: 403,
      code: 'cross-site-request',
      errorFormat: 'agent',
    })
    expect((await requestToken(auth, agent)).status).toBe(200)
  })
})

describe.for([
  ['GET', '/api/agent'],
  ['DELETE', '/api/agent'],
  ['PUT', '/api/agent/jwks'],
] as const)('%s %s with the header Client-Assertion', ([method, path]) => {
  const sendWithHeaders = (headers: Record<string, string>) =>
    method === 'PUT' ? put(headers, { keys: [p256] }) : send(auth.url, { method, path, headers })
  let agent: KeyAgent
  beforeAll(async () => {
    agent = await registerKeys(auth)
  })

  test('accepts each assertion once', async () => {
    const newAgent = await registerKeys(auth)
    const headers = await createAssertionHeader(auth, newAgent)
    expect((await sendWithHeaders(headers)).status).toBe(method === 'DELETE' ? 204 : 200)
    await expectRefusal(auth, () => sendWithHeaders(headers), invalidClient)
  })

  test.for([
    [
      'an assertion for another server',
      async () => headerWithClaims({ aud: 'https://other.example' }),
      invalidClient,
    ],
    ['an expired assertion', async () => headerWithClaims({ exp: 1, iat: undefined }), invalidClient],
    ['a value that is not a JWT', async () => ({ 'client-assertion': 'x' }), invalidClient],
    ['an empty header', async () => ({ 'client-assertion': '' }), invalidClient],
    [
      'an assertion as a bearer token',
      async () => ({ authorization: `Bearer ${await signAssertion(auth, agent)}` }),
      invalidClient,
    ],
    [
      'an assertion together with Basic credentials',
      async () => ({ ...(await createAssertionHeader(auth, agent)), ...basicAuth(agent.client_id, 'x') }),
      invalidRequest,
    ],
  ] satisfies [string, () => Promise<Record<string, string>>, Refusal][])(
    'refuses %s',
    async ([_title, headers, expected]) => {
      const invalidHeaders = await headers()
      await expectRefusal(auth, () => sendWithHeaders(invalidHeaders), expected)
      expect((await requestTokenWithNewAssertion(auth, agent)).status).toBe(200)
    },
  )
  const headerWithClaims = async (claims: Record<string, unknown>) => ({
    'client-assertion': await signAssertion(auth, agent, claims),
  })

  test('refuses a request with two of these headers', async () => {
    const assertionLines = await Promise.all(
      [1, 2].map(async () => `Client-Assertion: ${await signAssertion(auth, agent)}`),
    )
    const request = formatRawRequest(`${method} ${path}`, [...assertionLines, 'Content-Length: 0'])
    await expectRefusal(auth, async () => (await sendRaw(auth.url, request))[0]!, invalidRequest)
  })
})

test('a deleted client and its token are rejected, and a disabled client is rejected until it is enabled', async () => {
  const [deleted, disabled] = [await registerKeys(auth), await registerKeys(auth)]
  const getTokenByKey = async (agent: KeyAgent) =>
    String(parseBody(await requestTokenWithNewAssertion(auth, agent))['access_token'])
  const token = await getTokenByKey(deleted)
  expect(await isActive(auth, token)).toBe(true)
  const response = await send(auth.url, {
    method: 'DELETE',
    path: '/api/agent',
    headers: await createAssertionHeader(auth, deleted),
  })
  expect(response.status).toBe(204)
  expect(await isActive(auth, token)).toBe(false)
  const { rows } = await auth.testbed.db.query('select status, jwks from agents where id = $1', [
    deleted.client_id,
  ])
  expect(rows).toEqual([{ status: 'deleted', jwks: null }])
  await auth.testbed.db.query(`update agents set status = 'disabled' where id = $1`, [disabled.client_id])
  // An instance learns of a change in the database a moment later.
  for (const agent of [deleted, disabled])
    await expect.poll(async () => (await requestTokenWithNewAssertion(auth, agent)).status).toBe(401)
  await auth.testbed.db.query(`update agents set status = 'active' where id = $1`, [disabled.client_id])
  await expect.poll(async () => (await requestTokenWithNewAssertion(auth, disabled)).status).toBe(200)
  const agentWithSecret = await register(auth)
  expect((await deleteAgent(auth, agentWithSecret)).status).toBe(204)
})
