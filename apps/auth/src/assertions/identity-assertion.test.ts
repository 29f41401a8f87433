import { AgentId, RegistrationId } from '@plainpath/domain'
import { importJWK, type JWK, SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import {
  generateKeyPair,
  type KeyPair,
  type KeyState,
  type SigningKey,
  selectInstanceKeys,
} from '../keys/signing-key.ts'
import { signAssertion, verifyAssertion } from './identity-assertion.ts'

const ISSUER = 'https://plainpath.example'
const now = new Date('2026-11-20T12:00:00Z')
const secondsLater = (seconds: number) => new Date(now.getTime() + seconds * 1000)
const nowSeconds = Math.floor(now.getTime() / 1000)

function createKey(state: KeyState, pair: KeyPair): SigningKey {
  const { privateJwk, ...publicMembers } = pair
  return {
    ...publicMembers,
    state,
    stateSince: now,
    createdAt: now,
    privateJwk: state === 'signing' ? privateJwk : undefined,
  }
}
const pairs = {
  signing: generateKeyPair('ES256'),
  retiring: generateKeyPair('EdDSA'),
  revoked: generateKeyPair('ES256'),
}
const keys = selectInstanceKeys([
  createKey('signing', pairs.signing),
  createKey('retiring', pairs.retiring),
  createKey('revoked', pairs.revoked),
])

const assertion = {
  jti: 'f81d4fae-7dec-41d0-8765-00a0c91e6bf6',
  verificationId: RegistrationId.parse('clm_8sT1kQ0vXr2mYw5bZc7dEg'),
  clientId: AgentId.parse('agt_3q2-7wEhtsm0aKX9dPz1Vg'),
  issuedAt: now,
  expiresAt: secondsLater(86_400),
}
const payload = {
  iss: ISSUER,
  aud: ISSUER,
  sub: assertion.verificationId,
  client_id: assertion.clientId,
  jti: assertion.jti,
  iat: nowSeconds,
  exp: nowSeconds + 86_400,
}
const verify = (jwt: string, at = now) => verifyAssertion(jwt, keys, { issuer: ISSUER, now: at })

/** Signs an assertion. The test can change its claims, header and key. */
async function signModified(
  changedClaims: Record<string, unknown>,
  { header = {}, pair = pairs.signing }: { header?: Record<string, unknown>; pair?: KeyPair } = {},
) {
  return new SignJWT({ ...payload, ...changedClaims })
    .setProtectedHeader({ typ: 'identity-assertion+jwt', alg: pair.algorithm, kid: pair.kid, ...header })
    .sign(await importJWK(pair.privateJwk as JWK, pair.algorithm))
}

describe('an identity assertion', () => {
  test('is accepted with the signed values until it expires', async () => {
    const jwt = await signAssertion(assertion, keys, ISSUER)
    expect(await verify(jwt)).toEqual({ ok: true, value: assertion })
    expect((await verify(jwt, secondsLater(86_399))).ok).toBe(true)
    // The verification tolerates a clock skew of 5 s. 86,406 is a second more than the expiry with the tolerance.
    expect((await verify(jwt, secondsLater(86_406))).ok).toBe(false)
  })

  // The control for the refusals below.
  test('is accepted if the test signs it with unchanged claims', async () => {
    expect((await verify(await signModified({}))).ok).toBe(true)
  })

  test('is accepted if its key no longer signs, but is still published', async () => {
    expect((await verify(await signModified({}, { pair: pairs.retiring }))).ok).toBe(true)
  })

  test.for([
    ['another issuer', { iss: 'https://evil.example' }, {}],
    ['another audience', { aud: 'https://evil.example' }, {}],
    ['the API as audience', { aud: `${ISSUER}/api` }, {}],
    ['no audience', { aud: undefined }, {}],
    ['no issuer', { iss: undefined }, {}],
    ['no jti', { jti: undefined }, {}],
    ['a jti that is not a UUID', { jti: '../../x' }, {}],
    ['no subject', { sub: undefined }, {}],
    ['a subject that is not a verification ID', { sub: assertion.clientId }, {}],
    ['no client', { client_id: undefined }, {}],
    ['no exp', { exp: undefined }, {}],
    // A second more than the tolerance.
    ['an exp in the past', { exp: nowSeconds - 6 }, {}],
    ['no iat', { iat: undefined }, {}],
    ['an iat in the future', { iat: nowSeconds + 60 }, {}],
    ['a string as exp', { exp: String(nowSeconds + 60) }, {}],
    ['a fractional iat', { iat: nowSeconds - 0.5 }, {}],
    ['no type', {}, { header: { typ: undefined } }],
    ['the type of an introspection response', {}, { header: { typ: 'token-introspection+jwt' } }],
    ['the type of an access token', {}, { header: { typ: 'at+jwt' } }],
    ['no kid', {}, { header: { kid: undefined } }],
    ['an unknown kid', {}, { header: { kid: '../../x' } }],
    ['the kid of a key for another algorithm', {}, { header: { kid: pairs.retiring.kid } }],
    ['a revoked key', {}, { pair: pairs.revoked }],
    ['an unknown key', {}, { pair: generateKeyPair('ES256') }],
    [
      'an unknown key under the kid of a known one',
      {},
      { pair: { ...generateKeyPair('ES256'), kid: pairs.signing.kid } },
    ],
  ] as const)('with %s is refused', async ([_case, changedClaims, options]) => {
    expect(await verify(await signModified(changedClaims, options))).toEqual({ ok: false, error: 'invalid' })
  })

  test.for([
    ['a string', String(nowSeconds + 60)],
    ['a fraction', nowSeconds + 60.5],
    ['an unsafe integer', 2 ** 53],
    ['a negative integer', -nowSeconds - 60],
    ['null', null],
  ] as const)(
    'is refused if exp is %s, but not if it is a whole number in the future',
    async ([_case, exp]) => {
      expect(await verify(await signModified({ exp }))).toEqual({ ok: false, error: 'invalid' })
      expect((await verify(await signModified({ exp: nowSeconds + 60 }))).ok).toBe(true)
    },
  )

  test.for([
    ['several audiences', { aud: [ISSUER, 'https://other.example'] }],
    ['an audience as a list', { aud: [ISSUER] }],
  ] as const)('with %s is refused', async ([_case, changedClaims]) => {
    expect((await verify(await signModified(changedClaims))).ok).toBe(false)
  })

  test('is refused without a signature, and with an HMAC whose secret is the public key', async () => {
    const [header, body] = [
      { typ: 'identity-assertion+jwt', alg: 'none', kid: pairs.signing.kid },
      payload,
    ].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    expect((await verify(`${header}.${body}.`)).ok).toBe(false)
    const secret = new TextEncoder().encode(JSON.stringify(pairs.signing.publicJwk))
    const hmac = new SignJWT(payload).setProtectedHeader({
      typ: 'identity-assertion+jwt',
      alg: 'HS256',
      kid: pairs.signing.kid,
    })
    expect((await verify(await hmac.sign(secret))).ok).toBe(false)
  })

  test.for(['', 'x', 'a.b.c', '..', `${'a'.repeat(10_000)}.b.c`])(
    'is refused if it is not a JWT: %j',
    async (text) => {
      expect((await verify(text)).ok).toBe(false)
    },
  )
})
