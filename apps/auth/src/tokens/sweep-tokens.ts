import type { Log } from '@plainpath/http'
import type { Database } from '@plainpath/postgres'

const BATCH = 1_000

/** Deletes at most 1 000 tokens that have expired. @returns how many went */
export async function sweepTokens(db: Database, now: Date): Promise<number> {
  const { rowCount } = await db.query(
    `delete from tokens where token_hash in
       (select token_hash from tokens where expires_at <= $1 order by expires_at limit ${BATCH} for update skip locked)`,
    [now],
  )
  return rowCount
}

/** Sweeps once a minute until disposed, in batches while there is more. Postgres has no time to live of its own. */
export function sweepTokensRegularly(deps: {
  db: Database
  now: () => Date
  log: Log
  everyMs?: number
}): AsyncDisposable {
  let stopped = false
  let sweeping: Promise<void> | undefined
  const sweep = async () => {
    try {
      while ((await sweepTokens(deps.db, deps.now())) === BATCH && !stopped);
    } catch (error) {
      deps.log.warn('expired tokens were not swept', { error })
    }
  }
  const timer = setInterval(() => {
    sweeping ??= sweep().finally(() => {
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
