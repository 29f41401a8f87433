/*
 * Admission control for a connection pool: bounds how many requests wait for a database that serves none. It does not
 * use PostgreSQL itself: `database.ts` opens the pool and decides which errors count as served.
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
  /**
   * Returns how many requests use a connection or wait for one now. Since the queue was created, `shed` requests were
   * refused, and `failed` requests got no connection in time or failed because the database was unavailable.
   */
  getCounts(): {
    readonly inUse: number
    readonly waiting: number
    readonly shed: number
    readonly failed: number
  }
}

/** While the queue is stalled, this many requests may wait for each connection. */
const WAITERS_PER_CONNECTION = 2

/** A request in the queue. Both methods remove it from the queue and stop its timer. */
export interface Waiter {
  admit(): void
  refuse(error: Error): void
}

const createQueueFullError = () =>
  new ConnectionQueueFullError('the connection queue is full and no query has completed recently')

/**
 * Adds a request at the end of the queue. The result resolves when the request is admitted, and rejects when it is refused or
 * after `waitMs`.
 */
export function joinQueue(queue: Set<Waiter>, waitMs: number, onTimeout?: () => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timeOut = () => {
    onTimeout?.()
    // The message of pg-pool. `isUnavailable` (database-error.ts) recognises it, so do not change it.
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
 * Creates a queue for `connections` connections. While requests are served, the queue may have any length, so that no
 * burst is refused; each request waits at most `waitMs`.
 *
 * If more than two requests per connection wait, and none is served within `stallMs`, the queue is stalled. Only the
 * first two per connection then continue to wait. The others are refused. A new request is refused while two per
 * connection wait. The stall ends when two requests per connection have been served without another such pause, or when
 * a connection becomes free and no request waits.
 *
 * @param options.countsAsServed returns true for an error of `use` after which the database is known to work
 */
export function createConnectionQueue(
  connections: number,
  options: { waitMs: number; stallMs: number; countsAsServed(error: unknown): boolean },
): ConnectionQueue {
  const maxWaiting = WAITERS_PER_CONNECTION * connections
  const queue = new Set<Waiter>()
  let freeConnections = connections
  let servedCount = 0
  let shedCount = 0
  let failedCount = 0
  let isStalled = false
  /** The stall ends when `servedCount` reaches this number. */
  let servedCountAtRecovery = 0
  let isCheckScheduled = false

  /** Takes a free connection or joins the queue. Throws `ConnectionQueueFullError` if it may do neither. */
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
    if (isStalled || queue.size > maxWaiting) scheduleStallCheck()
    return admission
  }

  function scheduleStallCheck(): void {
    if (isCheckScheduled) return
    isCheckScheduled = true
    const previousServedCount = servedCount
    // Check after I/O, because responses may have arrived while this process was blocked.
    const checkAfterIo = () => setImmediate(checkForStall, previousServedCount)
    setTimeout(checkAfterIo, options.stallMs).unref()
  }

  function checkForStall(previousServedCount: number): void {
    isCheckScheduled = false
    if (queue.size === 0 || (!isStalled && queue.size <= maxWaiting)) return
    if (servedCount === previousServedCount) stall()
    scheduleStallCheck()
  }

  function stall(): void {
    isStalled = true
    servedCountAtRecovery = servedCount + maxWaiting
    const excessWaiters = [...queue].slice(maxWaiting)
    shedCount += excessWaiters.length
    for (const waiter of excessWaiters) waiter.refuse(createQueueFullError())
  }

  function countFailure(): void {
    failedCount += 1
  }

  function countServed(): void {
    servedCount += 1
    if (servedCount >= servedCountAtRecovery) isStalled = false
  }

  /** Passes the connection on to the request that has waited longest, or frees it, which ends a stall. */
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
        countServed()
        return result
      } catch (error) {
        if (options.countsAsServed(error)) countServed()
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
