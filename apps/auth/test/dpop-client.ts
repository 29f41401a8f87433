import { hkdfSync, randomUUID } from 'node:crypto'
import { calculateJwkThumbprint, type JWK, SignJWT } from 'jose'
import { expect } from 'vitest'
import { loadConfig } from '../src/config.ts'
import { agentAuthHeader, CLIENT_CREDENTIALS_GRANT, type RegisteredAgent } from './agent-client.ts'
import type { Refusal } from './expect-refusal.ts'
import { type KeyPair, nowSeconds } from './key-agent.ts'
import { type HttpResponse, send } from './send.ts'
import type { RunningAuth } from './start-auth.ts'

export const INVALID_PROOF: Refusal = { status: 400, code: 'invalid-dpop-proof', error: 'invalid_dpop_proof' }
export const USE_NONCE: Refusal = {
  status: 400,
  code: 'use-dpop-nonce',
  error: 'use_dpop_nonce',
  headers: { 'dpop-nonce': /^[\w-]{43}$/, 'cache-control': 'no-store' },
}
export const PROOF_REQUIRED: Refusal = {
  status: 400,
  code: 'dpop-proof-required',
  error: 'invalid_dpop_proof',
}

/** The parts of a DPoP proof, which a test may change before it is signed. */
export interface ProofParts {
  header: Record<string, unknown>
  claims: Record<string, unknown>
}

/** Returns the public key as a proof contains it, without `kid`. */
export const toPublicJwk = ({ jwk: { kid: _kid, ...jwk } }: KeyPair): JWK => jwk

/** Creates the header and the claims of a valid proof for the token endpoint. */
export const createProofParts = (auth: RunningAuth, key: KeyPair, nonce: string): ProofParts => ({
  header: { typ: 'dpop+jwt', alg: key.alg, jwk: toPublicJwk(key) },
  claims: { jti: randomUUID(), htm: 'POST', htu: `${auth.origin}/oauth/token`, iat: nowSeconds(), nonce },
})

export const signProof = ({ header, claims }: ProofParts, key: KeyPair): Promise<string> =>
  new SignJWT(claims).setProtectedHeader(header as never).sign(key.privateKey)

/**
 * Creates a proof for the token endpoint, with a current nonce.
 *
 * @param claims replace the valid ones; undefined removes a claim
 */
export async function createDpopProof(
  auth: RunningAuth,
  key: KeyPair,
  claims: Record<string, unknown> = {},
): Promise<string> {
  const parts = createProofParts(auth, key, await deriveNonce(auth))
  return signProof({ ...parts, claims: { ...parts.claims, ...claims } }, key)
}

/** How often the instances begin to issue another nonce. */
const NONCE_STEP_SECONDS = 60

/**
 * Derives a nonce as the instances do.
 *
 * @param minutes how many minutes from now the nonce is issued; negative for the past
 * @param secret replaces the secret that these instances derive from their hash key
 */
export async function deriveNonce(auth: RunningAuth, minutes = 0, secret?: Buffer): Promise<string> {
  const { hashKey } = loadConfig(await auth.testbed.createSettings(auth.origin))
  const step = Buffer.alloc(8)
  step.writeBigUInt64BE(BigInt(Math.floor(nowSeconds() / NONCE_STEP_SECONDS) + minutes))
  const nonceKey = secret ?? hashKey.deriveKey('dpop-nonce')
  return Buffer.from(hkdfSync('sha256', nonceKey, step, 'DPoP', 32)).toString('base64url')
}

/** Requests a token as a client with a secret. Sends the proof, if there is one, in the DPoP header. */
export const requestTokenWithProof = (
  auth: RunningAuth,
  agent: RegisteredAgent,
  proof: string | undefined,
  fields: Record<string, string> = CLIENT_CREDENTIALS_GRANT,
): Promise<HttpResponse> =>
  send(auth.url, {
    method: 'POST',
    path: '/oauth/token',
    headers: { ...agentAuthHeader(agent), ...(proof !== undefined && { dpop: proof }) },
    body: new URLSearchParams(fields),
  })

/** Reads the token from a response that must be successful. */
export function readToken(auth: RunningAuth, response: HttpResponse): string {
  expect(response.status, response.text).toBe(200)
  const { access_token } = JSON.parse(response.text) as { access_token: string }
  auth.confidential.add(access_token)
  return access_token
}

export const calculateThumbprint = (key: KeyPair) => calculateJwkThumbprint(key.jwk)
