import { expect, test } from 'vitest'
import { simulateLimits } from './simulate-limits.ts'

test('if each instance gets one read a minute from a caller, each read waits for both limits', async () => {
  expect(await simulateLimits(30, 30)).toMatchObject({
    callsPerRead: 2,
    waitingShare: 1,
    refusedShare: 0,
  })
})

test('with fewer instances, more reads use rate-limit tokens that were prefetched', async () => {
  const [one, four] = [await simulateLimits(30, 1), await simulateLimits(30, 4)]
  expect(one.callsPerRead).toBeLessThan(four.callsPerRead)
  expect(one.waitingShare).toBeLessThan(four.waitingShare)
  expect(four.waitingShare).toBeLessThan(1)
})

test('at its quota, a caller is refused more often by many instances, because they hold rate-limit tokens that it needs', async () => {
  const [one, many] = [await simulateLimits(120, 1), await simulateLimits(120, 32)]
  expect(one.refusedShare).toBeLessThan(many.refusedShare)
  // Three quarters of the quota of 120 a minute.
  expect(await simulateLimits(90, 8)).toMatchObject({ refusedShare: 0 })
})
