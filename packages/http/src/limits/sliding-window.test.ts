import { expect, test } from 'vitest'
import { type Part, takeFromWindow } from './limit-store.ts'

const window = { quota: 1_000, windowMs: 60_000 }

test('stores a window in at most twelve parts, however many requests it counts', () => {
  let parts: readonly Part[] = []
  let most = 0
  for (let at = 0; at < 300_000; at += 250) {
    ;({ parts } = takeFromWindow(parts, at, window))
    most = Math.max(most, parts.length)
  }
  expect(most).toBeLessThanOrEqual(12)
})

test('locks nobody out for longer than a window when the clock is set back', () => {
  const { parts } = takeFromWindow([], 3_600_000, { ...window, quota: 1 })
  const refused = takeFromWindow(parts, 0, { ...window, quota: 1 })
  expect(refused).toMatchObject({ allowed: false, resetMs: 60_000 })
  expect(takeFromWindow(refused.parts, 60_000, { ...window, quota: 1 }).allowed).toBe(true)
})
