import { randomUUID } from 'node:crypto'
import { calculateJwkThumbprint } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agentAuthHeader, type RegisteredAgent, register, requestToken } from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { expectRefusal, expectSafe, type Refusal } from './expect-refusal.ts'
import {
  createKeyProof,
  generateTestKeyPair,
  type KeyPair,
  nowSeconds,
  putKeys,
  registerKeys,
  requestTokenWithNewAssertion,
  signAssertion,
} from './key-agent.ts'
import type { HttpResponse } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

let auth: RunningAuth
let keyA: KeyPair
let keyB: KeyPair
/** The agent whose proofs are refused. It has a secret, because a client assertion would add its jti to the stores. */
let agent: RegisteredAgent
let otherAgent: RegisteredAgent
beforeAll(async () => {
  auth = await startAuth()
  keyA = await generateTestKeyPair()
  keyB = await generateTestKeyPair('EdDSA')
  agent = await register(auth)
  otherAgent = await register(auth)
})
afterAll(async () => {
  await expectNoConfidentialValues(auth)
  await auth[Symbol.asyncDispose]()
})

type Claims = Record<string, unknown>
type KeysRequest = { keys: readonly KeyPair[]; proof?: unknown }

const put = (client: RegisteredAgent, request: KeysRequest) => putKeys(auth, agentAuthHeader(client), request)
const parseBody = (response: HttpResponse) => JSON.parse(response.text) as Record<string, unknown>
/** Returns a function that creates a request with one key and its proof. `claims` and `header` replace the valid ones. */
const withClaims =
  (claims: () => Claims | Promise<Claims>, header: Claims = {}) =>
  async (client: RegisteredAgent): Promise<KeysRequest> => ({
    keys: [keyA],
    proof: await createKeyProof(auth, client, { key: keyA, claims: await claims(), header }),
  })
const withHeader = (header: Claims) => withClaims(() => ({}), header)
/** Creates a request with two new keys, and with proofs for some of them. */
const withTwoKeys = async (client: RegisteredAgent, ...provenKeys: KeyPair[]): Promise<KeysRequest> => ({
  keys: [keyA, keyB],
  proof: await Promise.all(
    provenKeys.map((key) => createKeyProof(auth, client, { key, keySet: [keyA, keyB] })),
  ),
})
const encodeParts = (...parts: unknown[]) =>
  parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')

describe('accepts a proof, and the response has no warning:', () => {
  test.for([
    ['of the only key', withClaims(() => ({}))],
    ['without kid, if there is one key', withHeader({ kid: undefined })],
    ['with its type in capitals', withHeader({ typ: 'JWKS-PROOF+JWT' })],
    ['that is valid for five minutes', withClaims(() => ({ exp: nowSeconds() + 300 }))],
    // Clocks may differ by 10 s.
    ['whose iat is 8 s in the future', withClaims(() => ({ iat: nowSeconds() + 8, exp: nowSeconds() + 68 }))],
    ['with a jti of 256 characters', withClaims(() => ({ jti: randomUUID().padEnd(256, 'x') }))],
    ['with unknown claims', withClaims(() => ({ sub: 'x', nbf: 1 }))],
    [
      'in a list',
      async (client) => ({
        keys: [keyA],
        proof: [await createKeyProof(auth, client, { key: keyA })],
      }),
    ],
    ['for each of two keys', (client) => withTwoKeys(client, keyA, keyB)],
    ['for each of two keys, in another order', (client) => withTwoKeys(client, keyB, keyA)],
    [
      'with the thumbprints in another order',
      async (client) => ({
        keys: [keyA, keyB],
        proof: [
          await createKeyProof(auth, client, { key: keyA, keySet: [keyB, keyA] }),
          await createKeyProof(auth, client, { key: keyB, keySet: [keyA, keyB] }),
        ],
      }),
    ],
  ] satisfies [string, (client: RegisteredAgent) => Promise<KeysRequest>][])(
    '%s',
    async ([_title, request]) => {
      const client = await register(auth)
      const response = await put(client, await request(client))
      expect([response.status, parseBody(response)['warning']], response.text).toEqual([200, undefined])
      await expectSafe(auth, response)
      expect(
        (await requestTokenWithNewAssertion(auth, { client_id: client.client_id, key: keyA })).status,
      ).toBe(200)
    },
  )

  test('of a new key in addition to a key that the client already has', async () => {
    const keyAgent = await registerKeys(auth, keyA)
    const headers = { 'client-assertion': await signAssertion(auth, keyAgent) }
    const proof = await createKeyProof(auth, keyAgent, { key: keyB, keySet: [keyA, keyB] })
    const response = await putKeys(auth, headers, { keys: [keyA, keyB], proof })
    expect([response.status, parseBody(response)['warning']], response.text).toEqual([200, undefined])
  })
})

describe('accepts keys without a proof, and the response', () => {
  test.for([
    ['warns of one new key', () => [], () => [keyA], /the new key \S+\. Try it now/],
    ['warns of two new keys', () => [], () => [keyA, keyB], /the new keys \S+, \S+\. Try it now/],
    ['warns of the new key only', () => [keyA], () => [keyA, keyB], /the new key \S+\. Try it now/],
  ] satisfies [string, () => KeyPair[], () => KeyPair[], RegExp][])(
    '%s',
    async ([_title, currentKeys, keys, says]) => {
      expect(parseBody(await replace(currentKeys(), keys()))['warning']).toMatch(says)
    },
  )

  test('has no warning when no key is new', async () => {
    for (const keys of [[keyA], [keyA, keyB], [keyB, keyA]])
      expect(parseBody(await replace([keyA, keyB], keys))).not.toHaveProperty('warning')
    const renamedKey = { ...keyA, jwk: { ...keyA.jwk, kid: 'renamed' } }
    expect(parseBody(await replace([keyA], [renamedKey]))).not.toHaveProperty('warning')
  })

  async function replace(currentKeys: KeyPair[], keys: KeyPair[]) {
    if (currentKeys.length === 0) return put(await register(auth), { keys })
    const headers = {
      'client-assertion': await signAssertion(auth, await registerKeys(auth, ...currentKeys)),
    }
    return putKeys(auth, headers, { keys })
  }
})

const invalidProof = (says: RegExp): Refusal => ({
  status: 400,
  code: 'invalid-key-proof',
  error: 'invalid_proof',
  errorFormat: 'agent',
  says,
})

describe('refuses a proof, stores nothing, and leaves the secret valid:', () => {
  const NOT_A_JWT = /^#\/proof: is not a signed JWT/
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
  const lacksClaim = (claim: string) =>
    new RegExp(`^#/proof: lacks the claim ${claim}, or has it in the wrong form`)
  const withThumbprints = async (...keys: KeyPair[]) => ({
    jkts: await Promise.all(keys.map(({ jwk }) => calculateJwkThumbprint(jwk))),
  })
  const withProof = (proof: unknown) => async (): Promise<KeysRequest> => ({ keys: [keyA], proof })

  test.for([
    ['text that is not a JWT', withProof('x'), NOT_A_JWT],
    ['an empty string', withProof(''), NOT_A_JWT],
    ['two parts', withProof(encodeParts({ typ: 'jwks-proof+jwt', alg: 'ES256' }, {})), NOT_A_JWT],
    ['a header that is a list', withProof(`${encodeParts([], {})}.AAAA`), NOT_A_JWT],
    [
      'an encrypted JWT',
      withProof(`${encodeParts({ alg: 'dir', enc: 'A128GCM' })}.AAAA.AAAA.AAAA.AAAA`),
      NOT_A_JWT,
    ],
    ['no type', withHeader({ typ: undefined }), TYPE],
    ['the type JWT', withHeader({ typ: 'JWT' }), TYPE],
    ['the type of a client assertion', withHeader({ typ: 'client-authentication+jwt' }), TYPE],
    ['the type of DPoP', withHeader({ typ: 'dpop+jwt' }), TYPE],
    ['alg none', withProof(`${encodeParts({ typ: 'jwks-proof+jwt', alg: 'none' }, {})}.`), ALGORITHM],
    ['alg HS256', withProof(`${encodeParts({ typ: 'jwks-proof+jwt', alg: 'HS256' }, {})}.AAAA`), ALGORITHM],
    ['its own jwk', withHeader({ jwk: { kty: 'EC' } }), HEADER],
    ['a jku', withHeader({ jku: 'https://evil.example/jwks' }), HEADER],
    ['a kid that is a number', withHeader({ kid: 1 }), HEADER],
    ['the kid of a key that is not in the set', withHeader({ kid: 'none' }), KEY],
    [
      'no kid, if there are two keys',
      async (client) => ({
        keys: [keyA, keyB],
        proof: await createKeyProof(auth, client, {
          key: keyA,
          keySet: [keyA, keyB],
          header: { kid: undefined },
        }),
      }),
      KEY,
    ],
    [
      'an algorithm that does not fit the key',
      withProof(`${encodeParts({ typ: 'jwks-proof+jwt', alg: 'EdDSA' }, {})}.AAAA`),
      KEY,
    ],
    ['no signature', async (client) => withSignature(client, ''), SIGNATURE],
    // 86 base64url characters: the 64 bytes of an ES256 signature.
    ['a signature of zeros', async (client) => withSignature(client, 'A'.repeat(86)), SIGNATURE],
    [
      'a signature by a key outside the set, with the kid of the new key',
      async (client) => {
        const outsider = await generateTestKeyPair('ES256', keyA.jwk.kid)
        return { keys: [keyA], proof: await createKeyProof(auth, client, { key: outsider, keySet: [keyA] }) }
      },
      SIGNATURE,
    ],
    ['no iss', withClaims(() => ({ iss: undefined })), lacksClaim('iss')],
    ['no aud', withClaims(() => ({ aud: undefined })), lacksClaim('aud')],
    ['aud in a list', withClaims(() => ({ aud: [`${auth.origin}/api/agent/jwks`] })), lacksClaim('aud')],
    ['no iat', withClaims(() => ({ iat: undefined })), lacksClaim('iat')],
    ['iat as text', withClaims(() => ({ iat: String(nowSeconds()) })), lacksClaim('iat')],
    ['no exp', withClaims(() => ({ exp: undefined })), lacksClaim('exp')],
    ['exp as a fraction', withClaims(() => ({ exp: nowSeconds() + 60.5 })), lacksClaim('exp')],
    ['no jti', withClaims(() => ({ jti: undefined })), lacksClaim('jti')],
    ['an empty jti', withClaims(() => ({ jti: '' })), lacksClaim('jti')],
    ['a jti of 257 characters', withClaims(() => ({ jti: 'x'.repeat(257) })), lacksClaim('jti')],
    ['no jkts', withClaims(() => ({ jkts: undefined })), lacksClaim('jkts')],
    [
      'jkts as text',
      withClaims(async () => ({ jkts: (await withThumbprints(keyA)).jkts[0] })),
      lacksClaim('jkts'),
    ],
    ['the iss of another client', withClaims(() => ({ iss: otherAgent.client_id })), ISSUER],
    ['the issuer as aud', withClaims(() => ({ aud: auth.origin })), AUDIENCE],
    [
      'the URL of another server as aud',
      withClaims(() => ({ aud: 'https://other.example/api/agent/jwks' })),
      AUDIENCE,
    ],
    [
      // More than the 10 s by which clocks may differ.
      'an exp 11 s in the past',
      withClaims(() => ({ iat: nowSeconds() - 60, exp: nowSeconds() - 11 })),
      EXPIRED,
    ],
    ['an exp 301 s after iat', withClaims(() => ({ exp: nowSeconds() + 301, iat: nowSeconds() })), TOO_LONG],
    [
      'an iat 60 s in the future',
      withClaims(() => ({ iat: nowSeconds() + 60, exp: nowSeconds() + 120 })),
      NOT_YET,
    ],
    ['an empty jkts', withClaims(() => ({ jkts: [] })), KEY_SET],
    ['jkts of another key', withClaims(() => withThumbprints(keyB)), KEY_SET],
    ['jkts with one key more', withClaims(() => withThumbprints(keyA, keyB)), KEY_SET],
    ['jkts with its key twice', withClaims(() => withThumbprints(keyA, keyA)), KEY_SET],
    [
      'jkts with one key of two',
      async (client) => ({ keys: [keyA, keyB], proof: await createKeyProof(auth, client, { key: keyA }) }),
      KEY_SET,
    ],
    [
      'a proof for only one of two new keys',
      (client) => withTwoKeys(client, keyB),
      /^#\/proof: must contain a proof for each new key of the set/,
    ],
    [
      'the same proof twice',
      async (client) => {
        const proof = await createKeyProof(auth, client, { key: keyA })
        return { keys: [keyA], proof: [proof, proof] }
      },
      /^#\/proof: was used before/,
    ],
    [
      'a second proof that is not a JWT, and names its position',
      async (client) => ({
        keys: [keyA, keyB],
        proof: [...((await withTwoKeys(client, keyA)).proof as string[]), 'x'],
      }),
      /^#\/proof\/1: is not a signed JWT/,
    ],
  ] satisfies [string, (client: RegisteredAgent) => Promise<KeysRequest>, RegExp][])(
    '%s',
    async ([_title, request, says]) => {
      const body = await request(agent)
      await expectRefusal(auth, () => put(agent, body), invalidProof(says))
      expect((await requestToken(auth, agent)).status).toBe(200)
    },
  )

  test.for([
    ['a number', 5],
    ['an object', {}],
    ['an empty list', []],
    ['a list with a number', [5]],
    ['four proofs', ['x', 'x', 'x', 'x']],
    ['a string of 4,097 characters', 'x'.repeat(4097)],
  ] satisfies [string, unknown][])('%s, as invalid metadata', async ([_title, proof]) => {
    const invalidMetadata: Refusal = {
      status: 400,
      code: 'invalid-client-metadata',
      error: 'invalid_client_metadata',
      errorFormat: 'agent',
    }
    await expectRefusal(auth, () => put(agent, { keys: [keyA], proof }), invalidMetadata)
  })

  /** Creates a request whose proof is valid except for its signature. */
  async function withSignature(client: RegisteredAgent, signature: string): Promise<KeysRequest> {
    const proof = await createKeyProof(auth, client, { key: keyA })
    return { keys: [keyA], proof: proof.replace(/[^.]*$/, signature) }
  }
})

test('a proof is accepted once, and a refused proof is not marked as used', async () => {
  const client = await register(auth)
  const proof = await createKeyProof(auth, client, { key: keyA })
  await expectRefusal(
    auth,
    () => put(otherAgent, { keys: [keyA], proof }),
    invalidProof(/must have your client_id as the iss claim/),
  )
  expect((await put(client, { keys: [keyA], proof })).status).toBe(200)
  const keyAgent = { client_id: client.client_id, key: keyA }
  const headers = async () => ({ 'client-assertion': await signAssertion(auth, keyAgent) })
  const repeatedResponse = await putKeys(auth, await headers(), { keys: [keyA], proof })
  expect([repeatedResponse.status, parseBody(repeatedResponse)['detail']]).toEqual([
    400,
    expect.stringMatching(/^#\/proof: was used before/),
  ])
  const newProof = await createKeyProof(auth, client, { key: keyA })
  expect((await putKeys(auth, await headers(), { keys: [keyA], proof: newProof })).status).toBe(200)
})

test('a null proof counts as absent', async () => {
  const response = await put(await register(auth), { keys: [keyA], proof: null })
  expect([response.status, parseBody(response)['warning']]).toEqual([
    200,
    expect.stringMatching(/^The request has no proof/),
  ])
})

test('a proof is rejected as a client assertion', async () => {
  const keyAgent = await registerKeys(auth, keyA)
  const proof = await createKeyProof(auth, keyAgent, {
    key: keyA,
    claims: { aud: auth.origin, sub: keyAgent.client_id },
  })
  const invalidClient: Refusal = {
    status: 401,
    code: 'invalid-client',
    error: 'invalid_client',
    errorFormat: 'agent',
  }
  await expectRefusal(
    auth,
    () => putKeys(auth, { 'client-assertion': proof }, { keys: [keyA] }),
    invalidClient,
  )
})
