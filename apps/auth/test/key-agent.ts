import { randomUUID } from 'node:crypto'
import { CLIENT_ASSERTION_TYPE } from '@plainpath/metadata'
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { expect } from 'vitest'
import { CLIENT_CREDENTIALS_GRANT, createJsonContent } from './agent-client.ts'
import { type HttpResponse, send } from './send.ts'
import type { RunningAuth } from './start-auth.ts'

/** The JWS algorithm of a key (`alg`). `EdDSA` is the older, less specific name for `Ed25519` (RFC 9864). */
export type Algorithm = 'ES256' | 'EdDSA' | 'Ed25519'

/** The key pair with which a client signs assertions and proofs. */
export interface KeyPair {
  readonly privateKey: CryptoKey
  /** The public key. */
  readonly jwk: JWK
  readonly alg: Algorithm
}

/**
 * Generates a key pair.
 *
 * @param kid null for a key without a `kid`. Auth then stores the thumbprint as its `kid`, and JWTs of the key have none
 */
export async function generateTestKeyPair(
  alg: Algorithm = 'ES256',
  kid: string | null = randomUUID(),
): Promise<KeyPair> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { privateKey, alg, jwk: { ...(await exportJWK(publicKey)), ...(kid !== null && { kid }) } }
}

/** An agent that authenticates with a key. */
export interface KeyAgent {
  readonly client_id: string
  readonly key: KeyPair
}

/**
 * Registers an agent with these keys, or with one new key, and expects a 201. The returned agent signs with the first key.
 */
export async function registerKeys(auth: RunningAuth, ...keys: KeyPair[]): Promise<KeyAgent> {
  const [key = await generateTestKeyPair()] = keys
  const content = createJsonContent({
    jwks: { keys: (keys.length > 0 ? keys : [key]).map(({ jwk }) => jwk) },
  })
  const response = await send(auth.url, { method: 'POST', path: '/api/agent/register', ...content })
  expect(response.status, response.text).toBe(201)
  const { client_id } = JSON.parse(response.text) as { client_id: string }
  return { client_id, key }
}

/** The real time in seconds since the epoch. It does not follow a clock that the test moves. */
export const nowSeconds = () => Math.floor(Date.now() / 1000)

/** Creates the claims of a valid client assertion with a lifetime of 60 s. Tests may replace or remove them. */
export const createAssertionClaims = (auth: RunningAuth, { client_id }: Pick<KeyAgent, 'client_id'>) => ({
  iss: client_id,
  sub: client_id,
  aud: auth.origin as unknown,
  exp: nowSeconds() + 60,
  iat: nowSeconds(),
  jti: randomUUID() as unknown,
})

/**
 * Signs a client assertion. `claims` and `header` replace the valid members; undefined removes one. Adds the assertion to
 * `auth.confidential`.
 */
export async function signAssertion(
  auth: RunningAuth,
  agent: KeyAgent,
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
): Promise<string> {
  const { alg, jwk, privateKey } = agent.key
  // `as never`, because a claim may have a value of a type that `JWTPayload` does not allow.
  const assertion = await new SignJWT({ ...createAssertionClaims(auth, agent), ...claims } as never)
    .setProtectedHeader({ alg, ...(jwk.kid && { kid: jwk.kid }), ...header })
    .sign(privateKey)
  auth.confidential.add(assertion)
  return assertion
}

/** Creates the form fields that authenticate a client with an assertion. */
export const createAssertionFields = (assertion: string): Record<string, string> => ({
  client_assertion: assertion,
  client_assertion_type: CLIENT_ASSERTION_TYPE,
})

/** Requests a token with the client_credentials grant. `fields` contain the credentials. Does not check the response. */
export const requestTokenWithFields = (
  auth: RunningAuth,
  fields: Record<string, string>,
): Promise<HttpResponse> =>
  send(auth.url, {
    method: 'POST',
    path: '/oauth/token',
    body: new URLSearchParams({ ...CLIENT_CREDENTIALS_GRANT, ...fields }),
  })

/** Requests a token with a new assertion of the agent. Does not check the response. */
export const requestTokenWithNewAssertion = async (
  auth: RunningAuth,
  agent: KeyAgent,
): Promise<HttpResponse> =>
  requestTokenWithFields(auth, createAssertionFields(await signAssertion(auth, agent)))

/** Creates headers with a new client assertion, for endpoints that take no form. An assertion can be used only once. */
export const createAssertionHeader = async (auth: RunningAuth, agent: KeyAgent) => ({
  'client-assertion': await signAssertion(auth, agent),
})

/**
 * Creates a proof that the client can sign with one key of a new key set. `claims` and `header` replace the valid members;
 * undefined removes one. Adds the proof to `auth.confidential`.
 */
export async function createKeyProof(
  auth: RunningAuth,
  { client_id }: Pick<KeyAgent, 'client_id'>,
  options: {
    key: KeyPair
    /** The key set that the proof names (`jkts`); by default only `key`. */
    keySet?: readonly KeyPair[]
    claims?: Record<string, unknown>
    header?: Record<string, unknown>
  },
): Promise<string> {
  const { alg, jwk, privateKey } = options.key
  const claims = {
    iss: client_id,
    aud: `${auth.origin}/api/agent/jwks`,
    iat: nowSeconds(),
    exp: nowSeconds() + 60,
    jti: randomUUID(),
    jkts: await Promise.all(
      (options.keySet ?? [options.key]).map((each) => calculateJwkThumbprint(each.jwk)),
    ),
    ...options.claims,
  }
  const proof = await new SignJWT(claims)
    .setProtectedHeader({ alg, typ: 'jwks-proof+jwt', ...(jwk.kid && { kid: jwk.kid }), ...options.header })
    .sign(privateKey)
  auth.confidential.add(proof)
  return proof
}

/**
 * Calls `PUT /api/agent/jwks`, which replaces the keys of a client. `headers` authenticate the client. Does not check the
 * response.
 *
 * @param body.proof normally a JWT of `createKeyProof`, or a list with one for each new key
 */
export function putKeys(
  auth: RunningAuth,
  headers: Record<string, string>,
  body: { keys: readonly KeyPair[]; proof?: unknown },
): Promise<HttpResponse> {
  const content = createJsonContent({ ...body, keys: body.keys.map(({ jwk }) => jwk) })
  return send(auth.url, {
    method: 'PUT',
    path: '/api/agent/jwks',
    headers: { ...content.headers, ...headers },
    body: content.body,
  })
}
