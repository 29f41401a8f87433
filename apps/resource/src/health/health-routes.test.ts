import { expect, test } from 'vitest'
import { createSharedCheck } from './health-routes.ts'

test('one run serves all requests within a second, and the next request runs it again', async () => {
  let time = 0
  let runs = 0
  let fails = false
  const check = createSharedCheck(
    async () => {
      runs += 1
      if (fails) throw new Error('down')
    },
    () => new Date(time),
  )
  expect(await Promise.all([check(), check(), check()])).toEqual(['ok', 'ok', 'ok'])
  fails = true
  time = 999
  expect(await check()).toBe('ok')
  expect(runs).toBe(1)
  time = 1_000
  expect(await check()).toBe('failed')
  expect(runs).toBe(2)
  fails = false
  time = -5_000
  expect(await check()).toBe('ok')
})

test('a run that hangs counts as failed for waiting requests, and is not started twice', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  let runs = 0
  const check = createSharedCheck(
    () => {
      runs += 1
      return promise
    },
    () => new Date(0),
  )
  expect(await Promise.all([check(), check()])).toEqual(['failed', 'failed'])
  const late = check()
  resolve()
  expect(await late).toBe('ok')
  expect(runs).toBe(1)
})
