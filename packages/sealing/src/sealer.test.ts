import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createSealer, generateKeyEncryptionKey, type Sealer, UnsealError } from './index.ts'

const olderLine = generateKeyEncryptionKey()
const newerLine = generateKeyEncryptionKey()
const sealer = createSealer(olderLine)
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
        expect(sealer.unseal(sealer.seal(plaintext, anyContext), anyContext)).toEqual(Buffer.from(plaintext))
      }),
    )
  })

  test('of a string decrypts to its UTF-8 bytes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(sealer.unseal(sealer.seal(text, context), context).toString('utf8')).toBe(text)
      }),
    )
  })

  test('is refused if any single bit is flipped', () => {
    const sealed = sealer.seal('Atlas', context)
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const flipped = Buffer.from(sealed)
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(catchError(() => sealer.unseal(flipped, context))).toBeInstanceOf(UnsealError)
    }
  })

  test('is refused if it is truncated to any length, or has an extra byte at its end', () => {
    const sealed = sealer.seal('Atlas', context)
    for (let length = 0; length < sealed.length; length++) {
      expect(catchError(() => sealer.unseal(sealed.subarray(0, length), context))).toBeInstanceOf(UnsealError)
    }
    const extended = Buffer.concat([sealed, Buffer.of(0)])
    expect(catchError(() => sealer.unseal(extended, context))).toBeInstanceOf(UnsealError)
  })

  test('is refused under another context', () => {
    fc.assert(
      fc.property(bytes, contexts, contexts, (plaintext, ownContext, otherContext) => {
        fc.pre(ownContext !== otherContext)
        const sealed = sealer.seal(plaintext, ownContext)
        expect(catchError(() => sealer.unseal(sealed, otherContext))).toBeInstanceOf(UnsealError)
      }),
    )
  })

  test('is refused under another key, even under one with the same id', () => {
    fc.assert(
      fc.property(bytes, (plaintext) => {
        const sealed = sealer.seal(plaintext, context)
        const lineWithSameId = generateKeyEncryptionKey().replace(
          /^kek-[^:]+/,
          `kek-${parseKeyId(olderLine)}`,
        )
        for (const line of [generateKeyEncryptionKey(), lineWithSameId]) {
          const otherSealer = createSealer(line)
          expect(catchError(() => otherSealer.unseal(sealed, context))).toBeInstanceOf(UnsealError)
        }
      }),
    )
  })

  test('is refused if its data key and its ciphertext come from different values', () => {
    const [sealed, otherSealed] = [sealer.seal('Atlas', context), sealer.seal('Borea', context)]
    // A sealed value ends with a nonce of 12 bytes, a tag of 16, and the ciphertext.
    const ciphertextStart = sealed.length - (12 + 16 + 'Atlas'.length)
    const mixed = Buffer.concat([sealed.subarray(0, ciphertextStart), otherSealed.subarray(ciphertextStart)])
    expect(catchError(() => sealer.unseal(mixed, context))).toBeInstanceOf(UnsealError)
  })

  test('is refused if it consists of random bytes, with or without the version byte', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (randomBytes, hasVersion) => {
        const sealed = hasVersion ? Buffer.concat([Buffer.of(1), randomBytes]) : randomBytes
        expect(catchError(() => sealer.unseal(sealed, context))).toBeInstanceOf(UnsealError)
      }),
    )
  })

  test('differs each time, and does not contain the plaintext', () => {
    const sealed = sealer.seal('Atlas Atlas Atlas', context)
    const sealedAgain = sealer.seal('Atlas Atlas Atlas', context)
    expect(sealed.equals(sealedAgain)).toBe(false)
    expect(sealed.includes('Atlas')).toBe(false)
  })

  test('is refused with a message that distinguishes a missing key from damage or another context', () => {
    const sealed = sealer.seal('Atlas', context)
    const otherSealer = createSealer(generateKeyEncryptionKey())
    expect(() => otherSealer.unseal(sealed, context)).toThrow('key-encryption key that is not in the list')
    expect(() => sealer.unseal(sealed, 'agents/other/name')).toThrow('damaged')
  })
})

describe('reseal', () => {
  const twoKeySealer = createSealer(`${newerLine}\n${olderLine}`)
  const newerSealer = createSealer(newerLine)

  test('re-encrypts a value so that the newest key alone can decrypt it', () => {
    fc.assert(
      fc.property(bytes, contexts, (plaintext, anyContext) => {
        const resealed = twoKeySealer.reseal(sealer.seal(plaintext, anyContext), anyContext)
        expect(resealed && newerSealer.unseal(resealed, anyContext)).toEqual(Buffer.from(plaintext))
      }),
    )
  })

  test('returns undefined for a value under the newest key', () => {
    expect(twoKeySealer.reseal(twoKeySealer.seal('Atlas', context), context)).toBeUndefined()
  })

  test.for<[string, Sealer]>([
    ['the newest key', twoKeySealer],
    ['an older key', sealer],
  ])('refuses a value of another context under %s', ([, originalSealer]) => {
    const sealed = originalSealer.seal('Atlas', context)
    expect(() => twoKeySealer.reseal(sealed, 'agents/other/name')).toThrow(UnsealError)
  })
})

describe('a sealer', () => {
  test('encrypts under the first key of the file, and decrypts with any of its keys', () => {
    const twoKeySealer = createSealer(`# newest first\n${newerLine}\n\n${olderLine}\n`)
    expect(twoKeySealer.newestKeyId).toBe(parseKeyId(newerLine))
    expect(twoKeySealer.unseal(sealer.seal('Atlas', context), context).toString()).toBe('Atlas')
    expect(twoKeySealer.seal('Atlas', context).includes(twoKeySealer.newestKeyId)).toBe(true)
  })

  // \ud800 is half of a surrogate pair, so the string is not well-formed Unicode.
  test.for(['', '\ud800'])('rejects the context %j', (invalidContext) => {
    expect(() => sealer.seal('Atlas', invalidContext)).toThrow(TypeError)
    expect(() => sealer.unseal(sealer.seal('Atlas', context), invalidContext)).toThrow(TypeError)
  })

  test('does not contain its keys in its printed form', () => {
    const printed =
      inspect(sealer, { depth: Number.POSITIVE_INFINITY, showHidden: true }) + JSON.stringify(sealer)
    expect(printed).not.toContain(olderLine.slice(olderLine.indexOf(':') + 1))
  })
})
