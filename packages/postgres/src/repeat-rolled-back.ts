import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

/** Serialization failure and deadlock (PostgreSQL manual, appendix A): all of it is undone, and the same may succeed now. */
const ROLLED_BACK: ReadonlySet<unknown> = new Set(['40001', '40P01'])
const MOST_REPEATS = 2
const LONGEST_PAUSE_MS = 20

/**
 * Runs `work`, and again, twice at most, when the server undid all of it in favour of another transaction. Those two
 * would meet again, so it pauses before, for a random time below 20 ms, then 40 ms.
 *
 * @throws what `work` throws at last, and every other failure at once
 */
export async function repeatRolledBack<T>(work: () => Promise<T>): Promise<T> {
  for (let repeats = 0; ; repeats += 1) {
    try {
      return await work()
    } catch (error) {
      if (repeats === MOST_REPEATS || !wasRolledBack(error)) throw error
      await sleep(Math.random() * LONGEST_PAUSE_MS * (repeats + 1))
    }
  }
}

const wasRolledBack = (error: unknown) => error instanceof pg.DatabaseError && ROLLED_BACK.has(error.code)
