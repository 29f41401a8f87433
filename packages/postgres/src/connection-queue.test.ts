import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ConnectionQueueFullError, connectionQueue } from './connection-queue.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** One place, so two may wait. Whoever has the place keeps it until `serve`. */
function oneByOne() {
  const line = connectionQueue(1, { waitMs: 60_000, isServed: () => false })
  const outcomes: string[] = []
  const using: ((failed: boolean) => void)[] = []
  const end = async (failed: boolean) => {
    using.shift()?.(failed)
    await vi.advanceTimersByTimeAsync(0)
  }
  return {
    line,
    outcomes,
    async come(...names: string[]) {
      for (const name of names) {
        const passing = line.pass(async () => {
          const { promise, resolve } = Promise.withResolvers<boolean>()
          using.push(resolve)
          if (await promise) throw new Error('failed')
        })
        passing.then(
          () => outcomes.push(`${name} served`),
          (error: unknown) =>
            outcomes.push(`${name} ${error instanceof ConnectionQueueFullError ? 'turned away' : 'failed'}`),
        )
      }
      await vi.advanceTimersByTimeAsync(0)
    },
    serve: () => end(false),
    fail: () => end(true),
    pass: (ms: number) => vi.advanceTimersByTimeAsync(ms),
  }
}

/** 0.2 s in which nobody was served, with more in the line than may wait. */
async function stalled() {
  const place = oneByOne()
  await place.come('a', 'b', 'c', 'd')
  expect(place.outcomes).toEqual([])
  await place.pass(201)
  expect(place.outcomes.splice(0)).toEqual(['d turned away'])
  await place.come('e')
  expect(place.outcomes.splice(0)).toEqual(['e turned away'])
  return place
}

test('F-02 it is of any length again once as many as may wait were served without a pause', async () => {
  const place = await stalled()
  await place.serve()
  await place.come('f', 'g')
  expect(place.outcomes.splice(0)).toEqual(['a served', 'g turned away'])
  await place.serve()
  await place.come('h', 'i', 'j')
  for (let left = 5; left > 0; left -= 1) await place.serve()
  expect(place.outcomes).toEqual(['b served', 'c served', 'f served', 'h served', 'i served', 'j served'])
  expect(place.line.counts()).toEqual({ inUse: 0, waiting: 0, shed: 3, failed: 0 })
})

test('F-02 nor do failures count, nor who was served before a pause', async () => {
  const place = await stalled()
  await place.fail()
  await place.come('f')
  await place.serve()
  await place.come('g')
  await place.pass(1_000)
  await place.serve()
  await place.come('h', 'i')
  expect(place.outcomes).toEqual(['a failed', 'b served', 'c served', 'i turned away'])
  expect(place.line.counts()).toMatchObject({ shed: 3, failed: 1 })
})

test('F-02 it is of any length again when nobody waits any more', async () => {
  const place = await stalled()
  for (let left = 3; left > 0; left -= 1) await place.fail()
  await place.come('f', 'g', 'h', 'i', 'j')
  for (let left = 5; left > 0; left -= 1) await place.serve()
  expect(place.outcomes.filter((outcome) => outcome.endsWith('turned away'))).toEqual([])
})
