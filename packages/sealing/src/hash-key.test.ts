import { createHmac, hkdfSync } from 'node:crypto'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { generateHashKey, parseHashKey, sha256, timingSafeEqualBytes } from './index.ts'

const keyLine = generateHashKey()
const key = parseHashKey(keyLine)

describe('a hash key', () => {
  test('hashes with HMAC-SHA-256 under HKDF of the key and the label', () => {
    const bytes = Buffer.from(keyLine.slice(keyLine.indexOf(':') + 1), 'base64url')
    const derivedKey = Buffer.from(hkdfSync('sha256', bytes, Buffer.alloc(0), 'client-secret', 32))
    const expected = createHmac('sha256', derivedKey).update('pps_x').digest()
    expect(key.hash('client-secret', 'pps_x')).toEqual(expected)
    expect(parseHashKey(keyLine).hash('client-secret', Buffer.from('pps_x'))).toEqual(expected)
  })

  test('gives another hash for another label, key or value', () => {
    const otherKey = parseHashKey(generateHashKey())
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        const hash = key.hash('email-index', value)
        expect(hash.equals(key.hash('email-index/waitlist', value))).toBe(false)
        expect(hash.equals(otherKey.hash('email-index', value))).toBe(false)
        expect(hash.equals(key.hash('email-index', `${value}.`))).toBe(false)
      }),
    )
  })

  test('derives the same key for a purpose each time, and another hash key derives a different one', () => {
    const bytes = Buffer.from(keyLine.slice(keyLine.indexOf(':') + 1), 'base64url')
    const expected = Buffer.from(hkdfSync('sha256', bytes, Buffer.alloc(0), 'dpop-nonce', 32))
    expect(key.deriveKey('dpop-nonce')).toEqual(expected)
    expect(parseHashKey(keyLine).deriveKey('dpop-nonce')).toEqual(expected)
    expect(parseHashKey(generateHashKey()).deriveKey('dpop-nonce')).not.toEqual(expected)
  })

  test('rejects an empty label', () => {
    expect(() => key.hash('', 'value')).toThrow(TypeError)
  })

  test('does not appear in its printed form', () => {
    const printed = inspect(key, { depth: Number.POSITIVE_INFINITY, showHidden: true }) + JSON.stringify(key)
    expect(printed).not.toContain(keyLine.slice(keyLine.indexOf(':') + 1))
  })
})

test('sha256 returns the digest of the example in FIPS 180-4, for a string and for bytes', () => {
  expect(sha256('abc').toString('hex')).toBe(
    'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  )
  expect(sha256(Buffer.from('abc'))).toEqual(sha256('abc'))
})

test('timingSafeEqualBytes returns true only for equal bytes of equal length', () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.uint8Array(), (a, b) => {
      expect(timingSafeEqualBytes(a, Uint8Array.from(a))).toBe(true)
      expect(timingSafeEqualBytes(a, b)).toBe(Buffer.compare(a, b) === 0)
      expect(timingSafeEqualBytes(a, Buffer.concat([a, Buffer.of(0)]))).toBe(false)
    }),
  )
})
