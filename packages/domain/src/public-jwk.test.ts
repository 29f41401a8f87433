import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { isOnEd25519, isOnP256, SentJwk, toAgentKey } from './public-jwk.ts'

const decodeBase64url = (text: string | undefined) => Buffer.from(text ?? '', 'base64url')
const decodeHex = (text: string) => Buffer.from(text, 'hex')

test('accepts keys that node:crypto generated, and rejects P-256 coordinates that are swapped', () => {
  for (let n = 0; n < 20; n++) {
    const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
    expect(isOnP256(decodeBase64url(ec.x), decodeBase64url(ec.y))).toBe(true)
    expect(isOnP256(decodeBase64url(ec.y), decodeBase64url(ec.x))).toBe(false)
    const okp = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
    expect(isOnEd25519(decodeBase64url(okp.x))).toBe(true)
  }
})

test('rejects P-256 coordinates that exceed the prime or are both zero', () => {
  expect(isOnP256(Buffer.alloc(32, 0xff), Buffer.alloc(32, 0xff))).toBe(false)
  expect(isOnP256(Buffer.alloc(32), Buffer.alloc(32))).toBe(false)
})

// Encoded as in RFC 8032 §5.1.2: little-endian y, with the sign of x in the highest bit. A signature of a key of small order
// proves nothing, because anybody can create one.
describe('rejects the Ed25519 point with', () => {
  test.for([
    ['order 1', `01${'00'.repeat(31)}`],
    ['order 2', `ec${'ff'.repeat(30)}7f`],
    ['order 4', '00'.repeat(32)],
    ['order 4, the second', `${'00'.repeat(31)}80`],
    ['order 8', 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a'],
    ['order 8, the second', 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa'],
    ['order 8, the third', '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05'],
    ['order 8, the fourth', '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85'],
    ['a y that exceeds the prime', `ee${'ff'.repeat(30)}7f`],
    ['a y for which there is no x', `02${'00'.repeat(31)}`],
    ['x of zero with a sign', `01${'00'.repeat(30)}80`],
  ])('%s', ([_property, point]) => {
    expect(isOnEd25519(decodeHex(point ?? ''))).toBe(false)
  })
})

test.for([
  ['alg', ['alg']],
  ['use', ['use']],
  ['alg and use', ['alg', 'use']],
] satisfies [string, string[]][])('rejects a key with an empty %s', ([, members]) => {
  const jwk = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
  const parsed = SentJwk.safeParse({ ...jwk, ...Object.fromEntries(members.map((name) => [name, ''])) })
  expect(parsed.error?.issues.map(({ path }) => path.join('.'))).toEqual(members)
})

test('a key that is accepted has a stored form', () => {
  const jwk = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
  for (const alg of [undefined, null, 'EdDSA', 'Ed25519'])
    expect(toAgentKey(SentJwk.parse({ ...jwk, alg }), 'kid').use).toBe('sig')
})
