import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { newKeyEncryptionKey, parseKeyEncryptionKeys, SealError, type SealingKeys } from './index.ts'

const older = newKeyEncryptionKey()
const newer = newKeyEncryptionKey()
const keys = parseKeyEncryptionKeys(older)
const context = 'agents/agt_0000000000000000000000/name'

const bytes = fc.uint8Array({ maxLength: 300 })
const place = fc.string({ minLength: 1, unit: 'binary' })

const keyId = (line: string) => line.slice('kek-'.length, line.indexOf(':'))

function refusal(act: () => unknown): unknown {
  try {
    return act()
  } catch (error) {
    return error
  }
}

describe('an encrypted value', () => {
  test('decrypts to the same bytes under the same context', () => {
    fc.assert(
      fc.property(bytes, place, (plaintext, where) => {
        expect(keys.open(keys.seal(plaintext, where), where)).toEqual(Buffer.from(plaintext))
      }),
    )
  })

  test('of a string decrypts to its UTF-8', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(keys.open(keys.seal(text, context), context).toString('utf8')).toBe(text)
      }),
    )
  })

  test('is refused when any one bit of it is flipped', () => {
    const sealed = keys.seal('Atlas', context)
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const flipped = Buffer.from(sealed)
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(refusal(() => keys.open(flipped, context))).toBeInstanceOf(SealError)
    }
  })

  test('is refused when it is cut short or made longer anywhere', () => {
    const sealed = keys.seal('Atlas', context)
    for (let length = 0; length < sealed.length; length++) {
      expect(refusal(() => keys.open(sealed.subarray(0, length), context))).toBeInstanceOf(SealError)
    }
    expect(refusal(() => keys.open(Buffer.concat([sealed, Buffer.of(0)]), context))).toBeInstanceOf(SealError)
  })

  test('is refused under every other context', () => {
    fc.assert(
      fc.property(bytes, place, place, (plaintext, where, elsewhere) => {
        fc.pre(where !== elsewhere)
        const sealed = keys.seal(plaintext, where)
        expect(refusal(() => keys.open(sealed, elsewhere))).toBeInstanceOf(SealError)
      }),
    )
  })

  test('is refused by another key, also by one with the same id', () => {
    fc.assert(
      fc.property(bytes, (plaintext) => {
        const sealed = keys.seal(plaintext, context)
        const impostor = newKeyEncryptionKey().replace(/^kek-[^:]+/, `kek-${keyId(older)}`)
        for (const line of [newKeyEncryptionKey(), impostor]) {
          expect(refusal(() => parseKeyEncryptionKeys(line).open(sealed, context))).toBeInstanceOf(SealError)
        }
      }),
    )
  })

  test('is refused with the data key or the ciphertext of another value', () => {
    const [one, two] = [keys.seal('Atlas', context), keys.seal('Borea', context)]
    const cut = one.length - (12 + 16 + 'Atlas'.length)
    const crossed = Buffer.concat([one.subarray(0, cut), two.subarray(cut)])
    expect(refusal(() => keys.open(crossed, context))).toBeInstanceOf(SealError)
  })

  test('is refused when `seal` did not return its bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (noise, versioned) => {
        const sealed = versioned ? Buffer.concat([Buffer.of(1), noise]) : noise
        expect(refusal(() => keys.open(sealed, context))).toBeInstanceOf(SealError)
      }),
    )
  })

  test('differs each time and contains no part of the plaintext', () => {
    const [one, two] = [keys.seal('Atlas Atlas Atlas', context), keys.seal('Atlas Atlas Atlas', context)]
    expect(one.equals(two)).toBe(false)
    expect(one.includes('Atlas')).toBe(false)
  })

  test('is refused with a message that distinguishes a missing key from damage', () => {
    const sealed = keys.seal('Atlas', context)
    const stranger = parseKeyEncryptionKeys(newKeyEncryptionKey())
    expect(() => stranger.open(sealed, context)).toThrow('key-encryption key that is not in the list')
    expect(() => keys.open(sealed, 'agents/other/name')).toThrow('damaged')
  })
})

describe('reseal', () => {
  const both = parseKeyEncryptionKeys(`${newer}\n${older}`)
  const newest = parseKeyEncryptionKeys(newer)

  test('moves a value to the newest key, after which the older key is not needed', () => {
    fc.assert(
      fc.property(bytes, place, (plaintext, where) => {
        const moved = both.reseal(keys.seal(plaintext, where), where)
        expect(moved && newest.open(moved, where)).toEqual(Buffer.from(plaintext))
      }),
    )
  })

  test('has nothing to do for a value under the newest key', () => {
    expect(both.reseal(both.seal('Atlas', context), context)).toBeUndefined()
  })

  test.for<[string, SealingKeys]>([
    ['the newest key', both],
    ['an older key', keys],
  ])('refuses a damaged value under %s', ([, sealer]) => {
    const sealed = sealer.seal('Atlas', context)
    expect(() => both.reseal(sealed, 'agents/other/name')).toThrow(SealError)
  })
})

describe('sealing keys', () => {
  test('seal under the first line, and open what any line sealed', () => {
    const both = parseKeyEncryptionKeys(`# newest first\n${newer}\n\n${older}\n`)
    expect(both.newestId).toBe(keyId(newer))
    expect(both.open(keys.seal('Atlas', context), context).toString()).toBe('Atlas')
    expect(both.seal('Atlas', context).includes(both.newestId)).toBe(true)
  })

  test.for(['', '\ud800'])('want a context that names a place: %j does not', (where) => {
    expect(() => keys.seal('Atlas', where)).toThrow(TypeError)
    expect(() => keys.open(keys.seal('Atlas', context), where)).toThrow(TypeError)
  })

  test('are not shown when they are printed', () => {
    const printed =
      inspect(keys, { depth: Number.POSITIVE_INFINITY, showHidden: true }) + JSON.stringify(keys)
    expect(printed).not.toContain(older.slice(older.indexOf(':') + 1))
  })
})
