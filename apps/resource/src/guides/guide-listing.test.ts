import { newHashKey, parseHashKey } from '@plainpath/sealing'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createGuideCursors } from './guide-listing.ts'

const cursors = createGuideCursors(parseHashKey(newHashKey()))
const slug = fc.stringMatching(/^[a-z0-9]{1,20}(-[a-z0-9]{1,9}){0,3}$/)
const INVALID = { ok: false, error: 'invalid-cursor' }

test('a cursor gives back its slug and is safe in an address', () => {
  fc.assert(
    fc.property(slug, (name) => {
      const cursor = cursors.write(name)
      expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/)
      expect(cursors.read(cursor)).toEqual({ ok: true, value: name })
    }),
  )
})

test('no other text is a cursor, nor is the cursor of another key', () => {
  const others = createGuideCursors(parseHashKey(newHashKey()))
  fc.assert(
    fc.property(slug, fc.string(), fc.nat(), (name, text, at) => {
      const cursor = cursors.write(name)
      const changed = `${cursor.slice(0, at % cursor.length)}${text}${cursor.slice((at % cursor.length) + 1)}`
      if (changed !== cursor) expect(cursors.read(changed)).toEqual(INVALID)
      expect(cursors.read(text)).toEqual(INVALID)
      expect(cursors.read(others.write(name))).toEqual(INVALID)
    }),
  )
})
