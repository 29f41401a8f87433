import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ConnectionQueueFullError, createConnectionQueue } from './connection-queue.ts'

// The numbers in the titles, such as F-02, are those of the faults in e2e/faults/fault-numbers.ts.

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/**
 * Creates a queue for one connection, so two requests may wait during a stall. A request uses the connection until `serve` or
 * `fail`. `outcomes` lists how requests ended, in order: a name with `served`, `failed` or `refused`.
 */
function createTestQueue() {
  const queue = createConnectionQueue(1, { waitMs: 60_000, stallMs: 200, countsAsServed: () => false })
  const outcomes: string[] = []
  const endCurrentUses: ((hasFailed: boolean) => void)[] = []
  const endUse = async (hasFailed: boolean) => {
    endCurrentUses.shift()?.(hasFailed)
    await vi.advanceTimersByTimeAsync(0)
  }
  return {
    getCounts: () => queue.getCounts(),
    outcomes,
    async arrive(...names: string[]) {
      for (const name of names) {
        const result = queue.run(async () => {
          const { promise, resolve } = Promise.withResolvers<boolean>()
          endCurrentUses.push(resolve)
          if (await promise) throw new Error('failed')
        })
        result.then(
          () => outcomes.push(`${name} served`),
          (error: unknown) =>
            outcomes.push(`${name} ${error instanceof ConnectionQueueFullError ? 'refused' : 'failed'}`),
        )
      }
      await vi.advanceTimersByTimeAsync(0)
    },
    serve: () => endUse(false),
    fail: () => endUse(true),
    advance: (ms: number) => vi.advanceTimersByTimeAsync(ms),
  }
}

/**
 * Creates a queue that is stalled: more than two requests waited for 0.2 s without a success. `a` then uses the connection, and
 * `b` and `c` wait.
 */
async function createStalledQueue() {
  const queue = createTestQueue()
  await queue.arrive('a', 'b', 'c', 'd')
  expect(queue.outcomes).toEqual([])
  await queue.advance(201)
  expect(queue.outcomes.splice(0)).toEqual(['d refused'])
  await queue.arrive('e')
  expect(queue.outcomes.splice(0)).toEqual(['e refused'])
  return queue
}

test('F-02 lets any number wait again after two successes for the connection', async () => {
  const queue = await createStalledQueue()
  await queue.serve()
  await queue.arrive('f', 'g')
  expect(queue.outcomes.splice(0)).toEqual(['a served', 'g refused'])
  await queue.serve()
  await queue.arrive('h', 'i', 'j')
  for (let remaining = 5; remaining > 0; remaining -= 1) await queue.serve()
  expect(queue.outcomes).toEqual(['b served', 'c served', 'f served', 'h served', 'i served', 'j served'])
  expect(queue.getCounts()).toEqual({ inUse: 0, waiting: 0, shed: 3, failed: 0 })
})

test('F-02 stays stalled after failures, and after successes before a pause', async () => {
  const queue = await createStalledQueue()
  await queue.fail()
  await queue.arrive('f')
  await queue.serve()
  await queue.arrive('g')
  await queue.advance(1_000)
  await queue.serve()
  await queue.arrive('h', 'i')
  expect(queue.outcomes).toEqual(['a failed', 'b served', 'c served', 'i refused'])
  expect(queue.getCounts()).toMatchObject({ shed: 3, failed: 1 })
})

test('F-02 lets any number wait again once nothing waits', async () => {
  const queue = await createStalledQueue()
  for (let remaining = 3; remaining > 0; remaining -= 1) await queue.fail()
  await queue.arrive('f', 'g', 'h', 'i', 'j')
  for (let remaining = 5; remaining > 0; remaining -= 1) await queue.serve()
  expect(queue.outcomes.filter((outcome) => outcome.endsWith('refused'))).toEqual([])
})
