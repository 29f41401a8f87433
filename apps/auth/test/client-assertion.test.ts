import { createHmac, randomUUID } from 'node:crypto'
import { CLIENT_ASSERTION_TYPE } from '@plainpath/metadata'
import { FlattenedSign, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { asAgent, basic, GRANT, type Registered, register } from './agent-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { countStored, expectRefusal, type Refusal } from './expect-refusal.ts'
import {
  asserted,
  assertionOf,
  honestClaims,
  inHeader,
  type KeyAgent,
  newKey,
  registerKeys,
  seconds,
  tokenByKey,
  tokenFor,
} from './key-agent.ts'
import { type Answer, rawRequest, send, sendRaw } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

const invalid: Refusal = { status: 400, code: 'invalid-request' }
const nobody: Refusal = { status: 401, code: 'invalid-client', error: 'invalid_client' }
const UNKNOWN_ID = `agt_${'A'.repeat(22)}`

let auth: RunningAuth
let agent: KeyAgent
let other: KeyAgent
let edwards: KeyAgent
let twoKeys: KeyAgent
let secret: Registered
beforeAll(async () => {
  auth = await startAuth()
  agent = await registerKeys(auth)
  other = await registerKeys(auth)
  edwards = await registerKeys(auth, await newKey('Ed25519'))
  twoKeys = await registerKeys(auth, await newKey(), await newKey())
  secret = await register(auth)
})
afterAll(async () => {
  await expectNothingInClear(auth)
  await auth[Symbol.asyncDispose]()
})

type Claims = Record<string, unknown>
const saying =
  (claims: () => Claims, header: Claims = {}, of = () => agent) =>
  async () =>
    tokenFor(auth, asserted(await assertionOf(auth, of(), claims(), header)))
const honest = (header: Claims, of = () => agent) => saying(() => ({}), header, of)
const raw = (...parts: unknown[]) =>
  parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')

/** The same header and claims under another signature. */
async function signedAs(header: Claims, sign: (input: string) => string): Promise<Answer> {
  const input = raw({ kid: agent.key.jwk.kid, ...header }, honestClaims(auth, agent))
  return tokenFor(auth, asserted(`${input}.${sign(input)}`))
}

/** The same rightly signed, which no library would do under such a header. */
async function signedWith(header: Claims): Promise<Answer> {
  const input = raw({ kid: agent.key.jwk.kid, ...header }, honestClaims(auth, agent))
  const how = { name: 'ECDSA', hash: 'SHA-256' }
  const signature = await crypto.subtle.sign(how, agent.key.privateKey, Buffer.from(input))
  return tokenFor(auth, asserted(`${input}.${Buffer.from(signature).toString('base64url')}`))
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
    ['with the first of two keys', honest({}, () => twoKeys)],
    ['signed by nothing but ES256', () => signedWith({ alg: 'ES256' })],
    ['typed JWT', honest({ typ: 'JWT' })],
    ['typed as client authentication', honest({ typ: 'client-authentication+jwt' })],
    ['with its own client_id beside it', async () => withId(agent.client_id)],
    ['with a jti of 256 characters', saying(() => ({ jti: randomUUID().padEnd(256, 'x') }))],
  ] satisfies [string, () => Promise<Answer>][])('%s', async ([_how, sent]) => {
    const before = await countStored(auth)
    const answer = await sent()
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"ppt_')])
    const added = Number(before['client_assertions']) + 1
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
  tokenFor(auth, { ...asserted(await assertionOf(auth, agent)), client_id })

describe('an assertion is refused, and not even spent,', () => {
  test.for([
    ['for another server', saying(() => ({ aud: 'https://other.example' }))],
    ['for the API', saying(() => ({ aud: `${auth.origin}/api` }))],
    ['for the issuer with a slash', saying(() => ({ aud: `${auth.origin}/` }))],
    ['for nobody', saying(() => ({ aud: undefined }))],
    ['for the token endpoint', saying(() => ({ aud: `${auth.origin}/oauth/token` }))],
    ['for the issuer and another', saying(() => ({ aud: [auth.origin, 'https://other.example'] }))],
    ['for the issuer in a list', saying(() => ({ aud: [auth.origin] }))],
    ['without sub', saying(() => ({ sub: undefined }))],
    ['without iss', saying(() => ({ iss: undefined }))],
    ['with another iss', saying(() => ({ iss: 'https://other.example' }))],
    ['from another client', saying(() => ({ iss: other.client_id }))],
    ['about another client', saying(() => ({ iss: other.client_id, sub: other.client_id }))],
    ['about nobody', saying(() => ({ iss: UNKNOWN_ID, sub: UNKNOWN_ID }))],
    ['without exp', saying(() => ({ exp: undefined }))],
    ['with exp as text', saying(() => ({ exp: String(seconds() + 60) }))],
    ['with exp past 2^31', saying(() => ({ exp: 2 ** 31 + 60, iat: undefined }))],
    ['with exp past all whole numbers', saying(() => ({ exp: 2 ** 53, iat: undefined }))],
    ['with a negative exp', saying(() => ({ exp: -seconds() - 60, iat: undefined }))],
    ['with exp as a fraction', saying(() => ({ exp: seconds() + 60.5 }))],
    ['with exp in a list', saying(() => ({ exp: [seconds() + 60] }))],
    ['with exp null', saying(() => ({ exp: null }))],
    ['five minutes after its end', saying(() => ({ exp: seconds() - 300, iat: undefined }))],
    ['11 s after its end', saying(() => ({ exp: seconds() - 11, iat: undefined }))],
    ['for an hour', saying(() => ({ exp: seconds() + 3_600 }))],
    ['for an hour, without iat', saying(() => ({ exp: seconds() + 3_600, iat: undefined }))],
    ['for an hour that is nearly over', saying(() => ({ exp: seconds() + 60, iat: seconds() - 3_540 }))],
    ['60 s before its time', saying(() => ({ nbf: seconds() + 60 }))],
    ['made in 60 s', saying(() => ({ iat: seconds() + 60, exp: seconds() + 120 }))],
    ['without jti', saying(() => ({ jti: undefined }))],
    ['with an empty jti', saying(() => ({ jti: '' }))],
    ['with a jti that is no text', saying(() => ({ jti: 1 }))],
    ['with a jti of 257 characters', saying(() => ({ jti: 'x'.repeat(257) }))],
    ['alg none', () => signedAs({ alg: 'none' }, () => '')],
    ['alg None', () => signedAs({ alg: 'None' }, () => '')],
    ['HS256 with the public key as secret', () => signedAs({ alg: 'HS256' }, hmac)],
    ['RS256', () => rs256()],
    ['alg in small letters', () => signedWith({ alg: 'es256' })],
    ['another algorithm than that of the key', () => signedAs({ alg: 'EdDSA' }, () => 'A'.repeat(86))],
    ['ES256 with r and s of zero', () => signedAs({ alg: 'ES256' }, () => 'A'.repeat(86))],
    ['no signature', () => signedAs({ alg: 'ES256' }, () => '')],
    ['a signature of another length', () => signedAs({ alg: 'ES256' }, () => 'AAAA')],
    ['b64 false', () => unencoded()],
    ['crit that nobody knows', () => signedWith({ alg: 'ES256', crit: ['x'], x: 1 })],
    ['an empty crit', () => signedWith({ alg: 'ES256', crit: [] })],
    ['its own jwk', () => selfSigned({ jwk: true })],
    ['a jku', () => selfSigned({ jku: 'https://evil.example/jwks' })],
    ['an x5u', honest({ x5u: 'https://evil.example/x5u' })],
    ['an x5c', honest({ x5c: ['AAAA'] })],
    ['a kid that is a path', honest({ kid: '../../x' })],
    ['a kid with a quote', honest({ kid: `' or '1'='1` })],
    ['a kid of 10 kB', honest({ kid: 'x'.repeat(10_000) })],
    ['a kid that is no text', honest({ kid: 1 })],
    ['the kid of the other of two keys', honest({ kid: 'other' }, () => twoKeys)],
    ['no kid, where there are two keys', honest({ kid: undefined }, () => twoKeys)],
    ['signed by another client', () => byOther()],
    ['an access token by its type', honest({ typ: 'at+jwt' })],
    ['an introspection answer by its type', honest({ typ: 'token-introspection+jwt' })],
    ['an identity assertion by its type', honest({ typ: 'identity-assertion+jwt' })],
    ['what is no JWT', () => tokenFor(auth, asserted('e30.e30.'))],
    ...ENCRYPTED.map((jwe, n): [string, () => Promise<Answer>] => [
      `an encrypted JWT, ${n}`,
      () => tokenFor(auth, asserted(jwe)),
    ]),
    ['four parts', async () => tokenFor(auth, asserted(`${await assertionOf(auth, agent)}.AAAA`))],
    ['the assertion of a client that has a secret', () => ofSecretClient()],
    ['the secret of a client that has keys', () => secretOfKeyClient()],
  ] satisfies [string, () => Promise<Answer>][])('%s', async ([_why, sent]) => {
    await expectRefusal(auth, sent, nobody)
    expect((await tokenByKey(auth, agent)).status).toBe(200)
  })

  const hmac = (input: string) =>
    createHmac('sha256', JSON.stringify(agent.key.jwk)).update(input).digest('base64url')
  async function rs256() {
    const { privateKey } = await generateKeyPair('RS256')
    const header = { alg: 'RS256', kid: agent.key.jwk.kid! }
    const claims = honestClaims(auth, agent) as never
    return tokenFor(auth, asserted(await new SignJWT(claims).setProtectedHeader(header).sign(privateKey)))
  }
  async function unencoded() {
    const payload = JSON.stringify(honestClaims(auth, agent))
    const signed = await new FlattenedSign(Buffer.from(payload))
      .setProtectedHeader({ alg: 'ES256', kid: agent.key.jwk.kid!, b64: false, crit: ['b64'] })
      .sign(agent.key.privateKey)
    const encoded = Buffer.from(payload).toString('base64url')
    return tokenFor(auth, asserted(`${signed.protected}.${encoded}.${signed.signature}`))
  }
  async function selfSigned(header: Claims) {
    const key = await newKey('ES256', agent.key.jwk.kid)
    const more = header['jwk'] ? { jwk: key.jwk } : header
    return tokenFor(auth, asserted(await assertionOf(auth, { ...agent, key }, {}, more)))
  }
  const byOther = async () =>
    tokenFor(
      auth,
      asserted(await assertionOf(auth, { ...agent, key: other.key }, {}, { kid: agent.key.jwk.kid })),
    )
  const ofSecretClient = async () =>
    tokenFor(auth, asserted(await assertionOf(auth, { client_id: secret.client_id, key: agent.key })))
  const secretOfKeyClient = () =>
    send(auth.url, {
      method: 'POST',
      path: '/oauth/token',
      headers: basic(agent.client_id, secret.client_secret),
      body: new URLSearchParams(GRANT),
    })
})

test('for a token endpoint at another host, sent to that host', async () => {
  const assertion = await assertionOf(auth, agent, { aud: 'http://evil.example/oauth/token' })
  const body = new URLSearchParams({ ...GRANT, ...asserted(assertion) }).toString()
  const type = 'Content-Type: application/x-www-form-urlencoded'
  const headers = [type, `Content-Length: ${body.length}`]
  const ask = async (host?: string) =>
    (await sendRaw(auth.url, rawRequest('POST /oauth/token', headers, body, host)))[0]!
  await expectRefusal(auth, () => ask('evil.example'), { status: 421, code: 'misdirected-request' })
  await expectRefusal(auth, () => ask(), nobody)
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
  ] satisfies [string, () => Promise<Answer>][])('%s', async ([_why, sent]) => {
    await expectRefusal(auth, sent, invalid)
    expect((await tokenByKey(auth, agent)).status).toBe(200)
  })

  const typed = async (client_assertion_type: string) =>
    tokenFor(auth, { ...asserted(await assertion()), client_assertion_type })
  const post = (headers: Record<string, string>, body: URLSearchParams) =>
    send(auth.url, { method: 'POST', path: '/oauth/token', headers, body })
  async function twice(name: string) {
    const body = new URLSearchParams({ ...GRANT, ...asserted(await assertion()) })
    body.append(name, body.get(name)!)
    return post({}, body)
  }
  const beside = async (headers: Record<string, string>, fields: Record<string, string>) =>
    post(headers, new URLSearchParams({ ...GRANT, ...asserted(await assertion()), ...fields }))
  const headerOnly = async () => post(await inHeader(auth, agent), new URLSearchParams(GRANT))
})
