import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { newKeyLine, parseKeyFile } from './key-file.ts'

/** What a hash is for, and so under which derived key it is made. A table's own label is written `email-index/waitlist`. */
type HashLabel = 'client-secret' | 'access-token' | 'email-index' | 'cursor'

export interface HashKey {
  /** Kept beside each stored hash, so that another key can follow. */
  readonly id: string
  /**
   * HMAC-SHA-256 (32 bytes) under HKDF-SHA-256(key, info = label) (RFC 5869): the same value under two labels gives
   * hashes that have nothing in common. A string counts as its UTF-8.
   *
   * @throws {TypeError} for an empty label.
   */
  hash(label: HashLabel | (string & Record<never, never>), value: string | Uint8Array): Buffer
}

/**
 * Reads a hash key file: one line `hash-<id>:<base64url of 32 bytes>`, and `#` comments.
 *
 * @throws {Error} for a malformed file, for none and for two keys; the text holds line numbers only.
 */
export function parseHashKey(fileText: string): HashKey {
  const [line, second] = parseKeyFile('hash', fileText)
  if (line === undefined || second !== undefined) throw new Error('bad hash file: it holds more than one key')
  const key = createSecretKey(line.bytes)
  // Labels are words of the program, so there are few.
  const derived = new Map<string, KeyObject>()
  return {
    id: line.id,
    hash(label, value) {
      if (label === '') throw new TypeError('a hash needs a label')
      const known = derived.get(label) ?? derive(key, label)
      derived.set(label, known)
      return createHmac('sha256', known).update(value).digest()
    },
  }
}

const derive = (key: KeyObject, label: string) =>
  createSecretKey(new Uint8Array(hkdfSync('sha256', key, '', label, 32)))

/** One line for a hash key file. */
export const newHashKey = (): string => newKeyLine('hash')
