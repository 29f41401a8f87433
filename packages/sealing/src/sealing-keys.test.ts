import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { generateKeyEncryptionKey, parseKeyEncryptionKeys, SealError, type SealingKeys } from './index.ts'

const olderLine = generateKeyEncryptionKey()
const newerLine = generateKeyEncryptionKey()
const keys = parseKeyEncryptionKeys(olderLine)
const context = 'agents/agt_0000000000000000000000/name'

const bytes = fc.uint8Array({ maxLength: 300 })
const contexts = fc.string({ minLength: 1, unit: 'binary' })

const parseKeyId = (line: string) => line.slice('kek-'.length, line.indexOf(':'))

/** Returns the error that `act` throws, or its result. */
function catchError(act: () => unknown): unknown {
  try {
    return act()
  } catch (error) {
    return error
  }
}

describe('an encrypted value', () => {
  test('decrypts to the same bytes under the same context', () => {
    fc.assert(
      fc.property(bytes, contexts, (plaintext, anyContext) => {
        expect(keys.open(keys.seal(plaintext, anyContext), anyContext)).toEqual(Buffer.from(plaintext))
      }),
    )
  })

  test('of a string decrypts to its UTF-8 bytes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(keys.open(keys.seal(text, context), context).toString('utf8')).toBe(text)
      }),
    )
  })

  test('is refused if any single bit is flipped', () => {
    const sealed = keys.seal('Atlas', context)
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const flipped = Buffer.from(sealed)
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(catchError(() => keys.open(flipped, context))).toBeInstanceOf(SealError)
    }
  })

  test('is refused if it is truncated to any length, or has an extra byte at its end', () => {
    const sealed = keys.seal('Atlas', context)
    for (let length = 0; length < sealed.length; length++) {
      expect(catchError(() => keys.open(sealed.subarray(0, length), context))).toBeInstanceOf(SealError)
    }
    const extended = Buffer.concat([sealed, Buffer.of(0)])
    expect(catchError(() => keys.open(extended, context))).toBeInstanceOf(SealError)
  })

  test('is refused under another context', () => {
    fc.assert(
      fc.property(bytes, contexts, contexts, (plaintext, ownContext, otherContext) => {
        fc.pre(ownContext !== otherContext)
        const sealed = keys.seal(plaintext, ownContext)
        expect(catchError(() => keys.open(sealed, otherContext))).toBeInstanceOf(SealError)
      }),
    )
  })

  test('is refused under another key, even under one with the same id', () => {
    fc.assert(
      fc.property(bytes, (plaintext) => {
        const sealed = keys.seal(plaintext, context)
        const lineWithSameId = generateKeyEncryptionKey().replace(
          /^kek-[^:]+/,
          `kek-${parseKeyId(olderLine)}`,
        )
        for (const line of [generateKeyEncryptionKey(), lineWithSameId]) {
          const otherKeys = parseKeyEncryptionKeys(line)
          expect(catchError(() => otherKeys.open(sealed, context))).toBeInstanceOf(SealError)
        }
      }),
    )
  })

  test('is refused if its data key and its ciphertext come from different values', () => {
    const [sealed, otherSealed] = [keys.seal('Atlas', context), keys.seal('Borea', context)]
    // A sealed value ends with a nonce of 12 bytes, a tag of 16, and the ciphertext.
    const ciphertextStart = sealed.length - (12 + 16 + 'Atlas'.length)
    const mixed = Buffer.concat([sealed.subarray(0, ciphertextStart), otherSealed.subarray(ciphertextStart)])
    expect(catchError(() => keys.open(mixed, context))).toBeInstanceOf(SealError)
  })

  test('is refused if it consists of random bytes, with or without the version byte', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (randomBytes, hasVersion) => {
        const sealed = hasVersion ? Buffer.concat([Buffer.of(1), randomBytes]) : randomBytes
        expect(catchError(() => keys.open(sealed, context))).toBeInstanceOf(SealError)
      }),
    )
  })

  test('differs each time, and does not contain the plaintext', () => {
    const sealed = keys.seal('Atlas Atlas Atlas', context)
    const sealedAgain = keys.seal('Atlas Atlas Atlas', context)
    expect(sealed.equals(sealedAgain)).toBe(false)
    expect(sealed.includes('Atlas')).toBe(false)
  })

  test('is refused with a message that distinguishes a missing key from damage or another context', () => {
    const sealed = keys.seal('Atlas', context)
    const otherKeys = parseKeyEncryptionKeys(generateKeyEncryptionKey())
    expect(() => otherKeys.open(sealed, context)).toThrow('key-encryption key that is not in the list')
    expect(() => keys.open(sealed, 'agents/other/name')).toThrow('damaged')
  })
})

describe('reseal', () => {
  const bothKeys = parseKeyEncryptionKeys(`${newerLine}\n${olderLine}`)
  const newerKeys = parseKeyEncryptionKeys(newerLine)

  test('re-encrypts a value so that the newest key alone can decrypt it', () => {
    fc.assert(
      fc.property(bytes, contexts, (plaintext, anyContext) => {
        const resealed = bothKeys.reseal(keys.seal(plaintext, anyContext), anyContext)
        expect(resealed && newerKeys.open(resealed, anyContext)).toEqual(Buffer.from(plaintext))
      }),
    )
  })

  test('returns undefined for a value under the newest key', () => {
    expect(bothKeys.reseal(bothKeys.seal('Atlas', context), context)).toBeUndefined()
  })

  test.for<[string, SealingKeys]>([
    ['the newest key', bothKeys],
    ['an older key', keys],
  ])('refuses a value of another context under %s', ([, sealingKeys]) => {
    const sealed = sealingKeys.seal('Atlas', context)
    expect(() => bothKeys.reseal(sealed, 'agents/other/name')).toThrow(SealError)
  })
})

describe('sealing keys', () => {
  test('encrypt under the first key of the file, and decrypt with any of its keys', () => {
    const bothKeys = parseKeyEncryptionKeys(`# newest first\n${newerLine}\n\n${olderLine}\n`)
    expect(bothKeys.newestId).toBe(parseKeyId(newerLine))
    expect(bothKeys.open(keys.seal('Atlas', context), context).toString()).toBe('Atlas')
    expect(bothKeys.seal('Atlas', context).includes(bothKeys.newestId)).toBe(true)
  })

  test.for(['', '\ud800'])('reject the context %j', (invalidContext) => {
    expect(() => keys.seal('Atlas', invalidContext)).toThrow(TypeError)
    expect(() => keys.open(keys.seal('Atlas', context), invalidContext)).toThrow(TypeError)
  })

  test('do not appear in their printed form', () => {
    const printed =
      inspect(keys, { depth: Number.POSITIVE_INFINITY, showHidden: true }) + JSON.stringify(keys)
    expect(printed).not.toContain(olderLine.slice(olderLine.indexOf(':') + 1))
  })
})
