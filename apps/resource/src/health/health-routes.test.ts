import { expect, test } from 'vitest'
import { createSharedCheck } from './health-routes.ts'

test('a shared check runs once for all requests within a second, and again for a later request', async () => {
  let nowMs = 0
  let runCount = 0
  let isFailing = false
  const check = createSharedCheck(
    async () => {
      runCount += 1
      if (isFailing) throw new Error('down')
    },
    () => new Date(nowMs),
  )
  expect(await Promise.all([check(), check(), check()])).toEqual(['ok', 'ok', 'ok'])
  isFailing = true
  nowMs = 999
  expect(await check()).toBe('ok')
  expect(runCount).toBe(1)
  nowMs = 1_000
  expect(await check()).toBe('failed')
  expect(runCount).toBe(2)
  isFailing = false
  // The clock was set back, so the age of the result is unknown.
  nowMs = -5_000
  expect(await check()).toBe('ok')
})

test('a shared check that hangs counts as failed for waiting requests, and is not started again', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  let runCount = 0
  const check = createSharedCheck(
    () => {
      runCount += 1
      return promise
    },
    () => new Date(0),
  )
  expect(await Promise.all([check(), check()])).toEqual(['failed', 'failed'])
  const lateResult = check()
  resolve()
  expect(await lateResult).toBe('ok')
  expect(runCount).toBe(1)
})
