import { hash, timingSafeEqual } from 'node:crypto'

/** SHA-256, 32 bytes; a string counts as its UTF-8. Only for values nobody can guess: others need a `HashKey`. */
export const sha256 = (value: string | Uint8Array): Buffer => hash('sha256', value, 'buffer')

/** Compares in a time that depends on the lengths alone. */
export const equalBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.byteLength === b.byteLength && timingSafeEqual(a, b)
