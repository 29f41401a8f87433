import { calculateJwkThumbprint } from 'jose'

interface PublicKey {
  readonly kty: string
  readonly crv: string
  readonly x: string
  readonly y?: string | null | undefined
}

/** Computes the SHA-256 thumbprint of a key (RFC 7638), base64url. It does not depend on `kid` and `alg`. */
export const computeKeyThumbprint = ({ kty, crv, x, y }: PublicKey): Promise<string> =>
  calculateJwkThumbprint({ kty, crv, x, ...(y && { y }) })

/** Computes the thumbprint of each key. */
export const computeKeyThumbprints = (keys: readonly PublicKey[]): Promise<string[]> =>
  Promise.all(keys.map(computeKeyThumbprint))

/** Returns true if two lists contain the thumbprints of the same keys, in any order. */
export const areSameKeys = (thumbprints: readonly string[], otherThumbprints: readonly string[]): boolean =>
  thumbprints.toSorted().join() === otherThumbprints.toSorted().join()
