/*
 * Admission control for a connection pool: bounds how many requests wait for a database that completes none. It knows
 * nothing about PostgreSQL: `database.ts` opens the pool and decides which failures count.
 */

/** Thrown when the connection queue is stalled and full. `isUnavailable` returns true for it. */
export class ConnectionQueueFullError extends Error {
  override readonly name = 'ConnectionQueueFullError'
}

/** A first-in, first-out queue for a fixed number of connections. */
interface ConnectionQueue {
  /**
   * Runs `use` once a connection is free.
   *
   * @throws the error of `use`; {@link ConnectionQueueFullError} if the queue is stalled and full; an Error after
   *   `waitMs` without a connection
   */
  run<T>(use: () => Promise<T>): Promise<T>
  /** Returns how many requests use a connection or wait for one, and how many were refused (`shed`) or failed. */
  getCounts(): {
    readonly inUse: number
    readonly waiting: number
    readonly shed: number
    readonly failed: number
  }
}

/** While the queue is stalled, this many requests may wait for each connection. */
const WAITERS_PER_CONNECTION = 2

interface Waiter {
  admit(): void
  refuse(error: Error): void
}

const createQueueFullError = () =>
  new ConnectionQueueFullError('the connection queue is full and no query has completed recently')

function joinQueue(queue: Set<Waiter>, waitMs: number, onTimeout: () => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timeOut = () => {
    onTimeout()
    waiter.refuse(new Error('timeout exceeded when trying to connect'))
  }
  const timer = setTimeout(timeOut, waitMs)
  const leaveQueue = () => {
    clearTimeout(timer)
    queue.delete(waiter)
  }
  const waiter: Waiter = {
    admit() {
      leaveQueue()
      resolve()
    },
    refuse(error) {
      leaveQueue()
      reject(error)
    },
  }
  queue.add(waiter)
  return promise
}

/**
 * Creates a queue for `connections` connections. While queries complete, the queue may have any length, so bursts are
 * served; each request waits at most `waitMs`.
 *
 * If more than two requests per connection wait, and none succeeds within `stallMs`, the queue is stalled. Only the
 * first two per connection then continue to wait, and all others are refused, as are new ones while that many wait. The
 * stall ends when that many requests have succeeded without another such pause, or when nothing waits.
 *
 * @param options.isServed returns true for a failure of `use` that proves that the database works
 */
export function createConnectionQueue(
  connections: number,
  options: { waitMs: number; stallMs: number; isServed(error: unknown): boolean },
): ConnectionQueue {
  const maxWaiting = WAITERS_PER_CONNECTION * connections
  const queue = new Set<Waiter>()
  let freeConnections = connections
  let servedCount = 0
  let shedCount = 0
  let failedCount = 0
  let isStalled = false
  /** The stall ends when `servedCount` reaches this number. */
  let recoveryCount = 0
  let isWatched = false

  /** Takes a free connection or joins the queue. */
  function enter(): Promise<void> | undefined {
    if (freeConnections > 0) {
      freeConnections -= 1
      return undefined
    }
    if (isStalled && queue.size >= maxWaiting) {
      shedCount += 1
      throw createQueueFullError()
    }
    const admission = joinQueue(queue, options.waitMs, countFailure)
    if (isStalled || queue.size > maxWaiting) watchForStall()
    return admission
  }

  function watchForStall(): void {
    if (isWatched) return
    isWatched = true
    const previousCount = servedCount
    // Check after I/O, because responses may have arrived while this process was blocked.
    const checkAfterIo = () => setImmediate(checkForStall, previousCount)
    setTimeout(checkAfterIo, options.stallMs).unref()
  }

  function checkForStall(previousCount: number): void {
    isWatched = false
    if (queue.size === 0 || (!isStalled && queue.size <= maxWaiting)) return
    if (servedCount === previousCount) stall()
    watchForStall()
  }

  function stall(): void {
    isStalled = true
    recoveryCount = servedCount + maxWaiting
    const excessWaiters = [...queue].slice(maxWaiting)
    shedCount += excessWaiters.length
    for (const waiter of excessWaiters) waiter.refuse(createQueueFullError())
  }

  function countFailure(): void {
    failedCount += 1
  }

  function countSuccess(): void {
    servedCount += 1
    if (servedCount >= recoveryCount) isStalled = false
  }

  function leave(): void {
    const [firstWaiter] = queue
    if (firstWaiter) return firstWaiter.admit()
    freeConnections += 1
    isStalled = false
  }

  return {
    async run(use) {
      await enter()
      try {
        const result = await use()
        countSuccess()
        return result
      } catch (error) {
        if (options.isServed(error)) countSuccess()
        else countFailure()
        throw error
      } finally {
        leave()
      }
    },
    getCounts: () => ({
      inUse: connections - freeConnections,
      waiting: queue.size,
      shed: shedCount,
      failed: failedCount,
    }),
  }
}
