import type { PrivateJwk, PublicJwk, SigningKey } from './signing-key.ts'

/** What an instance signs with, and everything that is published; the key that signs comes first. */
export interface InstanceKeys {
  readonly signing: PrivateJwk
  readonly published: readonly PublicJwk[]
}

const PUBLISHED_STATES: ReadonlySet<string> = new Set(['published', 'signing', 'retiring'])

/** @throws {Error} saying what to run, when no key signs */
export function instanceKeys(keys: readonly SigningKey[]): InstanceKeys {
  const signing = keys.find((key) => key.state === 'signing')
  if (!signing?.privateJwk) throw new Error('no signing key: run "auth keys init" once')
  const others = keys.filter((key) => PUBLISHED_STATES.has(key.state) && key.kid !== signing.kid)
  return { signing: signing.privateJwk, published: [signing, ...others].map((key) => key.publicJwk) }
}
