import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto'
import { drawRandomBytes } from './draw-random-bytes.ts'
import { generateKeyLine, parseKeyFile } from './key-file.ts'

/**
 * Encrypts (*seals*) and decrypts (*unseals*) stored values with AES-256-GCM, an AEAD. This is envelope encryption: each value has a
 * data key of its own, which is encrypted under a key-encryption key. A sealer has a list of key-encryption keys.
 *
 * `context` names the only place where the value belongs, such as `agents/agt_…/name`. It is authenticated as associated data, but
 * not stored, so a value that is copied to another row or column cannot be decrypted there.
 */
export interface Sealer {
  /** The id of the key-encryption key under which `seal` encrypts. */
  readonly newestKeyId: string
  /** The ids of all key-encryption keys in the list, newest first. */
  readonly keyIds: readonly string[]
  /**
   * Encrypts a value.
   *
   * @throws {TypeError} for a context that is empty or not well-formed Unicode
   */
  seal(plaintext: Uint8Array | string, context: string): Buffer
  /**
   * Decrypts a value.
   *
   * @throws {UnsealError} if the value is damaged, has another context, or was encrypted under a key that is not in the list
   * @throws {TypeError} for a context that is empty or not well-formed Unicode
   */
  unseal(sealed: Uint8Array, context: string): Buffer
  /**
   * Encrypts a value again, under the newest key and a new data key.
   *
   * @returns undefined if the value is already under the newest key
   * @throws like `unseal`, even for a value that is already under the newest key
   */
  reseal(sealed: Uint8Array, context: string): Buffer | undefined
}

/**
 * Creates a sealer from the text of a file of key-encryption keys: lines `kek-<id>:<base64url of 32 bytes>`, newest first, and `#`
 * comments.
 *
 * @throws {Error} if there is no key, or a line is malformed or repeated. The message lists these lines by number, and never quotes
 *   them
 */
export function createSealer(keyFileText: string): Sealer {
  const lines = parseKeyFile('kek', keyFileText)
  const keys = new Map(lines.map(({ id, bytes }) => [id, createSecretKey(bytes)]))
  const [newestEntry] = keys
  if (newestEntry === undefined) throw new Error('bad kek file: it holds no key')
  const [newestKeyId, newestKey] = newestEntry

  function seal(plaintext: Uint8Array | string, context: string): Buffer {
    const associatedData = buildAssociatedData(newestKeyId, context)
    const dataKey = drawRandomBytes(32)
    try {
      const encryptedDataKey = encrypt(newestKey, dataKey, associatedData.dataKey)
      // Passed as a KeyObject, which is faster: for raw bytes, Node 24 throws and catches an error internally.
      const encryptedValue = encrypt(createSecretKey(dataKey), Buffer.from(plaintext), associatedData.value)
      return writeEnvelope({ keyId: newestKeyId, encryptedDataKey, encryptedValue })
    } finally {
      dataKey.fill(0)
    }
  }

  function unseal(sealed: Uint8Array, context: string): Buffer {
    const { keyId, encryptedDataKey, encryptedValue } = readEnvelope(sealed)
    const key = keys.get(keyId)
    if (key === undefined) throw new UnsealError('sealed under a key-encryption key that is not in the list')
    const associatedData = buildAssociatedData(keyId, context)
    const dataKey = decrypt(key, encryptedDataKey, associatedData.dataKey)
    try {
      return decrypt(createSecretKey(dataKey), encryptedValue, associatedData.value)
    } finally {
      dataKey.fill(0)
    }
  }

  function reseal(sealed: Uint8Array, context: string): Buffer | undefined {
    const plaintext = unseal(sealed, context)
    return readEnvelope(sealed).keyId === newestKeyId ? undefined : seal(plaintext, context)
  }

  return { newestKeyId, keyIds: [...keys.keys()], seal, unseal, reseal }
}

/** Generates a line for a file of key-encryption keys. */
export const generateKeyEncryptionKey = (): string => generateKeyLine('kek')

/** Builds the associated data of both layers, which binds each to the format, the key-encryption key and the context. */
function buildAssociatedData(keyId: string, context: string) {
  if (context === '' || !context.isWellFormed()) throw new TypeError('a sealed value needs a context')
  const encodeLayer = (layer: string) => Buffer.from(`plainpath ${layer} ${VERSION} ${keyId} ${context}`)
  return { dataKey: encodeLayer('data-key'), value: encodeLayer('value') }
}

/**
 * The bytes of an encrypted value, version 1:
 *
 *     1 byte     version
 *     1 byte     length of the id
 *     n bytes    id of the key-encryption key, ASCII
 *     60 bytes   the data key (32), encrypted under the key-encryption key: nonce 12, tag 16, ciphertext 32
 *     28+ bytes  the value, encrypted under the data key: nonce 12, tag 16, ciphertext
 */
interface Envelope {
  readonly keyId: string
  readonly encryptedDataKey: Uint8Array
  readonly encryptedValue: Uint8Array
}

const VERSION = 1
const ENCRYPTED_DATA_KEY_BYTES = 12 + 16 + 32
const MIN_ENCRYPTED_VALUE_BYTES = 12 + 16

function writeEnvelope({ keyId, encryptedDataKey, encryptedValue }: Envelope): Buffer {
  const id = Buffer.from(keyId, 'ascii')
  return Buffer.concat([Buffer.of(VERSION, id.length), id, encryptedDataKey, encryptedValue])
}

/**
 * Parses an envelope.
 *
 * @throws {UnsealError} if the version is unknown, or the bytes are too few for an envelope
 */
function readEnvelope(sealed: Uint8Array): Envelope {
  const idEnd = 2 + (sealed[1] ?? 0)
  const dataKeyEnd = idEnd + ENCRYPTED_DATA_KEY_BYTES
  if (sealed[0] !== VERSION || sealed.length < dataKeyEnd + MIN_ENCRYPTED_VALUE_BYTES) {
    throw new UnsealError('not a sealed value of a version this program knows')
  }
  return {
    keyId: Buffer.from(sealed.subarray(2, idEnd)).toString('latin1'),
    encryptedDataKey: sealed.subarray(idEnd, dataKeyEnd),
    encryptedValue: sealed.subarray(dataKeyEnd),
  }
}

const NONCE_BYTES = 12
const TAG_BYTES = 16
const CIPHER_OPTIONS = { authTagLength: TAG_BYTES }

/**
 * Encrypts with AES-256-GCM (NIST SP 800-38D) and a random nonce. Returns nonce, tag and ciphertext.
 *
 * With random nonces, a key may be used 2^32 times (§8.3). A key-encryption key is used once for each value.
 */
function encrypt(key: KeyObject, plaintext: Uint8Array, associatedData: Uint8Array): Buffer {
  const nonce = drawRandomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce, CIPHER_OPTIONS).setAAD(associatedData)
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext])
}

/**
 * Decrypts the result of `encrypt`.
 *
 * @throws {UnsealError} unless `encrypt` returned these bytes for this key and this associated data
 */
function decrypt(key: KeyObject, encrypted: Uint8Array, associatedData: Uint8Array): Buffer {
  const nonce = encrypted.subarray(0, NONCE_BYTES)
  const tag = encrypted.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, CIPHER_OPTIONS)
    .setAAD(associatedData)
    .setAuthTag(tag)
  const plaintext = decipher.update(encrypted.subarray(NONCE_BYTES + TAG_BYTES))
  try {
    return Buffer.concat([plaintext, decipher.final()])
  } catch {
    throw new UnsealError('damaged, or sealed for another place')
  }
}

/**
 * Thrown if a value cannot be decrypted, because it is damaged, was moved to another row, or was encrypted under a key that is not
 * in the list. The message identifies the last case, which an operator can fix by adding the key. It never quotes the value.
 */
export class UnsealError extends Error {
  override readonly name = 'UnsealError'
}
