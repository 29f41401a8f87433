import { generateKeyPairSync } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK } from 'jose'
import { z } from 'zod'

export const SigningAlgorithm = z.enum(['ES256', 'EdDSA'])
export type SigningAlgorithm = z.infer<typeof SigningAlgorithm>

export const KeyState = z.enum(['generated', 'published', 'signing', 'retiring', 'retired', 'revoked'])
export type KeyState = z.infer<typeof KeyState>

/** A public key as `/oauth/jwks.json` shows it (RFC 7517 §4). */
export const PublicJwk = z.strictObject({
  kty: z.enum(['EC', 'OKP']),
  crv: z.string(),
  x: z.string(),
  y: z.string().optional(),
  kid: z.string(),
  alg: SigningAlgorithm,
  use: z.literal('sig'),
})
export type PublicJwk = z.infer<typeof PublicJwk>

/** `d` is the private part. It exists in memory only; at rest it is sealed. */
export const PrivateJwk = PublicJwk.extend({ d: z.string() })
export type PrivateJwk = z.infer<typeof PrivateJwk>

export interface SigningKey {
  readonly kid: string
  readonly algorithm: SigningAlgorithm
  readonly state: KeyState
  readonly stateSince: Date
  readonly createdAt: Date
  readonly publicJwk: PublicJwk
  /** Undefined once the key has stopped signing. */
  readonly privateJwk: PrivateJwk | undefined
}

/** A new key pair whose `kid` is its RFC 7638 thumbprint. */
export async function generateSigningKey(
  algorithm: SigningAlgorithm,
  state: KeyState,
  now: Date,
): Promise<SigningKey> {
  const { privateKey } =
    algorithm === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('ed25519')
  const jwk = await exportJWK(privateKey)
  const kid = await calculateJwkThumbprint(jwk)
  const privateJwk = PrivateJwk.parse({ ...jwk, kid, alg: algorithm, use: 'sig' })
  const { d: _private, ...publicJwk } = privateJwk
  return { kid, algorithm, state, stateSince: now, createdAt: now, publicJwk, privateJwk }
}
