import { generateKeyPairSync } from 'node:crypto'
import { sha256Base64url } from '@plainpath/sealing'
import { z } from 'zod'

/** The signing algorithms. `EdDSA` means Ed25519; most JOSE libraries know only the name `EdDSA`. */
export const SigningAlgorithm = z.enum(['ES256', 'EdDSA'])
export type SigningAlgorithm = z.infer<typeof SigningAlgorithm>

/** The states of a key. `key-ring.ts` defines when and how a key changes its state. */
export const KeyState = z.enum(['generated', 'published', 'signing', 'retiring', 'retired', 'revoked'])
export type KeyState = z.infer<typeof KeyState>

/** A public key as `/oauth/jwks.json` publishes it (RFC 7517 §4). */
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

/** A key with its private part `d`, which is unencrypted only in memory. */
export const PrivateJwk = PublicJwk.extend({ d: z.string() })
export type PrivateJwk = z.infer<typeof PrivateJwk>

/** A key without its private part. */
export const KeyRecord = z.object({
  kid: z.string(),
  algorithm: SigningAlgorithm,
  state: KeyState,
  stateSince: z.date(),
  createdAt: z.date(),
  publicJwk: PublicJwk,
})
export type KeyRecord = Readonly<z.infer<typeof KeyRecord>>

/** A key in any state, with its private part until the key begins to retire or is revoked. */
export interface SigningKey extends KeyRecord {
  /** Undefined for a key that is retiring, retired or revoked. */
  readonly privateJwk: PrivateJwk | undefined
}

/** The key with which an instance signs, and the published key set. The signing key comes first in the set. */
export interface InstanceKeys {
  readonly signingKey: PrivateJwk
  readonly publishedKeys: readonly PublicJwk[]
}

const PUBLISHED_STATES: ReadonlySet<string> = new Set(['published', 'signing', 'retiring'])

/**
 * Selects the key with which an instance signs, and the keys that it publishes.
 *
 * @throws {Error} if there is no signing key with a private part; the message names the command to run
 */
export function selectInstanceKeys(keys: readonly SigningKey[]): InstanceKeys {
  const signingKey = keys.find((key) => key.state === 'signing')
  if (!signingKey?.privateJwk) throw new Error('no signing key: run "auth keys init" once')
  const otherKeys = keys.filter((key) => PUBLISHED_STATES.has(key.state) && key.kid !== signingKey.kid)
  return {
    signingKey: signingKey.privateJwk,
    publishedKeys: [signingKey, ...otherKeys].map((key) => key.publicJwk),
  }
}

/** A new key with both parts, before it is stored. */
export interface KeyPair {
  readonly kid: string
  readonly algorithm: SigningAlgorithm
  readonly publicJwk: PublicJwk
  readonly privateJwk: PrivateJwk
}

/**
 * Generates a key pair. The `kid` is the RFC 7638 thumbprint. Pairs whose `kid` begins with `-` are discarded, because a command
 * line would parse it as an option.
 */
export function generateKeyPair(algorithm: SigningAlgorithm): KeyPair {
  const pair = generatePairWithAnyKid(algorithm)
  return pair.kid.startsWith('-') ? generateKeyPair(algorithm) : pair
}

function generatePairWithAnyKid(algorithm: SigningAlgorithm): KeyPair {
  const { privateKey } =
    algorithm === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('ed25519')
  const { d, ...members } = PrivateJwk.omit({ kid: true, alg: true, use: true }).parse(
    privateKey.export({ format: 'jwk' }),
  )
  const kid = computeThumbprint(members)
  const publicJwk = PublicJwk.parse({ ...members, kid, alg: algorithm, use: 'sig' })
  return { kid, algorithm, publicJwk, privateJwk: { ...publicJwk, d } }
}

export function toPublicJwk({ d: _private, ...publicJwk }: PrivateJwk): PublicJwk {
  return publicJwk
}

/** Computes the SHA-256 thumbprint of a key (RFC 7638), in base64url. */
export function computeThumbprint({ crv, kty, x, y }: Pick<PublicJwk, 'crv' | 'kty' | 'x' | 'y'>): string {
  // The thumbprint is the SHA-256 hash of exactly these members in this order, without white space.
  const members = kty === 'EC' ? { crv, kty, x, y } : { crv, kty, x }
  return sha256Base64url(JSON.stringify(members))
}
