import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto'
import { SealError } from './seal-error.ts'

const NONCE_BYTES = 12
const TAG_BYTES = 16
const OPTIONS = { authTagLength: TAG_BYTES }

/**
 * AES-256-GCM (NIST SP 800-38D) with a random nonce: nonce, tag, ciphertext.
 *
 * Random nonces allow one key 2^32 uses (§8.3); a key-encryption key is used once for each value sealed.
 */
export function encrypt(key: KeyObject, plaintext: Uint8Array, associated: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce, OPTIONS).setAAD(associated)
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext])
}

/** @throws {SealError} unless `encrypt` made these bytes under this key with this associated data. */
export function decrypt(key: KeyObject, encrypted: Uint8Array, associated: Uint8Array): Buffer {
  const nonce = encrypted.subarray(0, NONCE_BYTES)
  const tag = encrypted.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, OPTIONS).setAAD(associated).setAuthTag(tag)
  const plaintext = decipher.update(encrypted.subarray(NONCE_BYTES + TAG_BYTES))
  try {
    return Buffer.concat([plaintext, decipher.final()])
  } catch {
    throw new SealError('damaged, or sealed for another place')
  }
}
