import type { Log, Metrics } from '@plainpath/http'
import { expireAgents } from '../agents/expire-agents.ts'
import { countUnused } from '../agents/postgres-agent-counts.ts'
import { sweepSecrets } from '../agents/postgres-agent-secrets.ts'
import type { Config } from '../config.ts'
import { type Sweep, sweepRegularly } from '../sweep-regularly.ts'
import type { openStores } from './wire-stores.ts'

/** What is left of so many expired agents for each that may never have been used. */
const EXPIRED_FOR_EACH = 10

type Stores = Awaited<ReturnType<typeof openStores>>

/** Who is not used expires, and so does what is left of it. */
export function agentExpiry(config: Pick<Config, 'neverUsedClients'>, stores: Stores) {
  const bounds = {
    neverUsed: config.neverUsedClients,
    expired: EXPIRED_FOR_EACH * config.neverUsedClients,
  }
  const expire = expireAgents({
    ...{ expiring: stores.expiring, bounds },
    raiseGeneration: stores.tokens.raiseGeneration,
    announceEnd: (id) => stores.announceEnd({ kind: 'client', id }),
    forget: stores.agents.forget,
  })
  return { expire, forget: (now: Date) => stores.expiring.forget(now, bounds) }
}

/** The upkeep of agents, once a minute (`everyMs`) until disposed. */
export function wireAgentLife(
  config: Pick<Config, 'neverUsedClients'>,
  around: {
    stores: Stores
    metrics: Pick<Metrics, 'gauge' | 'swept'>
    log: Log
    now: () => Date
    everyMs?: number
  },
): AsyncDisposable {
  const { stores, metrics, log, now, everyMs } = around
  const { expire, forget } = agentExpiry(config, stores)
  const neverUsed = metrics.gauge('agents_never_used', 'Registered agents that never got a token')
  const idle = metrics.gauge('agents_idle', 'Registered agents that got no token for 30 days')
  const resources = new AsyncDisposableStack()
  const sweeping = { db: stores.db, now, log, onSwept: metrics.swept, ...(everyMs && { everyMs }) }
  const regularly = (what: string, sweep: Sweep) => resources.use(sweepRegularly(what, sweep, sweeping))
  regularly('unused agents', async (db, at) => {
    const ended = await expire(at)
    if (ended > 0) return ended
    const counted = await countUnused(db, at)
    neverUsed(counted.neverUsed)
    idle(counted.idle)
    return 0
  })
  regularly('expired agents', (_db, at) => forget(at))
  regularly('ended secrets', sweepSecrets)
  return resources
}
