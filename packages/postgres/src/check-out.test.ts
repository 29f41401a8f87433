import { expect, test } from 'vitest'
import { createCheckOut } from './check-out.ts'

/** A pool whose connections open when the test says so. It hands out idle connections one microtask later, as pg-pool does. */
function createPool() {
  const openings: PromiseWithResolvers<string>[] = []
  let [idleCount, pendingCount] = [0, 0]
  return {
    openings,
    get idleCount() {
      return idleCount
    },
    async connect() {
      if (idleCount > pendingCount) {
        pendingCount += 1
        await Promise.resolve()
        pendingCount -= 1
        idleCount -= 1
        return 'idle'
      }
      const opening = Promise.withResolvers<string>()
      openings.push(opening)
      return await opening.promise
    },
    release() {
      idleCount += 1
    },
  }
}

const IN_A_MINUTE = performance.now() + 60_000
/** Lets everything continue that waits for no timer. */
const settle = () => new Promise(setImmediate)

function checkOutMany(count: number, deadline = IN_A_MINUTE) {
  const pool = createPool()
  const checkOut = createCheckOut(pool)
  const results: string[] = []
  const requests = Array.from({ length: count }, async () => {
    results.push(await checkOut.get(deadline).catch((error: unknown) => (error as Error).message))
  })
  const release = () => {
    pool.release()
    checkOut.notifyReturned()
  }
  return { pool, results, requests, release }
}

test('opens at most two connections at a time, and serves all of ten requests with these two', async () => {
  const { pool, results, requests, release } = checkOutMany(10)
  await settle()
  expect(pool.openings).toHaveLength(2)
  // As long as connections return, none is opened beside the two that are being opened.
  for (let round = 0; round < 8; round += 1) release()
  await settle()
  expect(results).toEqual(Array.from({ length: 8 }, () => 'idle'))
  expect(pool.openings).toHaveLength(2)
  for (const { resolve } of pool.openings) resolve('opened')
  await Promise.all(requests)
  expect(results.slice(8)).toEqual(['opened', 'opened'])
})

test('opens another connection when one has been opened, or could not be', async () => {
  const { pool, results, requests } = checkOutMany(4)
  await settle()
  pool.openings[0]?.resolve('opened')
  pool.openings[1]?.reject(new Error('refused'))
  await settle()
  expect(results).toEqual(['opened', 'refused'])
  expect(pool.openings).toHaveLength(4)
  for (const { resolve } of pool.openings) resolve('opened')
  await Promise.all(requests)
  expect(results).toEqual(['opened', 'refused', 'opened', 'opened'])
})

test('gives each idle connection to one request only', async () => {
  const pool = createPool()
  const checkOut = createCheckOut(pool)
  pool.release()
  const first = checkOut.get(IN_A_MINUTE)
  const second = checkOut.get(IN_A_MINUTE)
  expect(await first).toBe('idle')
  pool.openings[0]?.resolve('opened')
  expect(await second).toBe('opened')
})

test('refuses requests that still wait at their deadline, but not those whose connection is being opened', async () => {
  const { pool, results, requests } = checkOutMany(3, performance.now() + 1)
  await requests[2]
  expect(results).toEqual(['timeout exceeded when trying to connect'])
  for (const { resolve } of pool.openings) resolve('opened')
  await Promise.all(requests)
  expect(results.slice(1)).toEqual(['opened', 'opened'])
})
