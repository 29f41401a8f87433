import { createHmac, randomUUID } from 'node:crypto'
import { CLIENT_ASSERTION_TYPE } from '@plainpath/metadata'
import { FlattenedSign, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  agentAuthHeader,
  basicAuth,
  CLIENT_CREDENTIALS_GRANT,
  type RegisteredAgent,
  register,
} from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { countStored, expectRefusal, type Refusal } from './expect-refusal.ts'
import {
  createAssertionClaims,
  createAssertionFields,
  createAssertionHeader,
  generateTestKeyPair,
  type KeyAgent,
  type KeyPair,
  nowSeconds,
  registerKeys,
  requestTokenWithFields,
  requestTokenWithNewAssertion,
  signAssertion,
} from './key-agent.ts'
import { formatRawRequest, type HttpResponse, send, sendRaw } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

const invalidRequest: Refusal = { status: 400, code: 'invalid-request' }
const invalidClient: Refusal = { status: 401, code: 'invalid-client', error: 'invalid_client' }
const UNKNOWN_ID = `agt_${'A'.repeat(22)}`

let auth: RunningAuth
let agent: KeyAgent
let otherAgent: KeyAgent
let ed25519Agent: KeyAgent
/** An agent whose `key` is the first of its two keys. */
let twoKeyAgent: KeyAgent & { readonly secondKey: KeyPair }
/** An agent whose `key` is the last of its three keys. */
let threeKeyAgent: KeyAgent
let secretAgent: RegisteredAgent
beforeAll(async () => {
  auth = await startAuth()
  agent = await registerKeys(auth)
  otherAgent = await registerKeys(auth)
  ed25519Agent = await registerKeys(auth, await generateTestKeyPair('Ed25519'))
  const [firstKey, secondKey] = [await generateTestKeyPair(), await generateTestKeyPair()]
  twoKeyAgent = { ...(await registerKeys(auth, firstKey, secondKey)), secondKey }
  const otherKeys = [await generateTestKeyPair(), await generateTestKeyPair()]
  const lastKey = await generateTestKeyPair('Ed25519')
  threeKeyAgent = { ...(await registerKeys(auth, ...otherKeys, lastKey)), key: lastKey }
  secretAgent = await register(auth)
})
afterAll(async () => {
  await expectNoConfidentialValues(auth)
  await auth[Symbol.asyncDispose]()
})

const withSecondKey = ({ client_id, secondKey }: typeof twoKeyAgent) => ({ client_id, key: secondKey })

const requestTokenWithAssertion = (assertion: string) =>
  requestTokenWithFields(auth, createAssertionFields(assertion))

type Claims = Record<string, unknown>
/** Returns a function that requests a token with an assertion. `claims` and `header` replace the valid ones. */
const withClaims =
  (claims: () => Claims, header: Claims = {}, getAgent = () => agent) =>
  async () =>
    requestTokenWithAssertion(await signAssertion(auth, getAgent(), claims(), header))
const withHeader = (header: Claims, getAgent = () => agent) => withClaims(() => ({}), header, getAgent)
const encodeParts = (...parts: unknown[]) =>
  parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')

/** Sends an assertion with valid claims and the signature that `sign` returns. */
async function sendWithSignature(header: Claims, sign: (input: string) => string): Promise<HttpResponse> {
  const input = encodeParts({ kid: agent.key.jwk.kid, ...header }, createAssertionClaims(auth, agent))
  return requestTokenWithAssertion(`${input}.${sign(input)}`)
}

/** Sends an assertion that is signed with the agent's key. Signs it without a JWT library, which would refuse some headers. */
async function sendSignedByKey(header: Claims): Promise<HttpResponse> {
  const input = encodeParts({ kid: agent.key.jwk.kid, ...header }, createAssertionClaims(auth, agent))
  const algorithm = { name: 'ECDSA', hash: 'SHA-256' }
  const signature = await crypto.subtle.sign(algorithm, agent.key.privateKey, Buffer.from(input))
  return requestTokenWithAssertion(`${input}.${Buffer.from(signature).toString('base64url')}`)
}

// An assertion may be valid for at most five minutes, clocks may differ by 10 s, and a jti has at most 256 characters.
describe('a client with keys gets a token for an assertion', () => {
  test.for([
    ['with the usual claims and header', withClaims(() => ({}))],
    ['that is valid for nearly five minutes', withClaims(() => ({ exp: nowSeconds() + 299 }))],
    [
      'whose nbf and iat are 8 s in the future',
      withClaims(() => ({ nbf: nowSeconds() + 8, iat: nowSeconds() + 8 })),
    ],
    ['without iat and nbf', withClaims(() => ({ iat: undefined }))],
    ['with the algorithm Ed25519', withHeader({ alg: 'Ed25519' }, () => ed25519Agent)],
    ['with the algorithm EdDSA and the same key', withHeader({ alg: 'EdDSA' }, () => ed25519Agent)],
    ['without kid, if there is one key', withHeader({ kid: undefined })],
    ['without kid, signed with the first of two keys', withHeader({ kid: undefined }, () => twoKeyAgent)],
    [
      'without kid, signed with the second of two keys',
      withHeader({ kid: undefined }, () => withSecondKey(twoKeyAgent)),
    ],
    [
      'without kid, signed with the last of three keys of two types',
      withHeader({ kid: undefined }, () => threeKeyAgent),
    ],
    ['signed with the first of two keys', withHeader({}, () => twoKeyAgent)],
    ['signed with the second of two keys', withHeader({}, () => withSecondKey(twoKeyAgent))],
    ['without typ', () => sendSignedByKey({ alg: 'ES256' })],
    ['with the typ JWT', withHeader({ typ: 'JWT' })],
    ['with the typ client-authentication+jwt', withHeader({ typ: 'client-authentication+jwt' })],
    ['together with its own client_id', async () => sendWithClientId(agent.client_id)],
    ['with a jti of 256 characters', withClaims(() => ({ jti: randomUUID().padEnd(256, 'x') }))],
  ] satisfies [string, () => Promise<HttpResponse>][])('%s', async ([_title, sendRequest]) => {
    const storedBefore = await countStored(auth)
    const response = await sendRequest()
    expect([response.status, response.text]).toEqual([200, expect.stringContaining('"ppt_')])
    const expectedCount = Number(storedBefore['client_assertions']) + 1
    expect(await countStored(auth)).toMatchObject({ client_assertions: expectedCount })
  })
})

/** Encrypted JWTs. To decrypt the first would take 2,147,483,647 hashes. The second says that it is compressed. */
const ENCRYPTED_JWTS = [
  { alg: 'PBES2-HS256+A128KW', enc: 'A128GCM', p2s: 'AAAAAAAAAAA', p2c: 2_147_483_647 },
  { alg: 'dir', enc: 'A128GCM', zip: 'DEF' },
  { alg: 'ECDH-ES', enc: 'A128GCM', epk: { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' } },
  { alg: 'RSA1_5', enc: 'A128CBC-HS256' },
].map((header) => `${encodeParts(header)}.AAAA.AAAA.AAAA.AAAA`)

const sendWithClientId = async (client_id: string) =>
  requestTokenWithFields(auth, { ...createAssertionFields(await signAssertion(auth, agent)), client_id })

describe('an assertion is refused, and its jti is not stored,', () => {
  // The beginnings of the sentences in which a refusal explains the fault.
  const AUDIENCE = /^The aud claim must be exactly https:\/\/plainpath\.example, as a string/
  const ISSUER = /^The iss and sub claims must both be your client_id/
  const EXPIRED = /^The assertion has expired \(exp\)/
  const TOO_LONG = /^The assertion is valid for too long/
  const NOT_YET = /^The assertion is not valid yet: iat or nbf/
  const ALGORITHM = /^The header parameter alg must be one of ES256, EdDSA, Ed25519\.$/
  const TYPE = /^The header parameter typ must be JWT or client-authentication\+jwt/
  const HEADER = /^The header may contain alg, kid and typ only/
  const LENGTH = /^The assertion is longer than 4096 characters/
  const NOT_A_JWT = /^The assertion is not a signed JWT/
  const OTHER_KEY = /^The signature is valid, but another of your keys made it/
  const UNPROVEN =
    /^The signature cannot be verified: the client that sub names is unknown, it has no key with this kid/
  const SECRET = /^The client is unknown, or its credentials are not accepted/
  const invalidClaim = (name: string) => new RegExp(`^The ${name} claim must be `)

  test.for([
    ['for another server', withClaims(() => ({ aud: 'https://other.example' })), AUDIENCE],
    ['for the API', withClaims(() => ({ aud: `${auth.origin}/api` })), AUDIENCE],
    ['for the issuer with a slash', withClaims(() => ({ aud: `${auth.origin}/` })), AUDIENCE],
    ['without aud', withClaims(() => ({ aud: undefined })), AUDIENCE],
    ['for the token endpoint', withClaims(() => ({ aud: `${auth.origin}/oauth/token` })), AUDIENCE],
    [
      'for the issuer and another server',
      withClaims(() => ({ aud: [auth.origin, 'https://other.example'] })),
      AUDIENCE,
    ],
    ['for the issuer in a list', withClaims(() => ({ aud: [auth.origin] })), AUDIENCE],
    ['without sub', withClaims(() => ({ sub: undefined })), invalidClaim('sub')],
    ['without iss', withClaims(() => ({ iss: undefined })), invalidClaim('iss')],
    ['with the iss of another server', withClaims(() => ({ iss: 'https://other.example' })), ISSUER],
    ['with the iss of another client', withClaims(() => ({ iss: otherAgent.client_id })), ISSUER],
    [
      'with the iss and the sub of another client',
      withClaims(() => ({ iss: otherAgent.client_id, sub: otherAgent.client_id })),
      UNPROVEN,
    ],
    [
      'with the iss and the sub of an unknown client',
      withClaims(() => ({ iss: UNKNOWN_ID, sub: UNKNOWN_ID })),
      UNPROVEN,
    ],
    ['without exp', withClaims(() => ({ exp: undefined })), invalidClaim('exp')],
    ['with exp as text', withClaims(() => ({ exp: String(nowSeconds() + 60) })), invalidClaim('exp')],
    ['with exp past 2^31', withClaims(() => ({ exp: 2 ** 31 + 60, iat: undefined })), TOO_LONG],
    [
      'with exp past the safe integers',
      withClaims(() => ({ exp: 2 ** 53, iat: undefined })),
      invalidClaim('exp'),
    ],
    ['with a negative exp', withClaims(() => ({ exp: -nowSeconds() - 60, iat: undefined })), EXPIRED],
    ['with exp as a fraction', withClaims(() => ({ exp: nowSeconds() + 60.5 })), invalidClaim('exp')],
    ['with exp in a list', withClaims(() => ({ exp: [nowSeconds() + 60] })), invalidClaim('exp')],
    ['with exp null', withClaims(() => ({ exp: null })), invalidClaim('exp')],
    ['five minutes after its exp', withClaims(() => ({ exp: nowSeconds() - 300, iat: undefined })), EXPIRED],
    ['11 s after its exp', withClaims(() => ({ exp: nowSeconds() - 11, iat: undefined })), EXPIRED],
    ['that is valid for an hour', withClaims(() => ({ exp: nowSeconds() + 3_600 })), TOO_LONG],
    [
      'that is valid for an hour, without iat',
      withClaims(() => ({ exp: nowSeconds() + 3_600, iat: undefined })),
      TOO_LONG,
    ],
    [
      'that is valid for an hour, of which a minute is left',
      withClaims(() => ({ exp: nowSeconds() + 60, iat: nowSeconds() - 3_540 })),
      TOO_LONG,
    ],
    ['60 s before its nbf', withClaims(() => ({ nbf: nowSeconds() + 60 })), NOT_YET],
    [
      'with iat 60 s in the future',
      withClaims(() => ({ iat: nowSeconds() + 60, exp: nowSeconds() + 120 })),
      NOT_YET,
    ],
    ['without jti', withClaims(() => ({ jti: undefined })), invalidClaim('jti')],
    ['with an empty jti', withClaims(() => ({ jti: '' })), invalidClaim('jti')],
    ['with a jti that is a number', withClaims(() => ({ jti: 1 })), invalidClaim('jti')],
    ['with a jti of 257 characters', withClaims(() => ({ jti: 'x'.repeat(257) })), invalidClaim('jti')],
    ['with alg none', () => sendWithSignature({ alg: 'none' }, () => ''), ALGORITHM],
    ['with alg None', () => sendWithSignature({ alg: 'None' }, () => ''), ALGORITHM],
    [
      'with HS256 and the public key as the secret',
      () => sendWithSignature({ alg: 'HS256' }, signWithPublicKeyAsSecret),
      ALGORITHM,
    ],
    ['with RS256', () => sendRs256(), ALGORITHM],
    ['with alg in lower case', () => sendSignedByKey({ alg: 'es256' }), ALGORITHM],
    // The 86 letters encode 64 zero bytes, which is the length of a signature of ES256 and of EdDSA.
    [
      'with an algorithm that does not fit the key',
      () => sendWithSignature({ alg: 'EdDSA' }, () => 'A'.repeat(86)),
      UNPROVEN,
    ],
    ['with a signature of zeros', () => sendWithSignature({ alg: 'ES256' }, () => 'A'.repeat(86)), UNPROVEN],
    ['without a signature', () => sendWithSignature({ alg: 'ES256' }, () => ''), UNPROVEN],
    ['with a signature that is too short', () => sendWithSignature({ alg: 'ES256' }, () => 'AAAA'), UNPROVEN],
    ['with b64 false', () => sendUnencodedPayload(), HEADER],
    ['with an unknown crit', () => sendSignedByKey({ alg: 'ES256', crit: ['x'], x: 1 }), HEADER],
    ['with an empty crit', () => sendSignedByKey({ alg: 'ES256', crit: [] }), HEADER],
    ['with its own jwk', () => sendSelfSigned({ jwk: true }), HEADER],
    ['with a jku', () => sendSelfSigned({ jku: 'https://evil.example/jwks' }), HEADER],
    ['with an x5u', withHeader({ x5u: 'https://evil.example/x5u' }), HEADER],
    ['with an x5c', withHeader({ x5c: ['AAAA'] }), HEADER],
    ['with a kid that is a path', withHeader({ kid: '../../x' }), OTHER_KEY],
    ['with a kid that looks like SQL', withHeader({ kid: `' or '1'='1` }), OTHER_KEY],
    ['with a kid of 10 kB', withHeader({ kid: 'x'.repeat(10_000) }), LENGTH],
    ['with a kid that is a number', withHeader({ kid: 1 }), HEADER],
    ['with an unknown kid', withHeader({ kid: 'other' }, () => twoKeyAgent), OTHER_KEY],
    ['with the kid of the other of two keys', () => sendWithOtherKid(twoKeyAgent.secondKey), OTHER_KEY],
    ['signed with the key of another client', () => sendSignedByOtherAgent(), UNPROVEN],
    ['with the typ of an access token', withHeader({ typ: 'at+jwt' }), TYPE],
    ['with the typ of an introspection response', withHeader({ typ: 'token-introspection+jwt' }), TYPE],
    ['with the typ of an identity assertion', withHeader({ typ: 'identity-assertion+jwt' }), TYPE],
    ['that is not a JWT', () => requestTokenWithAssertion('e30.e30'), NOT_A_JWT],
    ['with an empty header and without claims', () => requestTokenWithAssertion('e30.e30.'), ALGORITHM],
    ...ENCRYPTED_JWTS.map((jwe, n): [string, () => Promise<HttpResponse>, RegExp] => [
      `that is encrypted (${n})`,
      () => requestTokenWithAssertion(jwe),
      NOT_A_JWT,
    ]),
    [
      'with four parts',
      async () => requestTokenWithAssertion(`${await signAssertion(auth, agent)}.AAAA`),
      NOT_A_JWT,
    ],
    ['of a client that has a secret', () => sendForSecretClient(), UNPROVEN],
    ['replaced by a secret, although the client has keys', () => sendSecretForKeyClient(), SECRET],
  ] satisfies [string, () => Promise<HttpResponse>, RegExp][])('%s', async ([_title, sendRequest, says]) => {
    await expectRefusal(auth, sendRequest, { ...invalidClient, says })
    expect((await requestTokenWithNewAssertion(auth, agent)).status).toBe(200)
  })

  const signWithPublicKeyAsSecret = (input: string) =>
    createHmac('sha256', JSON.stringify(agent.key.jwk)).update(input).digest('base64url')
  async function sendRs256() {
    const { privateKey } = await generateKeyPair('RS256')
    const header = { alg: 'RS256', kid: agent.key.jwk.kid! }
    const claims = createAssertionClaims(auth, agent) as never
    return requestTokenWithAssertion(await new SignJWT(claims).setProtectedHeader(header).sign(privateKey))
  }
  async function sendUnencodedPayload() {
    const payload = JSON.stringify(createAssertionClaims(auth, agent))
    const signed = await new FlattenedSign(Buffer.from(payload))
      .setProtectedHeader({ alg: 'ES256', kid: agent.key.jwk.kid!, b64: false, crit: ['b64'] })
      .sign(agent.key.privateKey)
    const encoded = Buffer.from(payload).toString('base64url')
    return requestTokenWithAssertion(`${signed.protected}.${encoded}.${signed.signature}`)
  }
  async function sendSelfSigned(header: Claims) {
    const key = await generateTestKeyPair('ES256', agent.key.jwk.kid)
    const ownHeader = header['jwk'] ? { jwk: key.jwk } : header
    return requestTokenWithAssertion(await signAssertion(auth, { ...agent, key }, {}, ownHeader))
  }
  const sendWithOtherKid = async ({ jwk }: KeyPair) =>
    requestTokenWithAssertion(await signAssertion(auth, twoKeyAgent, {}, { kid: jwk.kid }))
  const sendSignedByOtherAgent = async () =>
    requestTokenWithAssertion(
      await signAssertion(auth, { ...agent, key: otherAgent.key }, {}, { kid: agent.key.jwk.kid }),
    )
  const sendForSecretClient = async () =>
    requestTokenWithAssertion(await signAssertion(auth, { client_id: secretAgent.client_id, key: agent.key }))
  const sendSecretForKeyClient = () =>
    send(auth.url, {
      method: 'POST',
      path: '/oauth/token',
      headers: basicAuth(agent.client_id, secretAgent.client_secret),
      body: new URLSearchParams(CLIENT_CREDENTIALS_GRANT),
    })
})

test('an assertion for the token endpoint of another host is refused, even with that host in the Host header', async () => {
  const assertion = await signAssertion(auth, agent, { aud: 'http://evil.example/oauth/token' })
  const body = new URLSearchParams({
    ...CLIENT_CREDENTIALS_GRANT,
    ...createAssertionFields(assertion),
  }).toString()
  const headers = ['Content-Type: application/x-www-form-urlencoded', `Content-Length: ${body.length}`]
  const request = async (host?: string) =>
    (await sendRaw(auth.url, formatRawRequest('POST /oauth/token', headers, body, host)))[0]!
  await expectRefusal(auth, () => request('evil.example'), { status: 421, code: 'misdirected-request' })
  await expectRefusal(auth, () => request(), invalidClient)
  expect((await requestTokenWithNewAssertion(auth, agent)).status).toBe(200)
})

describe('a request gets 400, and no jti is stored, if it has', () => {
  const createAssertion = () => signAssertion(auth, agent)
  test.for([
    [
      'an assertion without a type',
      async () => requestTokenWithFields(auth, { client_assertion: await createAssertion() }),
    ],
    [
      'an assertion with another type',
      async () => withType('urn:ietf:params:oauth:client-assertion-type:saml2-bearer'),
    ],
    ['an assertion with its type in capitals', async () => withType(CLIENT_ASSERTION_TYPE.toUpperCase())],
    [
      'a type without an assertion',
      () => requestTokenWithFields(auth, { client_assertion_type: CLIENT_ASSERTION_TYPE }),
    ],
    ['the type sent twice', async () => sendTwice('client_assertion_type')],
    ['the assertion sent twice', async () => sendTwice('client_assertion')],
    ['an assertion and Basic credentials', async () => sendWithCredentials(agentAuthHeader(secretAgent), {})],
    [
      'an assertion and Basic credentials with the same id',
      async () => sendWithCredentials(basicAuth(agent.client_id, 'x'), {}),
    ],
    [
      'an assertion and a secret',
      async () => sendWithCredentials({}, { client_secret: secretAgent.client_secret }),
    ],
    [
      'an assertion in the form and one in the header',
      async () => sendWithCredentials(await createAssertionHeader(auth, agent), {}),
    ],
    ['an assertion in the header of a form request', async () => sendInHeader()],
    ['an assertion and the id of another client', async () => sendWithClientId(otherAgent.client_id)],
  ] satisfies [string, () => Promise<HttpResponse>][])('%s', async ([_title, sendRequest]) => {
    await expectRefusal(auth, sendRequest, invalidRequest)
    expect((await requestTokenWithNewAssertion(auth, agent)).status).toBe(200)
  })

  const withType = async (client_assertion_type: string) =>
    requestTokenWithFields(auth, { ...createAssertionFields(await createAssertion()), client_assertion_type })
  const post = (headers: Record<string, string>, body: URLSearchParams) =>
    send(auth.url, { method: 'POST', path: '/oauth/token', headers, body })
  async function sendTwice(name: string) {
    const body = new URLSearchParams({
      ...CLIENT_CREDENTIALS_GRANT,
      ...createAssertionFields(await createAssertion()),
    })
    body.append(name, body.get(name)!)
    return post({}, body)
  }
  const sendWithCredentials = async (headers: Record<string, string>, fields: Record<string, string>) =>
    post(
      headers,
      new URLSearchParams({
        ...CLIENT_CREDENTIALS_GRANT,
        ...createAssertionFields(await createAssertion()),
        ...fields,
      }),
    )
  const sendInHeader = async () =>
    post(await createAssertionHeader(auth, agent), new URLSearchParams(CLIENT_CREDENTIALS_GRANT))
})
