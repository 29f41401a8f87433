import { fileURLToPath } from 'node:url'
import type { AgentId } from '@plainpath/domain'
import type { Log } from '@plainpath/http'
import { openPool } from '@plainpath/postgres'
import { cachedAgents } from './agents/cached-agents.ts'
import { endAgent } from './agents/end-agent.ts'
import { rewrapNames } from './agents/postgres-agent-names.ts'
import { postgresAgentStore } from './agents/postgres-agent-store.ts'
import type { Config } from './config.ts'
import { postgresKeyFollowers } from './keys/postgres-key-followers.ts'
import { postgresKeyStore } from './keys/postgres-key-store.ts'
import { openRedis } from './tokens/open-redis.ts'
import { postgresTokenStore } from './tokens/postgres-token-store.ts'
import { redisTokenStore } from './tokens/redis-token-store.ts'
import { sweepTokensRegularly } from './tokens/sweep-tokens.ts'

export const MIGRATIONS = fileURLToPath(new URL('../migrations', import.meta.url))
/** Of every key in Redis; the Redis user of this app may touch nothing else. */
const REDIS_PREFIX = 'auth:'

export interface Surroundings {
  log: Log
  now: () => Date
  /** Of every key in Redis, where it is to be another than `auth:`. */
  redisPrefix?: string
  /** How long Redis may take to answer, where it is to be another time than 200 ms. */
  redisTimeoutMs?: number
}

/** Opens the stores: what the server and the command line both need. Disposing closes them. */
export async function openStores(config: Config, surroundings: Surroundings) {
  const { log, now, redisPrefix = REDIS_PREFIX, redisTimeoutMs } = surroundings
  await using opening = new AsyncDisposableStack()
  const db = opening.use(openPool(config.databaseUrl, { applicationName: 'plainpath-auth', log }))
  const redis = config.redisUrl
    ? opening.use(await openRedis(config.redisUrl, log, redisTimeoutMs))
    : undefined
  const store = postgresAgentStore(db, config.sealingKeys)
  const agents = cachedAgents(store)
  const generationOf = async (id: AgentId) => {
    const record = await store.find(id)
    return record?.agent.status === 'active' ? record.agent.generation : undefined
  }
  const tokens = redis
    ? redisTokenStore(redis, { prefix: redisPrefix, generationOf: (id) => generationOf(id as AgentId), now })
    : postgresTokenStore(db, { now })
  if (!redis) opening.use(sweepTokensRegularly({ db, now, log }))
  const end = endAgent({ agents: store, raiseGeneration: tokens.raiseGeneration, forget: agents.forget })
  const keys = postgresKeyStore(db, config.sealingKeys)
  const resources = opening.move()
  return {
    db,
    redis,
    redisPrefix,
    store,
    agents,
    tokens,
    keys,
    followers: postgresKeyFollowers(db),
    rewrapNames: (options: { trial: boolean }) => rewrapNames(db, config.sealingKeys, options),
    endAgent: end,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
