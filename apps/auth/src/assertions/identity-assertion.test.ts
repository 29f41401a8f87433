import { AgentId, RegistrationId } from '@plainpath/domain'
import { importJWK, type JWK, SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { generateKeyPair, type KeyState, type SigningKey, selectInstanceKeys } from '../keys/signing-key.ts'
import { signAssertion, verifyAssertion } from './identity-assertion.ts'

const ISSUER = 'https://plainpath.example'
const now = new Date('2026-11-20T12:00:00Z')
const later = (seconds: number) => new Date(now.getTime() + seconds * 1000)
const epoch = Math.floor(now.getTime() / 1000)

function keyIn(state: KeyState, pair = generateKeyPair('ES256')): SigningKey {
  const { privateJwk, ...known } = pair
  return {
    ...known,
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
  keyIn('signing', pairs.signing),
  keyIn('retiring', pairs.retiring),
  keyIn('revoked', pairs.revoked),
])

const assertion = {
  jti: 'f81d4fae-7dec-41d0-8765-00a0c91e6bf6',
  verificationId: RegistrationId.parse('clm_8sT1kQ0vXr2mYw5bZc7dEg'),
  clientId: AgentId.parse('agt_3q2-7wEhtsm0aKX9dPz1Vg'),
  issuedAt: now,
  expiresAt: later(86_400),
}
const payload = {
  iss: ISSUER,
  aud: ISSUER,
  sub: assertion.verificationId,
  client_id: assertion.clientId,
  jti: assertion.jti,
  iat: epoch,
  exp: epoch + 86_400,
}
const read = (jwt: string, at = now) => verifyAssertion(jwt, keys, { issuer: ISSUER, now: at })

/** Signed by hand, so that each part can be wrong. */
async function forge(
  changed: Record<string, unknown>,
  {
    header = {},
    by = pairs.signing,
  }: { header?: Record<string, unknown>; by?: (typeof pairs)['signing'] } = {},
) {
  return new SignJWT({ ...payload, ...changed })
    .setProtectedHeader({ typ: 'identity-assertion+jwt', alg: by.algorithm, kid: by.kid, ...header })
    .sign(await importJWK(by.privateJwk as JWK, by.algorithm))
}

describe('an identity assertion', () => {
  test('is read as it was signed, until it expires', async () => {
    const jwt = await signAssertion(assertion, keys, ISSUER)
    expect(await read(jwt)).toEqual({ ok: true, value: assertion })
    expect((await read(jwt, later(86_399))).ok).toBe(true)
    expect((await read(jwt, later(86_406))).ok).toBe(false)
  })

  test('made by hand just so is read too', async () => {
    expect((await read(await forge({}))).ok).toBe(true)
  })

  test('is accepted from a key that no longer signs, but is still published', async () => {
    expect((await read(await forge({}, { by: pairs.retiring }))).ok).toBe(true)
  })

  test.for([
    ['another issuer', { iss: 'https://evil.example' }, {}],
    ['another audience', { aud: 'https://evil.example' }, {}],
    ['the API as audience', { aud: `${ISSUER}/api` }, {}],
    ['no audience', { aud: undefined }, {}],
    ['no issuer', { iss: undefined }, {}],
    ['no jti', { jti: undefined }, {}],
    ['a jti of another shape', { jti: '../../x' }, {}],
    ['no subject', { sub: undefined }, {}],
    ['a subject that is no claim', { sub: assertion.clientId }, {}],
    ['no client', { client_id: undefined }, {}],
    ['no end', { exp: undefined }, {}],
    ['an end that is past', { exp: epoch - 6 }, {}],
    ['no beginning', { iat: undefined }, {}],
    ['a beginning in the future', { iat: epoch + 60 }, {}],
    ['a time that is text', { exp: String(epoch + 60) }, {}],
    ['a beginning that is a fraction', { iat: epoch - 0.5 }, {}],
    ['no type', {}, { header: { typ: undefined } }],
    ['the type of an introspection response', {}, { header: { typ: 'token-introspection+jwt' } }],
    ['the type of an access token', {}, { header: { typ: 'at+jwt' } }],
    ['no kid', {}, { header: { kid: undefined } }],
    ['a kid that nobody has', {}, { header: { kid: '../../x' } }],
    ['the kid of another key', {}, { header: { kid: pairs.retiring.kid } }],
    ['a revoked key', {}, { by: pairs.revoked }],
    ['a key of somebody else', {}, { by: generateKeyPair('ES256') }],
    [
      'a key of somebody else under our kid',
      {},
      { by: { ...generateKeyPair('ES256'), kid: pairs.signing.kid } },
    ],
  ] as const)('with %s is refused', async ([_what, changed, how]) => {
    expect(await read(await forge(changed, how))).toEqual({ ok: false, error: 'invalid' })
  })

  test.for([
    ['as text', String(epoch + 60)],
    ['as a fraction', epoch + 60.5],
    ['past all whole numbers', 2 ** 53],
    ['negative', -epoch - 60],
    ['null', null],
  ] as const)('with an end that is %s is refused, and its twin is read', async ([_what, exp]) => {
    expect(await read(await forge({ exp }))).toEqual({ ok: false, error: 'invalid' })
    expect((await read(await forge({ exp: epoch + 60 }))).ok).toBe(true)
  })

  test.for([
    ['several audiences', { aud: [ISSUER, 'https://other.example'] }],
    ['an audience as a list', { aud: [ISSUER] }],
  ] as const)('with %s is refused', async ([_what, changed]) => {
    expect((await read(await forge(changed))).ok).toBe(false)
  })

  test('without a signature, or with a secret made of our public key, is refused', async () => {
    const [header, body] = [
      { typ: 'identity-assertion+jwt', alg: 'none', kid: pairs.signing.kid },
      payload,
    ].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    expect((await read(`${header}.${body}.`)).ok).toBe(false)
    const secret = new TextEncoder().encode(JSON.stringify(pairs.signing.publicJwk))
    const hmac = new SignJWT(payload).setProtectedHeader({
      typ: 'identity-assertion+jwt',
      alg: 'HS256',
      kid: pairs.signing.kid,
    })
    expect((await read(await hmac.sign(secret))).ok).toBe(false)
  })

  test.for(['', 'x', 'a.b.c', '..', `${'a'.repeat(10_000)}.b.c`])('nonsense is refused: %j', async (text) => {
    expect((await read(text)).ok).toBe(false)
  })
})
