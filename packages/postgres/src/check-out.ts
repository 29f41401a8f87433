import { joinQueue, type Waiter } from './connection-queue.ts'

/**
 * At most this many connections are being opened at a time. A burst needs fewer connections than it has requests, because each
 * connection soon becomes free again. Opening many at once would delay all of them, and on a busy machine none would be ready in
 * time.
 */
const MAX_OPENING = 2

/** The members of `pg.Pool` that a check-out needs. */
interface PoolToCheckOut<Client> {
  /** The number of open connections that nobody uses. */
  readonly idleCount: number
  /** Returns an idle connection, or opens one if there is none. */
  connect(): Promise<Client>
}

/** Gets connections from a pool for at most as many requests at a time as the pool may have connections. */
export interface CheckOut<Client> {
  /**
   * Returns an idle connection, or opens one. While two connections are being opened, waits until a connection is idle or one of
   * the two has been opened.
   *
   * @param deadline when to stop waiting, by `performance.now()`; opening takes extra time
   * @throws the error of `connect`; an Error after the deadline
   */
  get(deadline: number): Promise<Client>
  /** Lets the request that has waited longest continue. Call this after a connection was returned to the pool. */
  notifyReturned(): void
}

export function createCheckOut<Client>(pool: PoolToCheckOut<Client>): CheckOut<Client> {
  const waiters = new Set<Waiter>()
  let openingCount = 0
  /** Idle connections that `connect` returns in a moment. The pool still counts them as idle. */
  let claimedCount = 0

  function notifyReturned(): void {
    const [firstWaiter] = waiters
    firstWaiter?.admit()
  }

  return {
    notifyReturned,
    async get(deadline) {
      while (pool.idleCount <= claimedCount && openingCount >= MAX_OPENING)
        await joinQueue(waiters, Math.max(0, deadline - performance.now()))
      const isOpening = pool.idleCount <= claimedCount
      if (isOpening) openingCount += 1
      else claimedCount += 1
      try {
        return await pool.connect()
      } finally {
        if (isOpening) openingCount -= 1
        else claimedCount -= 1
        notifyReturned()
      }
    },
  }
}
