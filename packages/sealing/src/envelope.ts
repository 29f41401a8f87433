import { SealError } from './seal-error.ts'

/**
 * The bytes of a sealed value, version 1:
 *
 *     1 byte     version
 *     1 byte     length of the id
 *     n bytes    id of the key-encryption key, ASCII
 *     60 bytes   the record's data key (32), encrypted under the key-encryption key: nonce 12, tag 16, ciphertext
 *     28+ bytes  the value, encrypted under the data key: nonce 12, tag 16, ciphertext
 */
export interface Envelope {
  readonly keyId: string
  readonly wrappedDataKey: Uint8Array
  readonly encryptedValue: Uint8Array
}

export const VERSION = 1
const WRAPPED_BYTES = 12 + 16 + 32
const SMALLEST_VALUE_BYTES = 12 + 16

export function writeEnvelope({ keyId, wrappedDataKey, encryptedValue }: Envelope): Buffer {
  const id = Buffer.from(keyId, 'ascii')
  return Buffer.concat([Buffer.of(VERSION, id.length), id, wrappedDataKey, encryptedValue])
}

/** @throws {SealError} for bytes that no `writeEnvelope` made. */
export function readEnvelope(sealed: Uint8Array): Envelope {
  const idEnd = 2 + (sealed[1] ?? 0)
  const wrappedEnd = idEnd + WRAPPED_BYTES
  if (sealed[0] !== VERSION || sealed.length < wrappedEnd + SMALLEST_VALUE_BYTES) {
    throw new SealError('not a sealed value of a version this program knows')
  }
  return {
    keyId: Buffer.from(sealed.subarray(2, idEnd)).toString('latin1'),
    wrappedDataKey: sealed.subarray(idEnd, wrappedEnd),
    encryptedValue: sealed.subarray(wrappedEnd),
  }
}
