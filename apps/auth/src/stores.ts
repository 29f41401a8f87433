/*
 * Opens the stores of the authorization server, for the server and for its commands: which of them use PostgreSQL and
 * which Redis is decided here alone. Starts no background work; `upkeep.ts` does.
 */
import { fileURLToPath } from 'node:url'
import type { Log } from '@plainpath/http'
import { mailQueue, scaledWaitingBounds } from '@plainpath/mail'
import { openPool, type ReservedPool, reservedPool } from '@plainpath/postgres'
import { REVOCATION, type RevocationOptions } from '@plainpath/revocation'
import type { Redis } from 'ioredis'
import { type AgentRepository, activeGeneration, agentRepository } from './agents/agent-repository.ts'
import { type CachedAgents, cachedAgents } from './agents/cached-agents.ts'
import { type ContactBindingStore, contactBindingStore } from './agents/contact-binding-store.ts'
import { type UrlClientStore, urlClientStore } from './agents/url-client-store.ts'
import { type AppClientStore, appClientStore } from './app-clients/app-client-store.ts'
import { type IdentityAssertionStore, identityAssertionStore } from './assertions/identity-assertion-store.ts'
import { type ClaimAttemptStore, postgresClaimAttempts } from './claims/postgres-claim-attempts.ts'
import { type ClaimStore, isLiveClaim, postgresClaims } from './claims/postgres-claims.ts'
import { type UsedJtiStore, usedJtiStore } from './clients/used-jti-store.ts'
import { postgresUsedProofs, redisUsedProofs, type UsedProofStore } from './clients/used-proof-store.ts'
import type { Config } from './config.ts'
import { type Connections, connectionStore } from './connections/connection-store.ts'
import { type AuthEvents, createEvents } from './events.ts'
import { type KeyFollowers, postgresKeyFollowers } from './keys/key-followers.ts'
import { type KeyStore, postgresKeyStore } from './keys/key-store.ts'
import { type OAuthRecordStore, oauthRecordStore } from './oauth/oauth-record-store.ts'
import {
  postgresResourceServerFollowers,
  type ResourceServerFollowers,
} from './resource-servers/resource-server-followers.ts'
import { noOpRevoker, type Revoker, redisRevoker } from './revocation/revoker.ts'
import { type SignInStore, signInStore } from './sign-in/sign-in-store.ts'
import { openRedis } from './tokens/open-redis.ts'
import { postgresTokenStore } from './tokens/postgres-token-store.ts'
import { redisTokenStore } from './tokens/redis-token-store.ts'
import { readStop, type StopStore, stopStore } from './tokens/stop-store.ts'
import type { TokenAuthority, TokenStore } from './tokens/token-store.ts'
import { traceRedis } from './tokens/trace-redis.ts'

export const MIGRATIONS = fileURLToPath(new URL('../migrations', import.meta.url))
/** Prefix of every Redis key; the ACL of this app's Redis user permits no other. */
const REDIS_PREFIX = 'auth:'

/** Connections beside the pool that only revocations may use: see `useReservedConnections`. */
const RESERVED_CONNECTIONS = 2

export interface Stores extends AsyncDisposable {
  readonly db: ReservedPool
  readonly redis: Redis | undefined
  readonly redisPrefix: string
  readonly agents: AgentRepository
  /** The agents among them that are known by the URL of a document. */
  readonly urlClients: UrlClientStore
  /** This process's cache of `agents`. */
  readonly cachedAgents: CachedAgents
  readonly contactBindings: ContactBindingStore
  /** Apps that people connect from. */
  readonly appClients: AppClientStore
  readonly claims: ClaimStore
  readonly claimAttempts: ClaimAttemptStore
  readonly signIns: SignInStore
  /** Identity assertions that this server issued to agents. */
  readonly identityAssertions: IdentityAssertionStore
  /** The sign-ins of people with apps. */
  readonly connections: Connections
  /** What oidc-provider stores about them. */
  readonly oauthRecords: OAuthRecordStore
  readonly usedJtis: UsedJtiStore
  /** Beside the tokens, in the same store. */
  readonly usedProofs: UsedProofStore
  readonly tokens: TokenStore
  readonly stops: StopStore
  /** Publishes revocations to the APIs, which cache introspection responses. */
  readonly revoker: Revoker
  readonly keys: KeyStore
  readonly keyFollowers: KeyFollowers
  readonly resourceServerFollowers: ResourceServerFollowers
}

export interface StoreOptions {
  readonly log: Log
  readonly now: () => Date
  /** Receives an event for each change that the stores make. */
  readonly events?: AuthEvents
  /** Prefix of every Redis key; `auth:` when absent. */
  readonly redisPrefix?: string
  /** Multiplies the timeouts of PostgreSQL, for tests on a busy machine. */
  readonly databasePatience?: number
  /** Timeout of a Redis command; 200 ms when absent. */
  readonly redisTimeoutMs?: number
  /** The revocation channel and intervals that both apps share; `REVOCATION` when absent. */
  readonly revocation?: RevocationOptions
}

/** Opens the stores. Disposing the result closes them. @throws when Redis is unavailable or may evict keys */
export async function openStores(config: Config, options: StoreOptions): Promise<Stores> {
  const { log, now, events = createEvents(), redisPrefix = REDIS_PREFIX, revocation = REVOCATION } = options
  const { sealingKeys, hashKey } = config
  await using opening = new AsyncDisposableStack()
  const pool = { log, patience: options.databasePatience }
  const db = opening.use(
    reservedPool(
      openPool(config.databaseUrl, { ...pool, applicationName: 'plainpath-auth' }),
      openPool(config.databaseUrl, {
        ...pool,
        applicationName: 'plainpath-auth revocation',
        max: RESERVED_CONNECTIONS,
        stay: true,
      }),
    ),
  )
  const redis =
    config.redisUrl === undefined
      ? undefined
      : opening.use(await openRedis(config.redisUrl, log, options.redisTimeoutMs))
  if (redis && config.otlpUrl) traceRedis(redis)

  const mails = mailQueue({ sealingKeys, hashKey, waiting: scaledWaitingBounds(config.limitsFactor) })
  const agents = agentRepository(db, { sealingKeys, addMail: mails.add, events, now })
  const authority: TokenAuthority = {
    findGeneration: async (id) => activeGeneration(await agents.find(id)),
    isLiveClaim: (id) => isLiveClaim(db, id, now()),
    stop: () => readStop(db),
  }
  const tokens = redis
    ? redisTokenStore(redis, { prefix: redisPrefix, authority, now })
    : postgresTokenStore(db, { now })
  const revoker = redis ? redisRevoker(redis, revocation, events) : noOpRevoker
  const claimDeps = { db, sealingKeys, hashKey, addMail: mails.add, events }
  const claims = postgresClaims({ ...claimDeps, tokens, revoker })
  const resources = opening.move()
  return {
    db,
    redis,
    redisPrefix,
    agents,
    urlClients: urlClientStore(db, events),
    cachedAgents: cachedAgents(agents, { skipSharedLoads: db.isReserved }),
    contactBindings: contactBindingStore(db, events),
    appClients: appClientStore(db, sealingKeys),
    claims,
    claimAttempts: postgresClaimAttempts(claimDeps),
    signIns: signInStore(claimDeps),
    identityAssertions: identityAssertionStore(db),
    connections: connectionStore({ db, sealingKeys, claims }),
    oauthRecords: oauthRecordStore(db, { sealingKeys, now }),
    usedJtis: usedJtiStore(db),
    usedProofs: redis ? redisUsedProofs(redis, { prefix: redisPrefix }) : postgresUsedProofs(db),
    tokens,
    stops: stopStore(db, events),
    revoker,
    keys: postgresKeyStore(db, sealingKeys, events),
    keyFollowers: postgresKeyFollowers(db),
    resourceServerFollowers: postgresResourceServerFollowers(db),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
