export { drawRandomBytes } from './draw-random-bytes.ts'
export {
  equalBytes,
  generateHashKey,
  type HashKey,
  parseHashKey,
  sha256,
  sha256Base64url,
} from './hash-key.ts'
export { openIfPossible } from './open-if-possible.ts'
export {
  generateKeyEncryptionKey,
  parseKeyEncryptionKeys,
  SealError,
  type SealingKeys,
} from './sealing-keys.ts'
