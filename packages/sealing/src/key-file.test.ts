import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { newHashKey, newKeyEncryptionKey, parseHashKey, parseKeyEncryptionKeys } from './index.ts'

const secret = Buffer.alloc(32, 'key').toString('base64url')
const good = `kek-a1:${secret}`

function message(act: () => unknown): string {
  try {
    act()
  } catch (error) {
    return String(error)
  }
  return 'accepted'
}

describe('a key file', () => {
  test('is read with comments, blank lines and Windows line ends', () => {
    expect(parseKeyEncryptionKeys(`# 2026\r\n\r\n  ${good}\r\n${newKeyEncryptionKey()}\r\n`).newestId).toBe(
      'a1',
    )
    expect(parseHashKey(`# one only\n${newHashKey()}\n`).id).toMatch(/^[0-9a-f]{8}$/)
  })

  test.for([
    { why: 'nothing', text: '' },
    { why: 'only a comment', text: '# later' },
    { why: 'no id', text: `kek-:${secret}` },
    { why: 'no kind', text: `a1:${secret}` },
    { why: 'another kind', text: `hash-a1:${secret}` },
    { why: 'an id with a blank', text: `kek-a 1:${secret}` },
    { why: 'an id of 33 characters', text: `kek-${'a'.repeat(33)}:${secret}` },
    { why: 'a key of 31 bytes', text: `kek-a1:${Buffer.alloc(31, 'key').toString('base64url')}` },
    { why: 'a key of 33 bytes', text: `kek-a1:${Buffer.alloc(33, 'key').toString('base64url')}` },
    { why: 'base64 with padding', text: `kek-a1:${secret}=` },
    { why: 'base64 of the other alphabet', text: `kek-a1:${Buffer.alloc(32, 0xff).toString('base64')}` },
    { why: 'a second spelling of a key', text: `kek-a1:${'A'.repeat(42)}B` },
    { why: 'text after the key', text: `${good} # mine` },
    { why: 'one good line and one bad', text: `${good}\nkek-b2:${secret.slice(1)}` },
    { why: 'an id twice', text: `${good}\n${newKeyEncryptionKey().replace(/^kek-[^:]+/, 'kek-a1')}` },
    { why: 'a key twice', text: `${good}\nkek-b2:${secret}` },
  ])('with $why is refused', ({ text }) => {
    expect(message(() => parseKeyEncryptionKeys(text))).toMatch(/^Error: bad kek file: /)
  })

  test('with several mistakes is refused with an error that names all of them', () => {
    const text = `kek-a1\n${good}\n${good}\nnonsense`
    expect(message(() => parseKeyEncryptionKeys(text))).toMatch(/line 1 .*line 3 repeats an id.*line 4 /)
  })

  test('is refused without quoting it', () => {
    const bad = fc.string({ minLength: 8 }).map((junk) => `kek-x1:${secret}${junk.replaceAll('\n', '')}!`)
    fc.assert(
      fc.property(bad, (line) => {
        const refused = message(() => parseKeyEncryptionKeys(`${line}\nhash-${secret}`))
        expect(refused).toBe(
          'Error: bad kek file: line 1 is not kek-<id>:<base64url of 32 bytes>; ' +
            'line 2 is not kek-<id>:<base64url of 32 bytes>',
        )
      }),
    )
    expect(message(() => parseKeyEncryptionKeys(`${good}\n${good}`))).not.toContain(secret)
    expect(message(() => parseHashKey(good))).not.toContain(secret)
  })

  test('for the hash key must hold exactly one key', () => {
    expect(message(() => parseHashKey(`${newHashKey()}\n${newHashKey()}`))).toContain('more than one')
    expect(message(() => parseHashKey(newKeyEncryptionKey()))).toContain('line 1')
  })

  test('accepts generated lines, all of them different', () => {
    const lines = Array.from({ length: 50 }, newKeyEncryptionKey)
    expect(() => parseKeyEncryptionKeys(lines.join('\n'))).not.toThrow()
  })
})
