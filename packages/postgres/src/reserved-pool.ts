import { AsyncLocalStorage } from 'node:async_hooks'
import type { Pool } from './database.ts'

/** A pool with reserved connections for work that must not wait for other work. */
export interface ReservedPool extends Pool {
  /** Runs `work`. Queries in `work` and in the functions that it calls may use the reserved connections. */
  runReserved<T>(work: () => Promise<T>): Promise<T>
  /**
   * Opens the reserved connections early, because the server may have no free connections later. Afterwards, reopens
   * lost reserved connections in the background, by default every 10 s. Rejects if a connection cannot be opened.
   */
  openReserved(): Promise<void>
  /** Returns whether the caller runs inside `runReserved`. */
  isReserved(): boolean
}

const REOPEN_INTERVAL_MS = 10_000

/**
 * Combines two pools. Reserved work uses a connection from `reserve`. If all connections of `reserve` are in use, it uses
 * an idle connection from `shared`. If `shared` has no idle connection either, it waits for `reserve`. Other work never uses
 * `reserve`. Disposing closes both pools.
 */
export function createReservedPool(
  shared: Pool,
  reserve: Pool,
  { reopenIntervalMs = REOPEN_INTERVAL_MS }: { reopenIntervalMs?: number } = {},
): ReservedPool {
  const reservedWork = new AsyncLocalStorage<true>()
  const isReserved = () => reservedWork.getStore() === true
  /** Runs one query per connection at the same time, so that the pool opens all of them. */
  const openAllReserved = () =>
    Promise.all(Array.from({ length: reserve.getUsage().max }, () => reserve.query('select 1')))
  let reopenTimer: NodeJS.Timeout | undefined
  const choosePool = () =>
    isReserved() && (hasCapacity(reserve) || !hasIdleConnection(shared)) ? reserve : shared
  return {
    query: (...statement) => choosePool().query(...statement),
    transaction: (work) => choosePool().transaction(work),
    getUsage() {
      const sharedUsage = shared.getUsage()
      const reserveUsage = reserve.getUsage()
      return {
        inUse: sharedUsage.inUse + reserveUsage.inUse,
        idle: sharedUsage.idle + reserveUsage.idle,
        waiting: sharedUsage.waiting + reserveUsage.waiting,
        shed: sharedUsage.shed + reserveUsage.shed,
        failed: sharedUsage.failed + reserveUsage.failed,
        max: sharedUsage.max + reserveUsage.max,
        open: sharedUsage.open + reserveUsage.open,
      }
    },
    runReserved: (work) => reservedWork.run(true, work),
    isReserved,
    async openReserved() {
      await openAllReserved()
      reopenTimer ??= setInterval(
        // A failure is ignored, because the next call tries again.
        () => void openAllReserved().catch(() => undefined),
        reopenIntervalMs,
      ).unref()
    },
    async [Symbol.asyncDispose]() {
      clearInterval(reopenTimer)
      await Promise.all([shared[Symbol.asyncDispose](), reserve[Symbol.asyncDispose]()])
    },
  }
}

const hasCapacity = (pool: Pool) => {
  const { inUse, max } = pool.getUsage()
  return inUse < max
}

/** Returns true if an open connection is idle. Connections that could still be opened do not count: the server may refuse them. */
const hasIdleConnection = (pool: Pool) => {
  const { inUse, open } = pool.getUsage()
  return inUse < open
}
