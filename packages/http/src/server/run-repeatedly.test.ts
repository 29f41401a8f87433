import { expect, test } from 'vitest'
import { runRepeatedly } from './run-repeatedly.ts'

/** Work whose runs the test ends. */
function controlled() {
  const runs: PromiseWithResolvers<void>[] = []
  const repeated = runRepeatedly(() => {
    const run = Promise.withResolvers<void>()
    runs.push(run)
    return run.promise
  })
  const finish = async (index: number) => {
    runs[index]?.resolve()
    await new Promise(setImmediate)
  }
  return { runs, repeated, finish }
}

test('turns calls during a run into one more run after it, and never overlaps runs', async () => {
  const { runs, repeated, finish } = controlled()
  for (let times = 0; times < 3; times += 1) repeated.runSoon()
  expect(runs).toHaveLength(1)
  await finish(0)
  expect(runs).toHaveLength(2)
  await finish(1)
  expect(runs).toHaveLength(2)
  repeated.runSoon()
  expect(runs).toHaveLength(3)
})

test('waits for the current run when disposed, and starts no other', async () => {
  const { runs, repeated, finish } = controlled()
  repeated.runSoon()
  repeated.runSoon()
  let isDisposed = false
  const disposed = repeated[Symbol.asyncDispose]().then(() => {
    isDisposed = true
  })
  await new Promise(setImmediate)
  expect(isDisposed).toBe(false)
  await finish(0)
  await disposed
  expect(runs).toHaveLength(1)
})
