import { AsyncLocalStorage } from 'node:async_hooks'
import type { Pool } from './database.ts'

/** A pool with reserved connections for work that must not wait for other work. */
export interface ReservedPool extends Pool {
  /** Runs `work`, whose queries may use the reserved connections, also those of the functions that it calls. */
  reserved<T>(work: () => Promise<T>): Promise<T>
  /**
   * Opens the reserved connections, so that they exist when the server has none left. From then on lost ones are reopened in
   * the background.
   */
  openReserved(): Promise<void>
  /** True within such work. */
  isReserved(): boolean
}

const REOPENED_MS = 10_000

/**
 * Combines two pools. Reserved work uses a connection of `reserve`; if all of those are in use, a free one of `common`; if
 * none is free either, it waits for one of `reserve`. Other work never uses `reserve`. Disposing closes both.
 */
export function reservedPool(
  common: Pool,
  reserve: Pool,
  { everyMs = REOPENED_MS }: { everyMs?: number } = {},
): ReservedPool {
  const reservedWork = new AsyncLocalStorage<true>()
  const isReserved = () => reservedWork.getStore() === true
  const openAll = () =>
    Promise.all(Array.from({ length: reserve.usage().max }, () => reserve.query('select 1')))
  let reopening: NodeJS.Timeout | undefined
  const choosePool = () => (isReserved() && (hasRoom(reserve) || !hasFree(common)) ? reserve : common)
  return {
    query: (...statement) => choosePool().query(...statement),
    transaction: (work) => choosePool().transaction(work),
    usage() {
      const [one, other] = [common.usage(), reserve.usage()]
      return {
        inUse: one.inUse + other.inUse,
        idle: one.idle + other.idle,
        waiting: one.waiting + other.waiting,
        shed: one.shed + other.shed,
        failed: one.failed + other.failed,
        max: one.max + other.max,
        open: one.open + other.open,
      }
    },
    reserved: (work) => reservedWork.run(true, work),
    isReserved,
    async openReserved() {
      await openAll()
      reopening ??= setInterval(() => void openAll().catch(() => undefined), everyMs).unref()
    },
    async [Symbol.asyncDispose]() {
      clearInterval(reopening)
      await Promise.all([common[Symbol.asyncDispose](), reserve[Symbol.asyncDispose]()])
    },
  }
}

const hasRoom = (pool: Pool) => {
  const { inUse, max } = pool.usage()
  return inUse < max
}

/** Only counts open connections: a server that has none left would refuse a new one. */
const hasFree = (pool: Pool) => {
  const { inUse, open } = pool.usage()
  return inUse < open
}
