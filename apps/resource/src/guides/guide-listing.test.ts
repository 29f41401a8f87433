import { generateHashKey, parseHashKey } from '@plainpath/sealing'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createGuideCursors } from './guide-listing.ts'

const cursors = createGuideCursors(parseHashKey(generateHashKey()))
const anySlug = fc.stringMatching(/^[a-z0-9]{1,20}(-[a-z0-9]{1,9}){0,3}$/)
const INVALID = { ok: false, error: 'invalid-cursor' }

test('writes a cursor that is safe in a URL, and reads the slug back from it', () => {
  fc.assert(
    fc.property(anySlug, (slug) => {
      const cursor = cursors.write(slug)
      expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/)
      expect(cursors.read(cursor)).toEqual({ ok: true, value: slug })
    }),
  )
})

test('rejects altered cursors, other strings, and cursors of another key', () => {
  const otherCursors = createGuideCursors(parseHashKey(generateHashKey()))
  fc.assert(
    fc.property(anySlug, fc.string(), fc.nat(), (slug, text, position) => {
      const cursor = cursors.write(slug)
      const index = position % cursor.length
      const alteredCursor = `${cursor.slice(0, index)}${text}${cursor.slice(index + 1)}`
      if (alteredCursor !== cursor) expect(cursors.read(alteredCursor)).toEqual(INVALID)
      expect(cursors.read(text)).toEqual(INVALID)
      expect(cursors.read(otherCursors.write(slug))).toEqual(INVALID)
    }),
  )
})
