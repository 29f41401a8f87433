import { createHmac, createSecretKey, hash, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto'
import { generateKeyLine, parseKeyFile } from './key-file.ts'

/**
 * Common labels, each for one purpose. Under `email-index`, addresses are hashed so that a row can be found by its address. If only
 * one table uses the hashes, the label is `email-index/<table>`. `hash` permits any label; its type lets editors suggest these.
 */
type HashLabel = 'client-secret' | 'access-token' | 'email-index' | 'cursor' | 'mcp-request-state'

export interface HashKey {
  /** The id of the key. It is stored with a stored hash, because the key may be replaced. */
  readonly id: string
  /**
   * Computes HMAC-SHA-256 (32 bytes) with the key HKDF-SHA-256(key, info = label) (RFC 5869). Hashes of one value under two labels
   * are therefore unrelated. A string is hashed as UTF-8.
   *
   * @throws {TypeError} for an empty label
   */
  hash(label: HashLabel | (string & Record<never, never>), value: string | Uint8Array): Buffer
  /** Derives a key of 32 bytes for a purpose other than hashing: HKDF-SHA-256 with the label as info. It is the same in every instance. */
  deriveKey(label: 'dpop-nonce' | 'cookies'): Buffer
}

/**
 * Reads a hash key file: one line `hash-<id>:<base64url of 32 bytes>`, and `#` comments.
 *
 * @throws {Error} if the file is malformed or does not contain exactly one key. The message never quotes a line
 */
export function parseHashKey(fileText: string): HashKey {
  const [keyLine, excessLine] = parseKeyFile('hash', fileText)
  if (keyLine === undefined || excessLine !== undefined)
    throw new Error('bad hash file: it holds more than one key')
  const key = createSecretKey(keyLine.bytes)
  // Never evicted, because the labels are a few constants of the program.
  const keysByLabel = new Map<string, KeyObject>()
  return {
    id: keyLine.id,
    hash(label, value) {
      if (label === '') throw new TypeError('a hash needs a label')
      const labelKey = keysByLabel.get(label) ?? deriveLabelKey(key, label)
      keysByLabel.set(label, labelKey)
      return createHmac('sha256', labelKey).update(value).digest()
    },
    deriveKey: (label) => deriveLabelKey(key, label).export(),
  }
}

const deriveLabelKey = (key: KeyObject, label: string) =>
  createSecretKey(new Uint8Array(hkdfSync('sha256', key, '', label, 32)))

/** Generates a line for a hash key file. */
export const generateHashKey = (): string => generateKeyLine('hash')

/** Computes SHA-256 (32 bytes) of bytes, or of a string as UTF-8. For a secret that could be guessed, use a `HashKey`. */
export const sha256 = (value: string | Uint8Array): Buffer => hash('sha256', value, 'buffer')

/** Computes SHA-256 of a string as UTF-8, in base64url. Faster than `sha256(value).toString('base64url')`. */
export const sha256Base64url = (value: string): string => hash('sha256', value, 'base64url')

/** Compares bytes in a time that depends only on their lengths. */
export const timingSafeEqualBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.byteLength === b.byteLength && timingSafeEqual(a, b)
