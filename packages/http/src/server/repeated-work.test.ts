import { expect, test } from 'vitest'
import { createRepeatedWork } from './repeated-work.ts'

/** Creates repeated work. Each run lasts until the test calls `finish` with its index. */
function createControlledWork() {
  const runs: PromiseWithResolvers<void>[] = []
  const repeated = createRepeatedWork(() => {
    const run = Promise.withResolvers<void>()
    runs.push(run)
    return run.promise
  })
  /** Ends a run. Another run that was requested has then begun. */
  const finish = async (index: number) => {
    runs[index]?.resolve()
    await new Promise(setImmediate)
  }
  return { runs, repeated, finish }
}

test('turns calls during a run into one more run after it', async () => {
  const { runs, repeated, finish } = createControlledWork()
  for (let count = 0; count < 3; count += 1) repeated.requestRun()
  expect(runs).toHaveLength(1)
  await finish(0)
  expect(runs).toHaveLength(2)
  await finish(1)
  expect(runs).toHaveLength(2)
  repeated.requestRun()
  expect(runs).toHaveLength(3)
})

test('waits for the current run when disposed, and starts no other', async () => {
  const { runs, repeated, finish } = createControlledWork()
  repeated.requestRun()
  repeated.requestRun()
  let isDisposed = false
  const disposal = repeated[Symbol.asyncDispose]().then(() => {
    isDisposed = true
  })
  await new Promise(setImmediate)
  expect(isDisposed).toBe(false)
  await finish(0)
  await disposal
  expect(runs).toHaveLength(1)
})
