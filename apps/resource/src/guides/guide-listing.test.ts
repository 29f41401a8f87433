import { generateHashKey, parseHashKey } from '@plainpath/sealing'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createGuideCursors } from './guide-listing.ts'

const cursors = createGuideCursors(parseHashKey(generateHashKey()))
const anySlug = fc.stringMatching(/^[a-z0-9]{1,20}(-[a-z0-9]{1,9}){0,3}$/)
const INVALID_CURSOR = { ok: false, error: 'invalid-cursor' }

test('a cursor is safe in a URL, and its slug can be read from it', () => {
  fc.assert(
    fc.property(anySlug, (slug) => {
      const cursor = cursors.write(slug)
      expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/)
      expect(cursors.read(cursor)).toEqual({ ok: true, value: slug })
    }),
  )
})

test('altered cursors, arbitrary strings, and cursors made with another key are rejected', () => {
  const otherCursors = createGuideCursors(parseHashKey(generateHashKey()))
  fc.assert(
    fc.property(anySlug, fc.string(), fc.nat(), (slug, otherText, seed) => {
      const cursor = cursors.write(slug)
      const index = seed % cursor.length
      const alteredCursor = `${cursor.slice(0, index)}${otherText}${cursor.slice(index + 1)}`
      if (alteredCursor !== cursor) expect(cursors.read(alteredCursor)).toEqual(INVALID_CURSOR)
      expect(cursors.read(otherText)).toEqual(INVALID_CURSOR)
      expect(cursors.read(otherCursors.write(slug))).toEqual(INVALID_CURSOR)
    }),
  )
})
