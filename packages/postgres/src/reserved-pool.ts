import { AsyncLocalStorage } from 'node:async_hooks'
import type { Pool } from './database.ts'

/** A pool that keeps some connections back for work that must not wait for other work. */
export interface ReservedPool extends Pool {
  /** Runs `work`; whatever it asks for may use the connections kept back, wherever it asks. */
  reserved<T>(work: () => Promise<T>): Promise<T>
  /**
   * Makes the connections kept back, so that they are there when the server has none left; from then on those that are
   * lost are made again, without waiting for work that needs them.
   */
  openReserved(): Promise<void>
  /** Whether this is asked from within such work. */
  isReserved(): boolean
}

const REMADE_MS = 10_000

/**
 * Work that is reserved uses a connection of `kept`; when all of these work, a free one of `common`; when none is free, it
 * waits for one of `kept`. Other work never uses `kept`. Disposing closes both.
 */
export function reservedPool(
  common: Pool,
  kept: Pool,
  { everyMs = REMADE_MS }: { everyMs?: number } = {},
): ReservedPool {
  const reserved = new AsyncLocalStorage<true>()
  const isReserved = () => reserved.getStore() === true
  const makeKept = () => Promise.all(Array.from({ length: kept.usage().max }, () => kept.query('select 1')))
  let remaking: NodeJS.Timeout | undefined
  const poolOf = () => (isReserved() && (hasRoom(kept) || !hasFree(common)) ? kept : common)
  return {
    query: (...asked) => poolOf().query(...asked),
    transaction: (work) => poolOf().transaction(work),
    usage() {
      const [one, other] = [common.usage(), kept.usage()]
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
    reserved: (work) => reserved.run(true, work),
    isReserved,
    async openReserved() {
      await makeKept()
      remaking ??= setInterval(() => void makeKept().catch(() => undefined), everyMs).unref()
    },
    async [Symbol.asyncDispose]() {
      clearInterval(remaking)
      await Promise.all([common[Symbol.asyncDispose](), kept[Symbol.asyncDispose]()])
    },
  }
}

const hasRoom = (pool: Pool) => {
  const { inUse, max } = pool.usage()
  return inUse < max
}

/** Of those that are made: a server that has none left would refuse another. */
const hasFree = (pool: Pool) => {
  const { inUse, open } = pool.usage()
  return inUse < open
}
