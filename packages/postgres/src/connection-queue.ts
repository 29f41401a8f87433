/** Too many wait for a database that serves nobody; `isUnavailable` knows it. */
export class ConnectionQueueFullError extends Error {
  override readonly name = 'ConnectionQueueFullError'
}

/** Who may use one of some places, and who waits for one, in the order in which they came. */
interface ConnectionQueue {
  /**
   * Runs `use` once a place is free.
   *
   * @throws what `use` throws; an Error after `waitMs` without a place; {@link ConnectionQueueFullError} at once
   */
  pass<T>(use: () => Promise<T>): Promise<T>
  /**
   * How many use a place and wait for one now; how many were turned away at once, and how many were not served otherwise,
   * since it was made.
   */
  counts(): {
    readonly inUse: number
    readonly waiting: number
    readonly shed: number
    readonly failed: number
  }
}

/** So long without one success, while too many wait, and nobody is expected to be served soon. */
const STALL_MS = 200
/** Of those who wait, for each place. */
const WAIT_FOR_EACH = 2

interface Waiter {
  admit(): void
  turnAway(error: Error): void
}

const tooMany = () => new ConnectionQueueFullError('too many wait for a database connection')

function waitIn(line: Set<Waiter>, waitMs: number, onLate: () => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const late = () => {
    onLate()
    waiter.turnAway(new Error('timeout exceeded when trying to connect'))
  }
  const timer = setTimeout(late, waitMs)
  const goOut = () => {
    clearTimeout(timer)
    line.delete(waiter)
  }
  const waiter: Waiter = {
    admit() {
      goOut()
      resolve()
    },
    turnAway(error) {
      goOut()
      reject(error)
    },
  }
  line.add(waiter)
  return promise
}

/**
 * A line before `places`. As long as somebody is served it may be of any length, so a burst is served to the end, each
 * waiting `waitMs` at most. When nobody was for 0.2 s, all but the first two for each place are turned away, and so is at
 * once whoever comes, until as many as may wait were served without such a pause, or nobody waits any more.
 *
 * @param options.isServed whether a failure of `use` shows that the database works
 */
export function connectionQueue(
  places: number,
  options: { waitMs: number; isServed(error: unknown): boolean },
): ConnectionQueue {
  const most = WAIT_FOR_EACH * places
  const line = new Set<Waiter>()
  let free = places
  let served = 0
  let shed = 0
  let failed = 0
  let stalled = false
  /** What `served` must be for the line to be sound again. */
  let soundAt = 0
  let watched = false

  function enter(): Promise<void> | undefined {
    if (free > 0) {
      free -= 1
      return undefined
    }
    if (stalled && line.size >= most) {
      shed += 1
      throw tooMany()
    }
    const waiting = waitIn(line, options.waitMs, fail)
    if (stalled || line.size > most) watch()
    return waiting
  }

  function watch(): void {
    if (watched) return
    watched = true
    const before = served
    // After the answers that came while this process did not get to run.
    const look = () => setImmediate(decide, before)
    setTimeout(look, STALL_MS).unref()
  }

  function decide(before: number): void {
    watched = false
    if (line.size === 0 || (!stalled && line.size <= most)) return
    if (served === before) stall()
    watch()
  }

  function stall(): void {
    stalled = true
    soundAt = served + most
    const beyond = [...line].slice(most)
    shed += beyond.length
    for (const waiter of beyond) waiter.turnAway(tooMany())
  }

  function fail(): void {
    failed += 1
  }

  function succeed(): void {
    served += 1
    if (served >= soundAt) stalled = false
  }

  function leave(): void {
    const [next] = line
    if (next) return next.admit()
    free += 1
    stalled = false
  }

  return {
    async pass(use) {
      await enter()
      try {
        const result = await use()
        succeed()
        return result
      } catch (error) {
        if (options.isServed(error)) succeed()
        else fail()
        throw error
      } finally {
        leave()
      }
    },
    counts: () => ({ inUse: places - free, waiting: line.size, shed, failed }),
  }
}
