/** Envelope encryption of stored values (AES-256-GCM), keyed and unkeyed hashes, and fast random bytes. The README has an overview. */
export { drawRandomBytes } from './draw-random-bytes.ts'
export {
  generateHashKey,
  type HashKey,
  parseHashKey,
  sha256,
  sha256Base64url,
  timingSafeEqualBytes,
} from './hash-key.ts'
export {
  createSealer,
  generateKeyEncryptionKey,
  type Sealer,
  UnsealError,
} from './sealer.ts'
export { unsealIfPossible } from './unseal-if-possible.ts'
