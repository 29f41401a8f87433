export { equalBytes, sha256 } from './digest.ts'
export { type HashKey, newHashKey, parseHashKey } from './hash-key.ts'
export { SealError } from './seal-error.ts'
export { newKeyEncryptionKey, parseKeyEncryptionKeys, type SealingKeys } from './sealing-keys.ts'
