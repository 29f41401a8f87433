import { type Log, type Metrics, type WatchedClock, watchClock } from '@plainpath/http'
import { type Database, databaseTime } from '@plainpath/postgres'

/** The clock of this machine, held against the database's, which all instances share. */
export function wireClock(db: Database, { log, metrics }: { log: Log; metrics: Metrics }): WatchedClock {
  return watchClock({ storeTime: () => databaseTime(db), log, onSkew: metrics.clockSkew })
}
