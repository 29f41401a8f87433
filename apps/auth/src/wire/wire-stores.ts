import { fileURLToPath } from 'node:url'
import { AgentId, RegistrationId } from '@plainpath/domain'
import { mailQueue } from '@plainpath/mail'
import { cachedAgents } from '../agents/cached-agents.ts'
import { endAgent } from '../agents/end-agent.ts'
import { countAgents } from '../agents/postgres-agent-counts.ts'
import { rewrapNames } from '../agents/postgres-agent-names.ts'
import { postgresAgentSecrets, secretsOf } from '../agents/postgres-agent-secrets.ts'
import { postgresAgentStore } from '../agents/postgres-agent-store.ts'
import { postgresExpiredAgents } from '../agents/postgres-expired-agents.ts'
import {
  postgresIdentityAssertionStore,
  sweepIdentityAssertions,
} from '../assertions/postgres-identity-assertion-store.ts'
import { type Claim, isLive } from '../claims/claim.ts'
import { rewrapClaims } from '../claims/postgres-claim-addresses.ts'
import { postgresClaimAttempts } from '../claims/postgres-claim-attempts.ts'
import { endClaimsOfAgent, postgresClaims, removeClaimsOfAgents } from '../claims/postgres-claims.ts'
import { postgresAssertionStore, sweepAssertions } from '../clients/postgres-assertion-store.ts'
import type { Config } from '../config.ts'
import { postgresKeyFollowers } from '../keys/postgres-key-followers.ts'
import { postgresKeyStore } from '../keys/postgres-key-store.ts'
import { openDatabase } from '../open-database.ts'
import { postgresResourceServerFollowers } from '../resource-servers/postgres-resource-server-followers.ts'
import type { Surroundings } from '../surroundings.ts'
import { sweepRegularly } from '../sweep-regularly.ts'
import { openRedis } from '../tokens/open-redis.ts'
import { postgresStopStore, readStop } from '../tokens/postgres-stop-store.ts'
import { postgresTokenStore } from '../tokens/postgres-token-store.ts'
import { redisTokenStore } from '../tokens/redis-token-store.ts'
import { sweepTokens } from '../tokens/sweep-tokens.ts'
import { STANDING } from '../tokens/token-store.ts'
import { traceRedis } from '../tokens/trace-redis.ts'
import { wireRevoker } from './wire-revoker.ts'

export const MIGRATIONS = fileURLToPath(new URL('../../migrations', import.meta.url))
/** Of every key in Redis; the Redis user of this app may touch nothing else. */
const REDIS_PREFIX = 'auth:'

/** Opens the stores: what the server and the command line both need. Disposing closes them. */
export async function openStores(config: Config, surroundings: Surroundings) {
  const { log, now, onSwept, tell, redisPrefix = REDIS_PREFIX, redisTimeoutMs } = surroundings
  await using opening = new AsyncDisposableStack()
  const db = opening.use(openDatabase(config.databaseUrl, log))
  const redis = config.redisUrl
    ? opening.use(await openRedis(config.redisUrl, log, redisTimeoutMs))
    : undefined
  if (redis && config.otlpUrl) traceRedis(redis)
  const { sealingKeys, hashKey } = config
  const store = postgresAgentStore(db, sealingKeys, {
    onDeleted: (tx, id) => endClaimsOfAgent(tx, id, now()),
  })
  const claimDeps = { db, sealingKeys, hashKey, addMail: mailQueue(sealingKeys).add }
  const agents = cachedAgents(store, { asksAlone: db.isReserved })
  const generationOf = async (id: string) => {
    if (RegistrationId.safeParse(id).success) return standing(await claims.find(id))
    const record = await store.find(AgentId.parse(id))
    return record?.agent.status === 'active' ? record.agent.generation : undefined
  }
  const standing = (claim: Claim | undefined) => (claim && isLive(claim, now()) ? STANDING : undefined)
  const tokens = redis
    ? redisTokenStore(redis, {
        prefix: redisPrefix,
        generationOf,
        stopOf: () => readStop(db),
        now,
      })
    : postgresTokenStore(db, { now })
  const sweeping = { db, now, log, onSwept }
  if (!redis) opening.use(sweepRegularly('expired tokens', sweepTokens, sweeping))
  opening.use(sweepRegularly('identity assertions', sweepIdentityAssertions, sweeping))
  opening.use(sweepRegularly('spent assertions', sweepAssertions, sweeping))
  const revoker = await wireRevoker(redis, surroundings, opening)
  const { announceEnd } = revoker
  const tellOfClient = (id: string) => announceEnd({ kind: 'client', id })
  const claims = postgresClaims({
    ...claimDeps,
    endTokens: (id) => tokens.raiseGeneration(id, STANDING + 1),
    announceEnd: tellOfClient,
    onEnded: (id, by) => tell?.('claim-ended', { registration_id: id, by }),
  })
  const end = endAgent({
    agents: store,
    raiseGeneration: tokens.raiseGeneration,
    announceEnd: tellOfClient,
    forget: agents.forget,
    onEnded: (id, how) => tell?.('client-ended', { client_id: id, how }),
  })
  const keys = postgresKeyStore(db, sealingKeys)
  const resources = opening.move()
  return {
    db,
    redis,
    redisPrefix,
    store,
    agents,
    secrets: postgresAgentSecrets(db),
    /** Empty also for an agent that is not there. */
    secretIds: async (id: AgentId) => (await secretsOf(db, id)).map((secret) => secret.id),
    expiring: postgresExpiredAgents(db, { removeClaims: removeClaimsOfAgents }),
    countAgents: () => countAgents(db, now()),
    tokens,
    claims,
    identityAssertions: postgresIdentityAssertionStore(db),
    stops: postgresStopStore(db),
    keys,
    attempts: postgresClaimAttempts(claimDeps),
    followers: postgresKeyFollowers(db),
    resourceServerFollowers: postgresResourceServerFollowers(db),
    rewrapNames: (options: { trial: boolean }) => rewrapNames(db, sealingKeys, options),
    rewrapClaims: (options: { trial: boolean }) => rewrapClaims(db, sealingKeys, options),
    endAgent: end,
    assertions: postgresAssertionStore(db),
    announceEnd,
    revocationMark: () => revoker.mark,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
