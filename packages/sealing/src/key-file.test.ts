import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createSealer, generateHashKey, generateKeyEncryptionKey, parseHashKey } from './index.ts'

const secret = Buffer.alloc(32, 'key').toString('base64url')
const validLine = `kek-a1:${secret}`

/** Returns the error that `parse` throws, as text. */
function readError(parse: () => unknown): string {
  try {
    parse()
  } catch (error) {
    return String(error)
  }
  return 'accepted'
}

describe('a key file', () => {
  test('is read with comments, blank lines and Windows line endings', () => {
    const text = `# 2026\r\n\r\n  ${validLine}\r\n${generateKeyEncryptionKey()}\r\n`
    expect(createSealer(text).newestKeyId).toBe('a1')
    expect(parseHashKey(`# one only\n${generateHashKey()}\n`).id).toMatch(/^[0-9a-f]{8}$/)
  })

  test.for([
    { fault: 'no content', text: '' },
    { fault: 'only comments', text: '# later' },
    { fault: 'no id', text: `kek-:${secret}` },
    { fault: 'no kind', text: `a1:${secret}` },
    { fault: 'another kind', text: `hash-a1:${secret}` },
    { fault: 'an id with a blank', text: `kek-a 1:${secret}` },
    { fault: 'an id of 33 characters', text: `kek-${'a'.repeat(33)}:${secret}` },
    { fault: 'a key of 31 bytes', text: `kek-a1:${Buffer.alloc(31, 'key').toString('base64url')}` },
    { fault: 'a key of 33 bytes', text: `kek-a1:${Buffer.alloc(33, 'key').toString('base64url')}` },
    { fault: 'base64 with padding', text: `kek-a1:${secret}=` },
    // Without its padding, it differs from base64url only in `/`.
    {
      fault: 'base64 of the other alphabet',
      text: `kek-a1:${Buffer.alloc(32, 0xff).toString('base64').replace('=', '')}`,
    },
    // A decoder ignores the lowest two bits of the last character, so `B` there stands for the same key as `A`.
    { fault: 'a second spelling of a key', text: `kek-a1:${'A'.repeat(42)}B` },
    { fault: 'text after the key', text: `${validLine} # mine` },
    { fault: 'one valid line and one invalid', text: `${validLine}\nkek-b2:${secret.slice(1)}` },
    {
      fault: 'an id twice',
      text: `${validLine}\n${generateKeyEncryptionKey().replace(/^kek-[^:]+/, 'kek-a1')}`,
    },
    { fault: 'a key twice', text: `${validLine}\nkek-b2:${secret}` },
  ])('with $fault is refused', ({ text }) => {
    expect(readError(() => createSealer(text))).toMatch(/^Error: bad kek file: /)
  })

  test('with several mistakes is refused with an error that names all of them', () => {
    const text = `kek-a1\n${validLine}\n${validLine}\nnonsense`
    expect(readError(() => createSealer(text))).toMatch(/line 1 .*line 3 repeats an id.*line 4 /)
  })

  test('is refused with an error that does not quote it', () => {
    const invalidLines = fc
      .string({ minLength: 8 })
      .map((junk) => `kek-x1:${secret}${junk.replaceAll('\n', '')}!`)
    fc.assert(
      fc.property(invalidLines, (line) => {
        const error = readError(() => createSealer(`${line}\nhash-${secret}`))
        expect(error).toBe(
          'Error: bad kek file: line 1 is not kek-<id>:<base64url of 32 bytes>; ' +
            'line 2 is not kek-<id>:<base64url of 32 bytes>',
        )
      }),
    )
    expect(readError(() => createSealer(`${validLine}\n${validLine}`))).not.toContain(secret)
    expect(readError(() => parseHashKey(validLine))).not.toContain(secret)
  })

  test('for the hash key is refused with two keys, or with a key of another kind', () => {
    expect(readError(() => parseHashKey(`${generateHashKey()}\n${generateHashKey()}`))).toContain(
      'more than one',
    )
    expect(readError(() => parseHashKey(generateKeyEncryptionKey()))).toContain('line 1')
  })

  test('is read with 50 generated lines, whose ids and keys all differ', () => {
    const lines = Array.from({ length: 50 }, generateKeyEncryptionKey)
    expect(() => createSealer(lines.join('\n'))).not.toThrow()
  })
})
