import { randomUUID } from 'node:crypto'
import { CLIENT_ASSERTION_TYPE } from '@plainpath/metadata'
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { expect } from 'vitest'
import { GRANT, json } from './agent-client.ts'
import { type HttpResponse, send } from './send.ts'
import type { RunningAuth } from './start-auth.ts'

export type Algorithm = 'ES256' | 'EdDSA' | 'Ed25519'
export interface KeyPair {
  readonly privateKey: CryptoKey
  readonly jwk: JWK
  readonly alg: Algorithm
}

/** @param kid none, for a key that is named by its thumbprint */
export async function newKey(alg: Algorithm = 'ES256', kid: string | null = randomUUID()): Promise<KeyPair> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { privateKey, alg, jwk: { ...(await exportJWK(publicKey)), ...(kid !== null && { kid }) } }
}

export interface KeyAgent {
  readonly client_id: string
  readonly key: KeyPair
}

/** An agent that registered keys and has no secret; it signs with the first. */
export async function registerKeys(auth: RunningAuth, ...keys: KeyPair[]): Promise<KeyAgent> {
  const [key = await newKey()] = keys
  const body = json({ jwks: { keys: (keys.length > 0 ? keys : [key]).map(({ jwk }) => jwk) } })
  const response = await send(auth.url, { method: 'POST', path: '/api/agent/register', ...body })
  expect(response.status, response.text).toBe(201)
  const { client_id } = JSON.parse(response.text) as { client_id: string }
  return { client_id, key }
}

export const seconds = () => Math.floor(Date.now() / 1000)

/** Creates the claims of a valid assertion, which a test may replace or remove. */
export const honestClaims = (auth: RunningAuth, { client_id }: Pick<KeyAgent, 'client_id'>) => ({
  iss: client_id,
  sub: client_id,
  aud: auth.origin as unknown,
  exp: seconds() + 60,
  iat: seconds(),
  jti: randomUUID() as unknown,
})

/** Signs anything, also what no library would. */
export async function assertionOf(
  auth: RunningAuth,
  agent: KeyAgent,
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
): Promise<string> {
  const { alg, jwk, privateKey } = agent.key
  const signed = await new SignJWT({ ...honestClaims(auth, agent), ...claims } as never)
    .setProtectedHeader({ alg, ...(jwk.kid && { kid: jwk.kid }), ...header })
    .sign(privateKey)
  auth.confidential.add(signed)
  return signed
}

/** Creates the form fields that authenticate a client with an assertion. */
export const assertionFields = (assertion: string): Record<string, string> => ({
  client_assertion: assertion,
  client_assertion_type: CLIENT_ASSERTION_TYPE,
})

export const tokenFor = (auth: RunningAuth, fields: Record<string, string>): Promise<HttpResponse> =>
  send(auth.url, {
    method: 'POST',
    path: '/oauth/token',
    body: new URLSearchParams({ ...GRANT, ...fields }),
  })

export const tokenByKey = async (auth: RunningAuth, agent: KeyAgent): Promise<HttpResponse> =>
  tokenFor(auth, assertionFields(await assertionOf(auth, agent)))

/** Creates the header that authenticates a client at endpoints without a form. */
export const inHeader = async (auth: RunningAuth, agent: KeyAgent) => ({
  'client-assertion': await assertionOf(auth, agent),
})

/** Creates a valid proof of a key of the set. A given claim replaces the valid one; undefined removes it. */
export async function proofOf(
  auth: RunningAuth,
  { client_id }: Pick<KeyAgent, 'client_id'>,
  given: {
    key: KeyPair
    /** The whole set; by default the key alone. */
    set?: readonly KeyPair[]
    claims?: Record<string, unknown>
    header?: Record<string, unknown>
  },
): Promise<string> {
  const { alg, jwk, privateKey } = given.key
  const claims = {
    iss: client_id,
    aud: `${auth.origin}/api/agent/jwks`,
    iat: seconds(),
    exp: seconds() + 60,
    jti: randomUUID(),
    jkts: await Promise.all((given.set ?? [given.key]).map((each) => calculateJwkThumbprint(each.jwk))),
    ...given.claims,
  }
  const signed = await new SignJWT(claims)
    .setProtectedHeader({ alg, typ: 'jwks-proof+jwt', ...(jwk.kid && { kid: jwk.kid }), ...given.header })
    .sign(privateKey)
  auth.confidential.add(signed)
  return signed
}

/** Sends `PUT /api/agent/jwks`. */
export function putKeys(
  auth: RunningAuth,
  headers: Record<string, string>,
  body: { keys: readonly KeyPair[]; proof?: unknown },
): Promise<HttpResponse> {
  const sent = json({ ...body, keys: body.keys.map(({ jwk }) => jwk) })
  return send(auth.url, {
    method: 'PUT',
    path: '/api/agent/jwks',
    headers: { ...sent.headers, ...headers },
    body: sent.body,
  })
}
