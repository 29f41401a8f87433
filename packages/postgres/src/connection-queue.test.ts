import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ConnectionQueueFullError, createConnectionQueue } from './connection-queue.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A queue for one connection, so two requests may wait. A request holds the connection until `serve` or `fail`. */
function oneByOne() {
  const queue = createConnectionQueue(1, { waitMs: 60_000, stallMs: 200, isServed: () => false })
  const outcomes: string[] = []
  const using: ((failed: boolean) => void)[] = []
  const end = async (failed: boolean) => {
    using.shift()?.(failed)
    await vi.advanceTimersByTimeAsync(0)
  }
  return {
    counts: () => queue.getCounts(),
    outcomes,
    async arrive(...names: string[]) {
      for (const name of names) {
        const running = queue.run(async () => {
          const { promise, resolve } = Promise.withResolvers<boolean>()
          using.push(resolve)
          if (await promise) throw new Error('failed')
        })
        running.then(
          () => outcomes.push(`${name} served`),
          (error: unknown) =>
            outcomes.push(`${name} ${error instanceof ConnectionQueueFullError ? 'refused' : 'failed'}`),
        )
      }
      await vi.advanceTimersByTimeAsync(0)
    },
    serve: () => end(false),
    fail: () => end(true),
    advance: (ms: number) => vi.advanceTimersByTimeAsync(ms),
  }
}

/** A queue after 0.2 s without a success, with more requests than may wait. */
async function stalled() {
  const queue = oneByOne()
  await queue.arrive('a', 'b', 'c', 'd')
  expect(queue.outcomes).toEqual([])
  await queue.advance(201)
  expect(queue.outcomes.splice(0)).toEqual(['d refused'])
  await queue.arrive('e')
  expect(queue.outcomes.splice(0)).toEqual(['e refused'])
  return queue
}

test('F-02 accepts any number again after as many successes as requests may wait', async () => {
  const queue = await stalled()
  await queue.serve()
  await queue.arrive('f', 'g')
  expect(queue.outcomes.splice(0)).toEqual(['a served', 'g refused'])
  await queue.serve()
  await queue.arrive('h', 'i', 'j')
  for (let left = 5; left > 0; left -= 1) await queue.serve()
  expect(queue.outcomes).toEqual(['b served', 'c served', 'f served', 'h served', 'i served', 'j served'])
  expect(queue.counts()).toEqual({ inUse: 0, waiting: 0, shed: 3, failed: 0 })
})

test('F-02 stays stalled after failures, and after successes before a pause', async () => {
  const queue = await stalled()
  await queue.fail()
  await queue.arrive('f')
  await queue.serve()
  await queue.arrive('g')
  await queue.advance(1_000)
  await queue.serve()
  await queue.arrive('h', 'i')
  expect(queue.outcomes).toEqual(['a failed', 'b served', 'c served', 'i refused'])
  expect(queue.counts()).toMatchObject({ shed: 3, failed: 1 })
})

test('F-02 accepts any number again when nothing waits any more', async () => {
  const queue = await stalled()
  for (let left = 3; left > 0; left -= 1) await queue.fail()
  await queue.arrive('f', 'g', 'h', 'i', 'j')
  for (let left = 5; left > 0; left -= 1) await queue.serve()
  expect(queue.outcomes.filter((outcome) => outcome.endsWith('refused'))).toEqual([])
})
