import { hkdfSync, randomUUID } from 'node:crypto'
import { calculateJwkThumbprint, type JWK, SignJWT } from 'jose'
import { expect } from 'vitest'
import { loadConfig } from '../src/config.ts'
import { asAgent, GRANT, type Registered } from './agent-client.ts'
import type { Refusal } from './expect-refusal.ts'
import { type KeyPair, seconds } from './key-agent.ts'
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

/** The parts of a DPoP proof for the token endpoint. */
export interface ProofParts {
  header: Record<string, unknown>
  claims: Record<string, unknown>
}

export const publicPart = ({ jwk: { kid: _kid, ...jwk } }: KeyPair): JWK => jwk

/** Creates the header and claims of a valid proof. */
export const honestProof = (auth: RunningAuth, key: KeyPair, nonce: string): ProofParts => ({
  header: { typ: 'dpop+jwt', alg: key.alg, jwk: publicPart(key) },
  claims: { jti: randomUUID(), htm: 'POST', htu: `${auth.origin}/oauth/token`, iat: seconds(), nonce },
})

export const signProof = ({ header, claims }: ProofParts, key: KeyPair): Promise<string> =>
  new SignJWT(claims).setProtectedHeader(header as never).sign(key.privateKey)

/** @param claims replace the honest ones; undefined takes one away */
export async function dpopProof(
  auth: RunningAuth,
  key: KeyPair,
  claims: Record<string, unknown> = {},
): Promise<string> {
  const parts = honestProof(auth, key, await nonceOf(auth))
  return signProof({ ...parts, claims: { ...parts.claims, ...claims } }, key)
}

const STEP_SECONDS = 60

/** The nonce of some minutes from now, as every instance with the hash key of this one derives it. */
export async function nonceOf(auth: RunningAuth, minutes = 0, secret?: Buffer): Promise<string> {
  const { hashKey } = loadConfig(await auth.stores.settingsFor(auth.origin))
  const step = Buffer.alloc(8)
  step.writeBigUInt64BE(BigInt(Math.floor(seconds() / STEP_SECONDS) + minutes))
  const key = secret ?? hashKey.deriveKey('dpop-nonce')
  return Buffer.from(hkdfSync('sha256', key, step, 'DPoP', 32)).toString('base64url')
}

/** Requests a token as a client with a secret. */
export const requestBound = (
  auth: RunningAuth,
  agent: Registered,
  proof: string | undefined,
  fields: Record<string, string> = GRANT,
): Promise<HttpResponse> =>
  send(auth.url, {
    method: 'POST',
    path: '/oauth/token',
    headers: { ...asAgent(agent), ...(proof !== undefined && { dpop: proof }) },
    body: new URLSearchParams(fields),
  })

export function tokenIn(auth: RunningAuth, response: HttpResponse): string {
  expect(response.status, response.text).toBe(200)
  const { access_token } = JSON.parse(response.text) as { access_token: string }
  auth.confidential.add(access_token)
  return access_token
}

export const thumbprintOf = (key: KeyPair) => calculateJwkThumbprint(key.jwk)
