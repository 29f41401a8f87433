import type { Log } from '@plainpath/http'
import { clockAgrees, type Database } from '@plainpath/postgres'
import type { AuthEvents } from './events.ts'

export interface SweepDeps {
  readonly db: Database
  readonly now: () => Date
  readonly log: Log
  readonly events: AuthEvents
  readonly everyMs?: number
}

/** Deletes a batch of what is over. @returns how many went; 0 when nothing is left */
export type Sweep = (db: Database, now: Date) => Promise<number>

/** Sweeps once a minute until disposed, in batches while there is more. Postgres has no time to live of its own. */
export function sweepRegularly(what: string, sweep: Sweep, deps: SweepDeps): AsyncDisposable {
  let stopped = false
  let sweeping: Promise<void> | undefined
  const sweepAll = async () => {
    try {
      // By a clock that is days ahead everything would be over.
      if (!(await clockAgrees(deps.db))) return deps.log.warn(`${what} were not swept: the clock is wrong`)
      while ((await sweep(deps.db, deps.now())) > 0) if (stopped) return
      deps.events.emit('swept', { what })
    } catch (error) {
      deps.log.warn(`${what} were not swept`, { error })
    }
  }
  deps.events.emit('swept', { what })
  const timer = setInterval(() => {
    sweeping ??= sweepAll().finally(() => {
      sweeping = undefined
    })
  }, deps.everyMs ?? 60_000)
  return {
    async [Symbol.asyncDispose]() {
      stopped = true
      clearInterval(timer)
      await sweeping
    },
  }
}
