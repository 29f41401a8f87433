import { createLog } from '@plainpath/http'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startRetention } from './start-retention.ts'

const INTERVAL_MS = 600_000

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Starts a job whose batches end when the test calls `endBatch`. */
function startControlledRetention() {
  const runs: string[] = []
  let currentBatch = Promise.withResolvers<number>()
  const createEraser = (name: string) => async () => {
    runs.push(name)
    currentBatch = Promise.withResolvers()
    return currentBatch.promise
  }
  let sweepCount = 0
  const retention = startRetention([createEraser('links'), createEraser('messages')], {
    now: () => new Date(),
    log: createLog({ service: 'test', write: () => undefined }),
    isClockSynchronised: async () => true,
    metrics: { recordSweep: () => void (sweepCount += 1) },
  })
  const endBatch = async (erasedRowCount: number) => {
    currentBatch.resolve(erasedRowCount)
    await vi.advanceTimersByTimeAsync(0)
  }
  return { retention, runs, endBatch, countSweeps: () => sweepCount }
}

test('erases batches until none are left, with each eraser, and records that', async () => {
  const { retention, runs, endBatch, countSweeps } = startControlledRetention()
  await vi.advanceTimersByTimeAsync(INTERVAL_MS)
  await endBatch(1_000)
  await endBatch(0)
  expect(countSweeps()).toBe(1)
  await endBatch(0)
  expect(runs).toEqual(['links', 'links', 'messages'])
  // The start records one sweep, and the complete run another.
  expect(countSweeps()).toBe(2)
  await retention[Symbol.asyncDispose]()
})

test('when it is disposed, it ends after the batch in progress, and does not record a complete run', async () => {
  const { retention, runs, endBatch, countSweeps } = startControlledRetention()
  await vi.advanceTimersByTimeAsync(INTERVAL_MS)
  const disposal = retention[Symbol.asyncDispose]()
  await endBatch(1_000)
  await disposal
  expect(runs).toEqual(['links'])
  expect(countSweeps()).toBe(1)
})
