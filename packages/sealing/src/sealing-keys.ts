import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { decrypt, encrypt } from './aes-gcm.ts'
import { readEnvelope, VERSION, writeEnvelope } from './envelope.ts'
import { newKeyLine, parseKeyFile } from './key-file.ts'
import { SealError } from './seal-error.ts'

/**
 * Seals values for storage: AES-256-GCM under a fresh data key, which is itself encrypted under a key-encryption key.
 *
 * `context` names the one place the value belongs to, such as `agents/agt_…/name`. It is not stored, and a value opens
 * only under the context it was sealed for, so a value copied to another row or column is refused.
 */
export interface SealingKeys {
  /** The key that `seal` uses. */
  readonly newestId: string
  /** @throws {TypeError} for a context that is empty or not well-formed Unicode. */
  seal(plaintext: Uint8Array | string, context: string): Buffer
  /** @throws {SealError} for a value that is damaged, of another context or under a key that is not in the list. */
  open(sealed: Uint8Array, context: string): Buffer
  /**
   * The same value under the newest key and a new data key, or undefined if it is under the newest key already.
   *
   * @throws {SealError} as `open` does, in both cases.
   */
  reseal(sealed: Uint8Array, context: string): Buffer | undefined
}

/**
 * Reads a file of key-encryption keys: lines `kek-<id>:<base64url of 32 bytes>`, newest first, and `#` comments.
 *
 * @throws {Error} naming every malformed or repeated line by its number, never by its text.
 */
export function parseKeyEncryptionKeys(fileText: string): SealingKeys {
  const lines = parseKeyFile('kek', fileText)
  const keys = new Map(lines.map(({ id, bytes }) => [id, createSecretKey(bytes)]))
  const [newest] = keys
  if (newest === undefined) throw new Error('bad kek file: it holds no key')
  return sealingKeys(keys, newest)
}

/** One line for a file of key-encryption keys. */
export const newKeyEncryptionKey = (): string => newKeyLine('kek')

function sealingKeys(
  keys: ReadonlyMap<string, KeyObject>,
  [newestId, newest]: [string, KeyObject],
): SealingKeys {
  function seal(plaintext: Uint8Array | string, context: string): Buffer {
    const associated = associatedData(newestId, context)
    const dataKey = randomBytes(32)
    try {
      const wrappedDataKey = encrypt(newest, dataKey, associated.dataKey)
      const encryptedValue = encrypt(createSecretKey(dataKey), Buffer.from(plaintext), associated.value)
      return writeEnvelope({ keyId: newestId, wrappedDataKey, encryptedValue })
    } finally {
      dataKey.fill(0)
    }
  }

  function open(sealed: Uint8Array, context: string): Buffer {
    const { keyId, wrappedDataKey, encryptedValue } = readEnvelope(sealed)
    const key = keys.get(keyId)
    if (key === undefined) throw new SealError('sealed under a key-encryption key that is not in the list')
    const associated = associatedData(keyId, context)
    const dataKey = decrypt(key, wrappedDataKey, associated.dataKey)
    try {
      return decrypt(createSecretKey(dataKey), encryptedValue, associated.value)
    } finally {
      dataKey.fill(0)
    }
  }

  function reseal(sealed: Uint8Array, context: string): Buffer | undefined {
    const plaintext = open(sealed, context)
    return readEnvelope(sealed).keyId === newestId ? undefined : seal(plaintext, context)
  }

  return { newestId, seal, open, reseal }
}

/** What binds both layers to the format, the key-encryption key and the place; the words keep the layers apart. */
function associatedData(keyId: string, context: string) {
  if (context === '' || !context.isWellFormed()) throw new TypeError('a sealed value needs a context')
  const bound = (layer: string) => Buffer.from(`plainpath ${layer} ${VERSION} ${keyId} ${context}`)
  return { dataKey: bound('data-key'), value: bound('value') }
}
