import { randomUUID } from 'node:crypto'
import { calculateJwkThumbprint } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { asAgent, type Registered, register, requestToken } from './agent-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { expectRefusal, expectSafe, type Refusal } from './expect-refusal.ts'
import {
  assertionOf,
  type KeyPair,
  newKey,
  proofOf,
  putKeys,
  registerKeys,
  seconds,
  tokenByKey,
} from './key-agent.ts'
import type { HttpResponse } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

let auth: RunningAuth
let one: KeyPair
let two: KeyPair
/** Has a secret, so that nothing but a proof can be stored by a request. */
let agent: Registered
let other: Registered
beforeAll(async () => {
  auth = await startAuth()
  ;[one, two] = [await newKey(), await newKey('EdDSA')]
  ;[agent, other] = [await register(auth), await register(auth)]
})
afterAll(async () => {
  await expectNothingInClear(auth)
  await auth[Symbol.asyncDispose]()
})

type Claims = Record<string, unknown>
type Request = { keys: readonly KeyPair[]; proof?: unknown }

const put = (who: Registered, request: Request) => putKeys(auth, asAgent(who), request)
const bodyOf = (response: HttpResponse) => JSON.parse(response.text) as Record<string, unknown>
/** The set of one key, with a proof that says this. */
const proving =
  (claims: () => Claims | Promise<Claims>, header: Claims = {}) =>
  async (who: Registered): Promise<Request> => ({
    keys: [one],
    proof: await proofOf(auth, who, { key: one, claims: await claims(), header }),
  })
const honest = (header: Claims) => proving(() => ({}), header)
/** Both keys are new. */
const bothProven = async (who: Registered, ...proven: KeyPair[]): Promise<Request> => ({
  keys: [one, two],
  proof: await Promise.all(proven.map((key) => proofOf(auth, who, { key, set: [one, two] }))),
})
const raw = (...parts: unknown[]) =>
  parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')

describe('accepts a proof, and the response has no warning:', () => {
  test.for([
    ['of the one key', proving(() => ({}))],
    ['without kid, where there is one key', honest({ kid: undefined })],
    ['its type in capitals', honest({ typ: 'JWKS-PROOF+JWT' })],
    ['for five minutes', proving(() => ({ exp: seconds() + 300 }))],
    ['8 s ahead', proving(() => ({ iat: seconds() + 8, exp: seconds() + 68 }))],
    ['with a jti of 256 characters', proving(() => ({ jti: randomUUID().padEnd(256, 'x') }))],
    ['with claims that we do not know', proving(() => ({ sub: 'x', nbf: 1 }))],
    ['in a list of one', async (who) => ({ keys: [one], proof: [await proofOf(auth, who, { key: one })] })],
    ['of both keys', (who) => bothProven(who, one, two)],
    ['of both keys in another order', (who) => bothProven(who, two, one)],
    [
      'with the thumbprints in another order',
      async (who) => ({
        keys: [one, two],
        proof: [
          await proofOf(auth, who, { key: one, set: [two, one] }),
          await proofOf(auth, who, { key: two, set: [one, two] }),
        ],
      }),
    ],
  ] satisfies [string, (who: Registered) => Promise<Request>][])('%s', async ([_what, request]) => {
    const who = await register(auth)
    const response = await put(who, await request(who))
    expect([response.status, bodyOf(response)['warning']], response.text).toEqual([200, undefined])
    await expectSafe(auth, response)
    expect((await tokenByKey(auth, { client_id: who.client_id, key: one })).status).toBe(200)
  })

  test('of a new key, beside a key that the client has already', async () => {
    const keyed = await registerKeys(auth, one)
    const headers = { 'client-assertion': await assertionOf(auth, keyed) }
    const proof = await proofOf(auth, keyed, { key: two, set: [one, two] })
    const response = await putKeys(auth, headers, { keys: [one, two], proof })
    expect([response.status, bodyOf(response)['warning']], response.text).toEqual([200, undefined])
  })
})

describe('accepts keys without a proof, and the response', () => {
  test.for([
    ['warns of the new key', () => [], () => [one], /the new key \S+\. Try it now/],
    ['warns of two new keys', () => [], () => [one, two], /the new keys \S+, \S+\. Try it now/],
    ['warns of the one that is new', () => [one], () => [one, two], /the new key \S+\. Try it now/],
  ] satisfies [string, () => KeyPair[], () => KeyPair[], RegExp][])(
    '%s',
    async ([_what, had, keys, says]) => {
      expect(bodyOf(await replace(had(), keys()))['warning']).toMatch(says)
    },
  )

  test('has no warning when no key is new', async () => {
    for (const keys of [[one], [one, two], [two, one]])
      expect(bodyOf(await replace([one, two], keys))).not.toHaveProperty('warning')
    const renamed = { ...one, jwk: { ...one.jwk, kid: 'renamed' } }
    expect(bodyOf(await replace([one], [renamed]))).not.toHaveProperty('warning')
  })

  async function replace(had: KeyPair[], keys: KeyPair[]) {
    if (had.length === 0) return put(await register(auth), { keys })
    const headers = { 'client-assertion': await assertionOf(auth, await registerKeys(auth, ...had)) }
    return putKeys(auth, headers, { keys })
  }
})

const invalid = (says: RegExp): Refusal => ({
  status: 400,
  code: 'invalid-key-proof',
  error: 'invalid_proof',
  form: 'agent',
  says,
})

describe('a proof is refused, and nothing is stored or changed:', () => {
  const NO_JWT = /^#\/proof: is not a signed JWT/
  const TYPE = /^#\/proof: must have the header parameter typ jwks-proof\+jwt/
  const ALGORITHM = /^#\/proof: must have one of ES256, EdDSA, Ed25519 as the header parameter alg/
  const HEADER = /^#\/proof: may have typ, alg and kid only/
  const KEY = /^#\/proof: does not name a key of this set/
  const SIGNATURE = /^#\/proof: was not signed with the key/
  const ISSUER = /^#\/proof: must have your client_id as the iss claim/
  const AUDIENCE = /^#\/proof: must have exactly the URL of this endpoint as the aud claim/
  const TOO_LONG = /^#\/proof: may be valid for at most 5 minutes/
  const NOT_YET = /^#\/proof: is not valid yet/
  const EXPIRED = /^#\/proof: has expired/
  const KEY_SET = /^#\/proof: is for another key set/
  const lacks = (claim: string) =>
    new RegExp(`^#/proof: lacks the claim ${claim}, or has it in the wrong form`)
  const jkts = async (...keys: KeyPair[]) => ({
    jkts: await Promise.all(keys.map(({ jwk }) => calculateJwkThumbprint(jwk))),
  })
  const literally = (proof: unknown) => async (): Promise<Request> => ({ keys: [one], proof })

  test.for([
    ['no JWT', literally('x'), NO_JWT],
    ['an empty string', literally(''), NO_JWT],
    ['two parts', literally(raw({ typ: 'jwks-proof+jwt', alg: 'ES256' }, {})), NO_JWT],
    ['a header that is a list', literally(`${raw([], {})}.AAAA`), NO_JWT],
    ['an encrypted JWT', literally(`${raw({ alg: 'dir', enc: 'A128GCM' })}.AAAA.AAAA.AAAA.AAAA`), NO_JWT],
    ['no type', honest({ typ: undefined }), TYPE],
    ['the type JWT', honest({ typ: 'JWT' }), TYPE],
    ['the type of a client assertion', honest({ typ: 'client-authentication+jwt' }), TYPE],
    ['the type of DPoP', honest({ typ: 'dpop+jwt' }), TYPE],
    ['alg none', literally(`${raw({ typ: 'jwks-proof+jwt', alg: 'none' }, {})}.`), ALGORITHM],
    ['alg HS256', literally(`${raw({ typ: 'jwks-proof+jwt', alg: 'HS256' }, {})}.AAAA`), ALGORITHM],
    ['its own jwk', honest({ jwk: { kty: 'EC' } }), HEADER],
    ['a jku', honest({ jku: 'https://evil.example/jwks' }), HEADER],
    ['a kid that is no text', honest({ kid: 1 }), HEADER],
    ['a kid of no key of the set', honest({ kid: 'none' }), KEY],
    [
      'no kid, where there are two keys',
      async (who) => ({
        keys: [one, two],
        proof: await proofOf(auth, who, { key: one, set: [one, two], header: { kid: undefined } }),
      }),
      KEY,
    ],
    [
      'the algorithm of the other kind of key',
      literally(`${raw({ typ: 'jwks-proof+jwt', alg: 'EdDSA' }, {})}.AAAA`),
      KEY,
    ],
    ['no signature', async (who) => signedAs(who, ''), SIGNATURE],
    ['a signature of zeros', async (who) => signedAs(who, 'A'.repeat(86)), SIGNATURE],
    [
      'the signature of a key outside the set, under the name of the new one',
      async (who) => {
        const outsider = await newKey('ES256', one.jwk.kid)
        return { keys: [one], proof: await proofOf(auth, who, { key: outsider, set: [one] }) }
      },
      SIGNATURE,
    ],
    ['no iss', proving(() => ({ iss: undefined })), lacks('iss')],
    ['no aud', proving(() => ({ aud: undefined })), lacks('aud')],
    ['aud in a list', proving(() => ({ aud: [`${auth.origin}/api/agent/jwks`] })), lacks('aud')],
    ['no iat', proving(() => ({ iat: undefined })), lacks('iat')],
    ['iat as text', proving(() => ({ iat: String(seconds()) })), lacks('iat')],
    ['no exp', proving(() => ({ exp: undefined })), lacks('exp')],
    ['exp as a fraction', proving(() => ({ exp: seconds() + 60.5 })), lacks('exp')],
    ['no jti', proving(() => ({ jti: undefined })), lacks('jti')],
    ['an empty jti', proving(() => ({ jti: '' })), lacks('jti')],
    ['a jti of 257 characters', proving(() => ({ jti: 'x'.repeat(257) })), lacks('jti')],
    ['no jkts', proving(() => ({ jkts: undefined })), lacks('jkts')],
    ['jkts as text', proving(async () => ({ jkts: (await jkts(one)).jkts[0] })), lacks('jkts')],
    ['of another client', proving(() => ({ iss: other.client_id })), ISSUER],
    ['for the issuer', proving(() => ({ aud: auth.origin })), AUDIENCE],
    ['for another server', proving(() => ({ aud: 'https://other.example/api/agent/jwks' })), AUDIENCE],
    ['11 s after its end', proving(() => ({ iat: seconds() - 60, exp: seconds() - 11 })), EXPIRED],
    ['301 s long', proving(() => ({ exp: seconds() + 301, iat: seconds() })), TOO_LONG],
    ['made in 60 s', proving(() => ({ iat: seconds() + 60, exp: seconds() + 120 })), NOT_YET],
    ['for no key', proving(() => ({ jkts: [] })), KEY_SET],
    ['for another key', proving(() => jkts(two)), KEY_SET],
    ['for one key more', proving(() => jkts(one, two)), KEY_SET],
    ['for its key twice', proving(() => jkts(one, one)), KEY_SET],
    [
      'for one key of two',
      async (who) => ({ keys: [one, two], proof: await proofOf(auth, who, { key: one }) }),
      KEY_SET,
    ],
    [
      'of one new key of two',
      (who) => bothProven(who, two),
      /^#\/proof: must contain a proof for each new key of the set/,
    ],
    [
      'the same proof twice',
      async (who) => {
        const proof = await proofOf(auth, who, { key: one })
        return { keys: [one], proof: [proof, proof] }
      },
      /^#\/proof: was used before/,
    ],
    [
      'the second of two that is wrong, named by its place',
      async (who) => ({
        keys: [one, two],
        proof: [...((await bothProven(who, one)).proof as string[]), 'x'],
      }),
      /^#\/proof\/1: is not a signed JWT/,
    ],
  ] satisfies [string, (who: Registered) => Promise<Request>, RegExp][])(
    '%s',
    async ([_why, request, says]) => {
      const sent = await request(agent)
      await expectRefusal(auth, () => put(agent, sent), invalid(says))
      expect((await requestToken(auth, agent)).status).toBe(200)
    },
  )

  test.for([
    ['a number', 5],
    ['an object', {}],
    ['an empty list', []],
    ['a list with a number', [5]],
    ['four proofs', ['x', 'x', 'x', 'x']],
    ['4 097 characters', 'x'.repeat(4097)],
  ] satisfies [string, unknown][])('%s is not even read', async ([_why, proof]) => {
    const malformed: Refusal = {
      status: 400,
      code: 'invalid-client-metadata',
      error: 'invalid_client_metadata',
      form: 'agent',
    }
    await expectRefusal(auth, () => put(agent, { keys: [one], proof }), malformed)
  })

  /** The honest proof under another signature. */
  async function signedAs(who: Registered, signature: string): Promise<Request> {
    const proof = await proofOf(auth, who, { key: one })
    return { keys: [one], proof: proof.replace(/[^.]*$/, signature) }
  }
})

test('accepts a proof once, and does not mark a rejected one as used', async () => {
  const who = await register(auth)
  const proof = await proofOf(auth, who, { key: one })
  await expectRefusal(
    auth,
    () => put(other, { keys: [one], proof }),
    invalid(/must have your client_id as the iss claim/),
  )
  expect((await put(who, { keys: [one], proof })).status).toBe(200)
  const keyed = { client_id: who.client_id, key: one }
  const headers = async () => ({ 'client-assertion': await assertionOf(auth, keyed) })
  const again = await putKeys(auth, await headers(), { keys: [one], proof })
  expect([again.status, bodyOf(again)['detail']]).toEqual([
    400,
    expect.stringMatching(/^#\/proof: was used before/),
  ])
  const fresh = await proofOf(auth, who, { key: one })
  expect((await putKeys(auth, await headers(), { keys: [one], proof: fresh })).status).toBe(200)
})

test('treats a null proof as absent', async () => {
  const response = await put(await register(auth), { keys: [one], proof: null })
  expect([response.status, bodyOf(response)['warning']]).toEqual([
    200,
    expect.stringMatching(/^The request has no proof/),
  ])
})

test('rejects a proof as a client assertion', async () => {
  const keyed = await registerKeys(auth, one)
  const proof = await proofOf(auth, keyed, { key: one, claims: { aud: auth.origin, sub: keyed.client_id } })
  const nobody: Refusal = { status: 401, code: 'invalid-client', error: 'invalid_client', form: 'agent' }
  await expectRefusal(auth, () => putKeys(auth, { 'client-assertion': proof }, { keys: [one] }), nobody)
})
