/*
 * The background jobs of the server: they delete expired rows, which PostgreSQL does not do by itself, and expire unused
 * agents. The module of each table decides which rows a job deletes.
 */
import { durationIn } from '@plainpath/domain'
import { createRepeatedWork, type Log, type Metrics } from '@plainpath/http'
import { type Database, isClockSynchronised } from '@plainpath/postgres'
import { countUnusedAgents, IDLE_AFTER_MS } from './agents/agent-counts.ts'
import { deleteTombstones, expireAgents } from './agents/agent-expiry.ts'
import { sweepSecrets } from './agents/agent-secret.ts'
import { sweepAppClients } from './app-clients/app-client-store.ts'
import { sweepIdentityAssertions } from './assertions/identity-assertion-store.ts'
import { sweepUsedJtis } from './clients/used-jti-store.ts'
import type { Config } from './config.ts'
import type { AuthEvents } from './events.ts'
import { sweepOAuthRecords } from './oauth/oauth-record-store.ts'
import { sweepSignIns } from './sign-in/sign-in-store.ts'
import type { Stores } from './stores.ts'
import { sweepTokens } from './tokens/sweep-tokens.ts'
import { sweepVerifications } from './verifications/sweep-verifications.ts'

/**
 * Deletes a batch of expired rows.
 *
 * @returns the number of deleted rows; 0 when none is left
 */
type Sweep = (db: Database, now: Date) => Promise<number>

/**
 * The maximum number of tombstones, as a multiple of `AUTH_NEVER_USED_CLIENTS`. A tombstone is the row that remains of an expired
 * agent, so that its credentials can still be recognised.
 */
const TOMBSTONES_PER_UNUSED_AGENT = 10

interface SweepDeps {
  readonly db: Database
  readonly events: AuthEvents
  readonly log: Log
  readonly now: () => Date
  /** The interval at which a job runs; by default a minute. */
  readonly everyMs?: number
}

interface UpkeepDeps extends Omit<SweepDeps, 'db'> {
  readonly stores: Stores
  readonly metrics: Pick<Metrics, 'createGauge'>
}

/** Starts the jobs, which run every `everyMs` until the result is disposed. */
export function startUpkeep(config: Pick<Config, 'maxNeverUsedClients'>, deps: UpkeepDeps): AsyncDisposable {
  const { stores, metrics, events } = deps
  const { maxNeverUsedClients } = config
  const setNeverUsed = metrics.createGauge('agents_never_used', 'Registered agents that never got a token')
  const setIdle = metrics.createGauge(
    'agents_idle',
    `Registered agents that got no token for ${durationIn('day', IDLE_AFTER_MS)}`,
  )
  const jobs = new AsyncDisposableStack()
  const startJob = (name: string, sweep: Sweep) =>
    jobs.use(startSweep(name, sweep, { ...deps, db: stores.db }))

  // The names are values of a metric label. Some use older terms: *claims* means verifications, and *spent* means used.
  // Redis expires its tokens itself.
  if (!stores.redis) startJob('expired tokens', sweepTokens)
  startJob('identity assertions', sweepIdentityAssertions)
  startJob('spent assertions', sweepUsedJtis)
  startJob('claims', sweepVerifications)
  startJob(
    'sign-ins',
    async (db, time) => (await sweepOAuthRecords(db, time)) + (await sweepSignIns(db, time)),
  )
  startJob('unused apps', (db, time) => sweepAppClients(db, time, maxNeverUsedClients))
  startJob('unused agents', async (db, time) => {
    const expiredCount = await expireAgents({ ...stores, events }, time, maxNeverUsedClients)
    if (expiredCount > 0) return expiredCount
    const unused = await countUnusedAgents(db, time)
    setNeverUsed(unused.neverUsed)
    setIdle(unused.idle)
    return 0
  })
  startJob('expired agents', (db, time) =>
    deleteTombstones(db, time, TOMBSTONES_PER_UNUSED_AGENT * maxNeverUsedClients),
  )
  startJob('ended secrets', sweepSecrets)
  return jobs
}

/**
 * Runs `sweep` every `everyMs` until the result is disposed. Each run deletes batch by batch until nothing is left. A
 * failed run is logged, and the next run tries again.
 *
 * @param name the name of the deleted rows, in the log and as a metric label
 */
export function startSweep(
  name: string,
  sweep: Sweep,
  { db, events, log, now, everyMs = 60_000 }: SweepDeps,
): AsyncDisposable {
  const job = createRepeatedWork(async (isStopped) => {
    try {
      // If the clock were days ahead, everything would seem to have expired.
      if (!(await isClockSynchronised(db)))
        return log.warn(`${name} were not swept: the clock is not synchronised`)
      while ((await sweep(db, now())) > 0) {
        if (isStopped()) return
      }
      events.emit('swept', { sweep: name })
    } catch (error) {
      log.warn(`${name} were not swept`, { error })
    }
  })
  // The start counts as a success, so that a sweep whose first run never succeeds becomes overdue.
  events.emit('swept', { sweep: name })
  job.start(everyMs)
  return job
}
