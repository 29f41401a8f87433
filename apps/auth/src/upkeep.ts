/*
 * The background jobs of the server: deleting expired rows, which PostgreSQL does not do by itself, and expiring unused
 * agents. What each job deletes is decided in the module of its table.
 */
import { durationIn } from '@plainpath/domain'
import { type Log, type Metrics, runRepeatedly } from '@plainpath/http'
import { clockAgrees, type Database } from '@plainpath/postgres'
import { COUNTS_AS_IDLE_MS, countUnused } from './agents/agent-counts.ts'
import { expireAgents, forgetExpiredAgents } from './agents/agent-expiry.ts'
import { sweepSecrets } from './agents/agent-secret.ts'
import { sweepAppClients } from './app-clients/app-client-store.ts'
import { sweepIdentityAssertions } from './assertions/identity-assertion-store.ts'
import { sweepClaims } from './claims/sweep-claims.ts'
import { sweepUsedJtis } from './clients/used-jti-store.ts'
import type { Config } from './config.ts'
import type { AuthEvents } from './events.ts'
import { sweepOAuthRecords } from './oauth/oauth-record-store.ts'
import { sweepSignIns } from './sign-in/sign-in-store.ts'
import type { Stores } from './stores.ts'
import { sweepTokens } from './tokens/sweep-tokens.ts'

/** Deletes a batch of expired rows. @returns how many; 0 when none is left */
type Sweep = (db: Database, now: Date) => Promise<number>

/** Tombstones of expired agents that are retained, as a multiple of `AUTH_NEVER_USED_CLIENTS`. */
const EXPIRED_FOR_EACH = 10

interface SweepDeps {
  readonly db: Database
  readonly events: AuthEvents
  readonly log: Log
  readonly now: () => Date
  /** A minute when absent. */
  readonly everyMs?: number
}

interface UpkeepDeps extends Omit<SweepDeps, 'db'> {
  readonly stores: Stores
  readonly metrics: Pick<Metrics, 'gauge'>
}

/** Starts the jobs, each once a minute, until disposed. */
export function startUpkeep(config: Pick<Config, 'neverUsedClients'>, deps: UpkeepDeps): AsyncDisposable {
  const { stores, metrics, events } = deps
  const { neverUsedClients } = config
  const neverUsed = metrics.gauge('agents_never_used', 'Registered agents that never got a token')
  const idle = metrics.gauge(
    'agents_idle',
    `Registered agents that got no token for ${durationIn('day', COUNTS_AS_IDLE_MS)}`,
  )
  const running = new AsyncDisposableStack()
  const regularly = (what: string, sweep: Sweep) =>
    running.use(sweepRegularly(what, sweep, { ...deps, db: stores.db }))

  // Redis expires its tokens itself.
  if (!stores.redis) regularly('expired tokens', sweepTokens)
  regularly('identity assertions', sweepIdentityAssertions)
  regularly('spent assertions', sweepUsedJtis)
  regularly('claims', sweepClaims)
  regularly('sign-ins', async (db, at) => (await sweepOAuthRecords(db, at)) + (await sweepSignIns(db, at)))
  regularly('unused apps', (db, at) => sweepAppClients(db, at, neverUsedClients))
  regularly('unused agents', async (db, at) => {
    const ended = await expireAgents({ ...stores, events }, at, neverUsedClients)
    if (ended > 0) return ended
    const counted = await countUnused(db, at)
    neverUsed(counted.neverUsed)
    idle(counted.idle)
    return 0
  })
  regularly('expired agents', (db, at) => forgetExpiredAgents(db, at, EXPIRED_FOR_EACH * neverUsedClients))
  regularly('ended secrets', sweepSecrets)
  return running
}

/**
 * Runs `sweep` once a minute until disposed, batch by batch until nothing is left. A run that fails is logged, and the
 * next one tries again.
 *
 * @param what names the rows, in the log and as a metric label
 */
export function sweepRegularly(
  what: string,
  sweep: Sweep,
  { db, events, log, now, everyMs = 60_000 }: SweepDeps,
): AsyncDisposable {
  const sweeping = runRepeatedly(async (isStopped) => {
    try {
      // With a clock that is days ahead, everything would seem to have expired.
      if (!(await clockAgrees(db))) return log.warn(`${what} were not swept: the clock is not synchronised`)
      while ((await sweep(db, now())) > 0) if (isStopped()) return
      events.emit('swept', { what })
    } catch (error) {
      log.warn(`${what} were not swept`, { error })
    }
  })
  events.emit('swept', { what })
  sweeping.start(everyMs)
  return sweeping
}
