import { expect, test } from 'vitest'
import { type Part, takeFromWindow } from './limit-store.ts'

/** In the first test, about 264 requests count at once, so this quota refuses none of them. */
const window = { quota: 1_000, windowMs: 60_000 }

test('stores a window of requests every 250 ms in at most twelve parts', () => {
  let parts: readonly Part[] = []
  let maxPartCount = 0
  for (let nowMs = 0; nowMs < 300_000; nowMs += 250) {
    parts = takeFromWindow(parts, nowMs, window).parts
    maxPartCount = Math.max(maxPartCount, parts.length)
  }
  expect(maxPartCount).toBeLessThanOrEqual(12)
})

test('refuses requests for no longer than a window after the clock was set back', () => {
  const { parts } = takeFromWindow([], 3_600_000, { ...window, quota: 1 })
  const refusal = takeFromWindow(parts, 0, { ...window, quota: 1 })
  expect(refusal).toMatchObject({ allowed: false, resetMs: 60_000 })
  expect(takeFromWindow(refusal.parts, 60_000, { ...window, quota: 1 }).allowed).toBe(true)
})
