import type { PrivateJwk, PublicJwk, SigningKey } from './signing-key.ts'

/** What an instance signs and verifies with: the key that signs first, and everything that is published. */
export interface KeyRing {
  readonly signing: PrivateJwk
  readonly published: readonly PublicJwk[]
}

const PUBLISHED = new Set(['published', 'signing', 'retiring'])

/** @throws {Error} saying what to run, when no key signs */
export function keyRing(keys: readonly SigningKey[]): KeyRing {
  const signing = keys.find((key) => key.state === 'signing')
  if (!signing?.privateJwk) throw new Error('no signing key: run "auth keys init" once')
  const others = keys.filter((key) => PUBLISHED.has(key.state) && key.kid !== signing.kid)
  return { signing: signing.privateJwk, published: [signing, ...others].map((key) => key.publicJwk) }
}
