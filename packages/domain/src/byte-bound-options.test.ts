import { expect, test } from 'vitest'
import { estimateEntryBytes } from './byte-bound-options.ts'

const EMPTY_ENTRY_BYTES = estimateEntryBytes('', undefined)

// A character counts as two bytes.
test.each([
  ['text', 'x'.repeat(1_000), 2_000],
  ['bytes', Buffer.alloc(1_000), 1_000],
  ['a list', ['x'.repeat(500), 'x'.repeat(500)], 2_000],
  ['a set', new Set(['x'.repeat(1_000)]), 2_000],
  ['an object in an object', { agent: { name: 'x'.repeat(1_000) } }, 2_000],
])('estimateEntryBytes counts the memory of %s', (_kind, value, contentBytes) => {
  const bytes = estimateEntryBytes('', value) - EMPTY_ENTRY_BYTES
  expect(bytes).toBeGreaterThanOrEqual(contentBytes)
  // The rest is for the objects and their members.
  expect(bytes).toBeLessThan(contentBytes + 300)
})

test('estimateEntryBytes counts the key', () => {
  expect(estimateEntryBytes('x'.repeat(1_000), undefined)).toBe(EMPTY_ENTRY_BYTES + 2_000)
})
