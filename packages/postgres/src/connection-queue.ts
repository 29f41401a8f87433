/*
 * Admission control in front of a connection pool: bounds how many requests wait for a database that serves none. It knows
 * nothing of PostgreSQL; `database.ts` opens the pool and says which failures count.
 */

/** The connection queue is full and no query has completed recently. `isUnavailable` is true for it. */
export class ConnectionQueueFullError extends Error {
  override readonly name = 'ConnectionQueueFullError'
}

/** A first-in, first-out queue for a fixed number of connections. */
interface ConnectionQueue {
  /**
   * Runs `use` once a connection is free.
   *
   * @throws what `use` throws; an Error after `waitMs` without a connection; {@link ConnectionQueueFullError} at once
   */
  run<T>(use: () => Promise<T>): Promise<T>
  /** Returns how many use and await a connection now, and since its creation how many were refused and how many failed. */
  counts(): {
    readonly inUse: number
    readonly waiting: number
    readonly shed: number
    readonly failed: number
  }
}

/** After this long without a success, while too many wait, the database counts as stalled. */
const STALL_MS = 200
/** While stalled, this many may wait for each connection. */
const WAITERS_PER_CONNECTION = 2

interface Waiter {
  admit(): void
  refuse(error: Error): void
}

const queueFull = () =>
  new ConnectionQueueFullError('the connection queue is full and no query has completed recently')

function waitIn(queue: Set<Waiter>, waitMs: number, onTimeout: () => void): Promise<void> {
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
 * Creates a queue for `connections`. While queries complete, it may have any length, so a burst is served to the end; each
 * request waits `waitMs` at most. After 0.2 s without a success the queue is stalled: all but the first two requests for each
 * connection are refused, and so is every new one. The stall ends when as many requests as may wait have succeeded without
 * such a pause, or when nothing waits.
 *
 * @param options.isServed true for a failure of `use` that shows that the database works
 */
export function connectionQueue(
  connections: number,
  options: { waitMs: number; isServed(error: unknown): boolean },
): ConnectionQueue {
  const most = WAITERS_PER_CONNECTION * connections
  const queue = new Set<Waiter>()
  let free = connections
  let served = 0
  let shed = 0
  let failed = 0
  let stalled = false
  /** The value of `served` at which the stall ends. */
  let recoveredAt = 0
  let watched = false

  function enter(): Promise<void> | undefined {
    if (free > 0) {
      free -= 1
      return undefined
    }
    if (stalled && queue.size >= most) {
      shed += 1
      throw queueFull()
    }
    const waiting = waitIn(queue, options.waitMs, countFailure)
    if (stalled || queue.size > most) watch()
    return waiting
  }

  function watch(): void {
    if (watched) return
    watched = true
    const before = served
    // Decided after I/O, in case responses arrived while this process was blocked.
    const decideAfterIo = () => setImmediate(decide, before)
    setTimeout(decideAfterIo, STALL_MS).unref()
  }

  function decide(before: number): void {
    watched = false
    if (queue.size === 0 || (!stalled && queue.size <= most)) return
    if (served === before) stall()
    watch()
  }

  function stall(): void {
    stalled = true
    recoveredAt = served + most
    const excess = [...queue].slice(most)
    shed += excess.length
    for (const waiter of excess) waiter.refuse(queueFull())
  }

  function countFailure(): void {
    failed += 1
  }

  function countSuccess(): void {
    served += 1
    if (served >= recoveredAt) stalled = false
  }

  function leave(): void {
    const [next] = queue
    if (next) return next.admit()
    free += 1
    stalled = false
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
    counts: () => ({ inUse: connections - free, waiting: queue.size, shed, failed }),
  }
}
