import { createHmac, randomUUID } from 'node:crypto'
import { CLIENT_ASSERTION_TYPE } from '@plainpath/metadata'
import { FlattenedSign, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { asAgent, basic, GRANT, type Registered, register } from './agent-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { countStored, expectRefusal, type Refusal } from './expect-refusal.ts'
import {
  assertionFields,
  assertionOf,
  honestClaims,
  inHeader,
  type KeyAgent,
  type KeyPair,
  newKey,
  registerKeys,
  seconds,
  tokenByKey,
  tokenFor,
} from './key-agent.ts'
import { type HttpResponse, rawRequest, send, sendRaw } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

const invalid: Refusal = { status: 400, code: 'invalid-request' }
const nobody: Refusal = { status: 401, code: 'invalid-client', error: 'invalid_client' }
const UNKNOWN_ID = `agt_${'A'.repeat(22)}`

let auth: RunningAuth
let agent: KeyAgent
let other: KeyAgent
let edwards: KeyAgent
let twoKeys: KeyAgent & { readonly another: KeyPair }
let threeKeys: KeyAgent
let secret: Registered
beforeAll(async () => {
  auth = await startAuth()
  agent = await registerKeys(auth)
  other = await registerKeys(auth)
  edwards = await registerKeys(auth, await newKey('Ed25519'))
  const [one, two, third] = [await newKey(), await newKey(), await newKey('Ed25519')]
  twoKeys = { ...(await registerKeys(auth, one, two)), another: two }
  threeKeys = { ...(await registerKeys(auth, await newKey(), await newKey(), third)), key: third }
  secret = await register(auth)
})
afterAll(async () => {
  await expectNothingInClear(auth)
  await auth[Symbol.asyncDispose]()
})

const second = ({ client_id, another }: typeof twoKeys): KeyAgent => ({ client_id, key: another })

type Claims = Record<string, unknown>
const saying =
  (claims: () => Claims, header: Claims = {}, of = () => agent) =>
  async () =>
    tokenFor(auth, assertionFields(await assertionOf(auth, of(), claims(), header)))
const honest = (header: Claims, of = () => agent) => saying(() => ({}), header, of)
const raw = (...parts: unknown[]) =>
  parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')

/** The same header and claims under another signature. */
async function signedAs(header: Claims, sign: (input: string) => string): Promise<HttpResponse> {
  const input = raw({ kid: agent.key.jwk.kid, ...header }, honestClaims(auth, agent))
  return tokenFor(auth, assertionFields(`${input}.${sign(input)}`))
}

/** The same rightly signed, which no library would do under such a header. */
async function signedWith(header: Claims): Promise<HttpResponse> {
  const input = raw({ kid: agent.key.jwk.kid, ...header }, honestClaims(auth, agent))
  const how = { name: 'ECDSA', hash: 'SHA-256' }
  const signature = await crypto.subtle.sign(how, agent.key.privateKey, Buffer.from(input))
  return tokenFor(auth, assertionFields(`${input}.${Buffer.from(signature).toString('base64url')}`))
}

describe('a client with a key gets a token', () => {
  test.for([
    ['for exactly this issuer', saying(() => ({}))],
    ['for five minutes', saying(() => ({ exp: seconds() + 299 }))],
    ['nbf and iat 8 s ahead', saying(() => ({ nbf: seconds() + 8, iat: seconds() + 8 }))],
    ['without iat and nbf', saying(() => ({ iat: undefined }))],
    ['with Ed25519', honest({ alg: 'Ed25519' }, () => edwards)],
    ['with EdDSA, which is the same', honest({ alg: 'EdDSA' }, () => edwards)],
    ['without kid, where there is one key', honest({ kid: undefined })],
    ['without kid, with the first of two keys', honest({ kid: undefined }, () => twoKeys)],
    ['without kid, with the second of two keys', honest({ kid: undefined }, () => second(twoKeys))],
    ['without kid, with the last of three keys of two types', honest({ kid: undefined }, () => threeKeys)],
    ['with the first of two keys', honest({}, () => twoKeys)],
    ['with the second of two keys', honest({}, () => second(twoKeys))],
    ['signed by nothing but ES256', () => signedWith({ alg: 'ES256' })],
    ['typed JWT', honest({ typ: 'JWT' })],
    ['typed as client authentication', honest({ typ: 'client-authentication+jwt' })],
    ['with its own client_id beside it', async () => withId(agent.client_id)],
    ['with a jti of 256 characters', saying(() => ({ jti: randomUUID().padEnd(256, 'x') }))],
  ] satisfies [string, () => Promise<HttpResponse>][])('%s', async ([_how, sent]) => {
    const storedBefore = await countStored(auth)
    const response = await sent()
    expect([response.status, response.text]).toEqual([200, expect.stringContaining('"ppt_')])
    const added = Number(storedBefore['client_assertions']) + 1
    expect(await countStored(auth)).toMatchObject({ client_assertions: added })
  })
})

/** Assertions that would be expensive to read: a password hashed two thousand million times, and compressed text. */
const ENCRYPTED = [
  { alg: 'PBES2-HS256+A128KW', enc: 'A128GCM', p2s: 'AAAAAAAAAAA', p2c: 2_147_483_647 },
  { alg: 'dir', enc: 'A128GCM', zip: 'DEF' },
  { alg: 'ECDH-ES', enc: 'A128GCM', epk: { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' } },
  { alg: 'RSA1_5', enc: 'A128CBC-HS256' },
].map((header) => `${raw(header)}.AAAA.AAAA.AAAA.AAAA`)

const withId = async (client_id: string) =>
  tokenFor(auth, { ...assertionFields(await assertionOf(auth, agent)), client_id })

describe('an assertion is refused, and not even spent,', () => {
  const AUDIENCE = /^The aud claim must be exactly https:\/\/plainpath\.example, as a string/
  const ISSUER = /^The iss and sub claims must both be your client_id/
  const EXPIRED = /^The assertion has expired \(exp\)/
  const TOO_LONG = /^The assertion is valid for too long/
  const NOT_YET = /^The assertion is not valid yet: iat or nbf/
  const ALGORITHM = /^The header parameter alg must be one of ES256, EdDSA, Ed25519\.$/
  const TYPE = /^The header parameter typ must be JWT or client-authentication\+jwt/
  const HEADER = /^The header may contain alg, kid and typ only/
  const LENGTH = /^The assertion is longer than 4096 characters/
  const NO_JWT = /^The assertion is not a signed JWT/
  const OTHER_KEY = /^The signature is valid, but another of your keys made it/
  const UNPROVEN =
    /^The signature cannot be verified: the client that sub names is unknown, it has no key with this kid/
  const SECRET = /^The client is unknown, or its credentials are not accepted/
  const claim = (name: string) => new RegExp(`^The ${name} claim must be `)

  test.for([
    ['for another server', saying(() => ({ aud: 'https://other.example' })), AUDIENCE],
    ['for the API', saying(() => ({ aud: `${auth.origin}/api` })), AUDIENCE],
    ['for the issuer with a slash', saying(() => ({ aud: `${auth.origin}/` })), AUDIENCE],
    ['for nobody', saying(() => ({ aud: undefined })), AUDIENCE],
    ['for the token endpoint', saying(() => ({ aud: `${auth.origin}/oauth/token` })), AUDIENCE],
    ['for the issuer and another', saying(() => ({ aud: [auth.origin, 'https://other.example'] })), AUDIENCE],
    ['for the issuer in a list', saying(() => ({ aud: [auth.origin] })), AUDIENCE],
    ['without sub', saying(() => ({ sub: undefined })), claim('sub')],
    ['without iss', saying(() => ({ iss: undefined })), claim('iss')],
    ['with another iss', saying(() => ({ iss: 'https://other.example' })), ISSUER],
    ['from another client', saying(() => ({ iss: other.client_id })), ISSUER],
    ['about another client', saying(() => ({ iss: other.client_id, sub: other.client_id })), UNPROVEN],
    ['about nobody', saying(() => ({ iss: UNKNOWN_ID, sub: UNKNOWN_ID })), UNPROVEN],
    ['without exp', saying(() => ({ exp: undefined })), claim('exp')],
    ['with exp as text', saying(() => ({ exp: String(seconds() + 60) })), claim('exp')],
    ['with exp past 2^31', saying(() => ({ exp: 2 ** 31 + 60, iat: undefined })), TOO_LONG],
    ['with exp past all whole numbers', saying(() => ({ exp: 2 ** 53, iat: undefined })), claim('exp')],
    ['with a negative exp', saying(() => ({ exp: -seconds() - 60, iat: undefined })), EXPIRED],
    ['with exp as a fraction', saying(() => ({ exp: seconds() + 60.5 })), claim('exp')],
    ['with exp in a list', saying(() => ({ exp: [seconds() + 60] })), claim('exp')],
    ['with exp null', saying(() => ({ exp: null })), claim('exp')],
    ['five minutes after its end', saying(() => ({ exp: seconds() - 300, iat: undefined })), EXPIRED],
    ['11 s after its end', saying(() => ({ exp: seconds() - 11, iat: undefined })), EXPIRED],
    ['for an hour', saying(() => ({ exp: seconds() + 3_600 })), TOO_LONG],
    ['for an hour, without iat', saying(() => ({ exp: seconds() + 3_600, iat: undefined })), TOO_LONG],
    [
      'for an hour that is nearly over',
      saying(() => ({ exp: seconds() + 60, iat: seconds() - 3_540 })),
      TOO_LONG,
    ],
    ['60 s before its time', saying(() => ({ nbf: seconds() + 60 })), NOT_YET],
    ['made in 60 s', saying(() => ({ iat: seconds() + 60, exp: seconds() + 120 })), NOT_YET],
    ['without jti', saying(() => ({ jti: undefined })), claim('jti')],
    ['with an empty jti', saying(() => ({ jti: '' })), claim('jti')],
    ['with a jti that is no text', saying(() => ({ jti: 1 })), claim('jti')],
    ['with a jti of 257 characters', saying(() => ({ jti: 'x'.repeat(257) })), claim('jti')],
    ['alg none', () => signedAs({ alg: 'none' }, () => ''), ALGORITHM],
    ['alg None', () => signedAs({ alg: 'None' }, () => ''), ALGORITHM],
    ['HS256 with the public key as secret', () => signedAs({ alg: 'HS256' }, hmac), ALGORITHM],
    ['RS256', () => rs256(), ALGORITHM],
    ['alg in small letters', () => signedWith({ alg: 'es256' }), ALGORITHM],
    [
      'another algorithm than that of the key',
      () => signedAs({ alg: 'EdDSA' }, () => 'A'.repeat(86)),
      UNPROVEN,
    ],
    ['ES256 with r and s of zero', () => signedAs({ alg: 'ES256' }, () => 'A'.repeat(86)), UNPROVEN],
    ['no signature', () => signedAs({ alg: 'ES256' }, () => ''), UNPROVEN],
    ['a signature of another length', () => signedAs({ alg: 'ES256' }, () => 'AAAA'), UNPROVEN],
    ['b64 false', () => unencoded(), HEADER],
    ['crit that nobody knows', () => signedWith({ alg: 'ES256', crit: ['x'], x: 1 }), HEADER],
    ['an empty crit', () => signedWith({ alg: 'ES256', crit: [] }), HEADER],
    ['its own jwk', () => selfSigned({ jwk: true }), HEADER],
    ['a jku', () => selfSigned({ jku: 'https://evil.example/jwks' }), HEADER],
    ['an x5u', honest({ x5u: 'https://evil.example/x5u' }), HEADER],
    ['an x5c', honest({ x5c: ['AAAA'] }), HEADER],
    ['a kid that is a path', honest({ kid: '../../x' }), OTHER_KEY],
    ['a kid with a quote', honest({ kid: `' or '1'='1` }), OTHER_KEY],
    ['a kid of 10 kB', honest({ kid: 'x'.repeat(10_000) }), LENGTH],
    ['a kid that is no text', honest({ kid: 1 }), HEADER],
    ['a kid of no key', honest({ kid: 'other' }, () => twoKeys), OTHER_KEY],
    ['the kid of the other of two keys', () => byFirstAs(twoKeys.another), OTHER_KEY],
    ['signed by another client', () => byOther(), UNPROVEN],
    ['an access token by its type', honest({ typ: 'at+jwt' }), TYPE],
    ['an introspection response by its type', honest({ typ: 'token-introspection+jwt' }), TYPE],
    ['an identity assertion by its type', honest({ typ: 'identity-assertion+jwt' }), TYPE],
    ['what is no JWT', () => tokenFor(auth, assertionFields('e30.e30')), NO_JWT],
    ['an empty header and no claims', () => tokenFor(auth, assertionFields('e30.e30.')), ALGORITHM],
    ...ENCRYPTED.map((jwe, n): [string, () => Promise<HttpResponse>, RegExp] => [
      `an encrypted JWT, ${n}`,
      () => tokenFor(auth, assertionFields(jwe)),
      NO_JWT,
    ]),
    [
      'four parts',
      async () => tokenFor(auth, assertionFields(`${await assertionOf(auth, agent)}.AAAA`)),
      NO_JWT,
    ],
    ['the assertion of a client that has a secret', () => ofSecretClient(), UNPROVEN],
    ['the secret of a client that has keys', () => secretOfKeyClient(), SECRET],
  ] satisfies [string, () => Promise<HttpResponse>, RegExp][])('%s', async ([_why, sent, says]) => {
    const { text } = await expectRefusal(auth, sent, { ...nobody, says })
    expect(text).not.toMatch(/recover/)
    expect((await tokenByKey(auth, agent)).status).toBe(200)
  })

  const hmac = (input: string) =>
    createHmac('sha256', JSON.stringify(agent.key.jwk)).update(input).digest('base64url')
  async function rs256() {
    const { privateKey } = await generateKeyPair('RS256')
    const header = { alg: 'RS256', kid: agent.key.jwk.kid! }
    const claims = honestClaims(auth, agent) as never
    return tokenFor(
      auth,
      assertionFields(await new SignJWT(claims).setProtectedHeader(header).sign(privateKey)),
    )
  }
  async function unencoded() {
    const payload = JSON.stringify(honestClaims(auth, agent))
    const signed = await new FlattenedSign(Buffer.from(payload))
      .setProtectedHeader({ alg: 'ES256', kid: agent.key.jwk.kid!, b64: false, crit: ['b64'] })
      .sign(agent.key.privateKey)
    const encoded = Buffer.from(payload).toString('base64url')
    return tokenFor(auth, assertionFields(`${signed.protected}.${encoded}.${signed.signature}`))
  }
  async function selfSigned(header: Claims) {
    const key = await newKey('ES256', agent.key.jwk.kid)
    const more = header['jwk'] ? { jwk: key.jwk } : header
    return tokenFor(auth, assertionFields(await assertionOf(auth, { ...agent, key }, {}, more)))
  }
  const byFirstAs = async ({ jwk }: KeyPair) =>
    tokenFor(auth, assertionFields(await assertionOf(auth, twoKeys, {}, { kid: jwk.kid })))
  const byOther = async () =>
    tokenFor(
      auth,
      assertionFields(await assertionOf(auth, { ...agent, key: other.key }, {}, { kid: agent.key.jwk.kid })),
    )
  const ofSecretClient = async () =>
    tokenFor(auth, assertionFields(await assertionOf(auth, { client_id: secret.client_id, key: agent.key })))
  const secretOfKeyClient = () =>
    send(auth.url, {
      method: 'POST',
      path: '/oauth/token',
      headers: basic(agent.client_id, secret.client_secret),
      body: new URLSearchParams(GRANT),
    })
})

test('refuses an assertion for a token endpoint at another host that is sent to that host', async () => {
  const assertion = await assertionOf(auth, agent, { aud: 'http://evil.example/oauth/token' })
  const body = new URLSearchParams({ ...GRANT, ...assertionFields(assertion) }).toString()
  const type = 'Content-Type: application/x-www-form-urlencoded'
  const headers = [type, `Content-Length: ${body.length}`]
  const request = async (host?: string) =>
    (await sendRaw(auth.url, rawRequest('POST /oauth/token', headers, body, host)))[0]!
  await expectRefusal(auth, () => request('evil.example'), { status: 421, code: 'misdirected-request' })
  await expectRefusal(auth, () => request(), nobody)
  expect((await tokenByKey(auth, agent)).status).toBe(200)
})

describe('is 400, and spends nothing:', () => {
  const assertion = () => assertionOf(auth, agent)
  test.for([
    ['no type', async () => tokenFor(auth, { client_assertion: await assertion() })],
    ['another type', async () => typed('urn:ietf:params:oauth:client-assertion-type:saml2-bearer')],
    ['a type in capitals', async () => typed(CLIENT_ASSERTION_TYPE.toUpperCase())],
    ['a type alone', () => tokenFor(auth, { client_assertion_type: CLIENT_ASSERTION_TYPE })],
    ['the type twice', async () => twice('client_assertion_type')],
    ['the assertion twice', async () => twice('client_assertion')],
    ['beside Basic', async () => beside(asAgent(secret), {})],
    ['beside Basic of its own id', async () => beside(basic(agent.client_id, 'x'), {})],
    ['beside a secret', async () => beside({}, { client_secret: secret.client_secret })],
    ['in the form and in the header', async () => beside(await inHeader(auth, agent), {})],
    ['in the header of a form', async () => headerOnly()],
    ['beside the id of another client', async () => withId(other.client_id)],
  ] satisfies [string, () => Promise<HttpResponse>][])('%s', async ([_why, sent]) => {
    await expectRefusal(auth, sent, invalid)
    expect((await tokenByKey(auth, agent)).status).toBe(200)
  })

  const typed = async (client_assertion_type: string) =>
    tokenFor(auth, { ...assertionFields(await assertion()), client_assertion_type })
  const post = (headers: Record<string, string>, body: URLSearchParams) =>
    send(auth.url, { method: 'POST', path: '/oauth/token', headers, body })
  async function twice(name: string) {
    const body = new URLSearchParams({ ...GRANT, ...assertionFields(await assertion()) })
    body.append(name, body.get(name)!)
    return post({}, body)
  }
  const beside = async (headers: Record<string, string>, fields: Record<string, string>) =>
    post(headers, new URLSearchParams({ ...GRANT, ...assertionFields(await assertion()), ...fields }))
  const headerOnly = async () => post(await inHeader(auth, agent), new URLSearchParams(GRANT))
})
