/*
 * Opens the stores of the authorization server, for the server and for its commands. Only this module decides which of
 * them use PostgreSQL and which Redis. It starts no background work; `wire.ts` does.
 */
import { fileURLToPath } from 'node:url'
import type { Log } from '@plainpath/http'
import { createMailQueue, scaleWaitingMailBounds } from '@plainpath/mail'
import { createReservedPool, openPool, type ReservedPool } from '@plainpath/postgres'
import { REVOCATION, type RevocationOptions } from '@plainpath/revocation'
import type { Redis } from 'ioredis'
import { type AgentCache, createAgentCache } from './agents/agent-cache.ts'
import { type AgentStore, getActiveCredentialVersion } from './agents/agent-store.ts'
import { type ContactBindingStore, createContactBindingStore } from './agents/contact-binding-store.ts'
import { createAgentStore } from './agents/postgres-agent-store.ts'
import { createUrlClientStore, type UrlClientStore } from './agents/url-client-store.ts'
import { type AppClientStore, createAppClientStore } from './app-clients/app-client-store.ts'
import {
  createIdentityAssertionStore,
  type IdentityAssertionStore,
} from './assertions/identity-assertion-store.ts'
import { createUsedJtiStore, type UsedJtiStore } from './clients/used-jti-store.ts'
import {
  createPostgresUsedProofStore,
  createRedisUsedProofStore,
  type UsedProofStore,
} from './clients/used-proof-store.ts'
import type { Config } from './config.ts'
import { type ConnectionStore, createConnectionStore } from './connections/connection-store.ts'
import { type AuthEvents, createEvents } from './events.ts'
import { createKeyFollowerStore, type KeyFollowerStore } from './keys/key-follower-store.ts'
import { createKeyStore, type KeyStore } from './keys/key-store.ts'
import { createOAuthRecordStore, type OAuthRecordStore } from './oauth/oauth-record-store.ts'
import { openRedis, traceRedis } from './open-redis.ts'
import {
  createResourceServerFollowerStore,
  type ResourceServerFollowerStore,
} from './resource-servers/resource-server-follower-store.ts'
import {
  createRedisRevocationPublisher,
  noOpRevocationPublisher,
  type RevocationPublisher,
} from './revocation/revocation-publisher.ts'
import { createSignInStore, type SignInStore } from './sign-in/sign-in-store.ts'
import {
  createEmergencyRevocationStore,
  type EmergencyRevocationStore,
  readCutoff,
} from './tokens/emergency-revocation-store.ts'
import { createPostgresTokenStore } from './tokens/postgres-token-store.ts'
import { createRedisTokenStore } from './tokens/redis-token-store.ts'
import type { TokenAuthority, TokenStore } from './tokens/token-store.ts'
import { createVerificationAttemptStore } from './verifications/postgres-verification-attempt-store.ts'
import {
  createVerificationStore,
  isStoredVerificationLive,
} from './verifications/postgres-verification-store.ts'
import type { VerificationAttemptStore } from './verifications/verification-attempt-store.ts'
import type { VerificationStore } from './verifications/verification-store.ts'

/** The folder of this app's migrations. */
export const MIGRATIONS = fileURLToPath(new URL('../migrations', import.meta.url))
/** The prefix of this app's own Redis keys. Besides them, its Redis ACL permits only the keys that both apps share. */
const REDIS_PREFIX = 'auth:'

/** The number of connections that only revocations may use, in addition to the pool: see `useReservedConnections`. */
const RESERVED_CONNECTIONS = 2

export interface Stores extends AsyncDisposable {
  readonly db: ReservedPool
  readonly redis: Redis | undefined
  readonly redisPrefix: string
  readonly agents: AgentStore
  /** The agents whose id is the URL of a document. */
  readonly urlClients: UrlClientStore
  /** The cache of `agents` in this process. */
  readonly agentCache: AgentCache
  /** The agents whose tokens for `contact:write` must be bound to a key. */
  readonly contactBindings: ContactBindingStore
  /** The apps that people connect. */
  readonly appClients: AppClientStore
  readonly verifications: VerificationStore
  readonly verificationAttempts: VerificationAttemptStore
  readonly signIns: SignInStore
  /** Identity assertions that this server issued to agents. */
  readonly identityAssertions: IdentityAssertionStore
  /** The sign-ins of people with apps. */
  readonly connections: ConnectionStore
  /** oidc-provider's records of sign-ins. */
  readonly oauthRecords: OAuthRecordStore
  /** Hashes of the `jti` of used client assertions. */
  readonly usedJtis: UsedJtiStore
  /** Used DPoP proofs, in the same store as the tokens. */
  readonly usedProofs: UsedProofStore
  readonly tokens: TokenStore
  readonly emergencyRevocations: EmergencyRevocationStore
  /** Publishes revocations to the APIs, which cache introspection responses. */
  readonly revocationPublisher: RevocationPublisher
  readonly keys: KeyStore
  readonly keyFollowers: KeyFollowerStore
  readonly resourceServerFollowers: ResourceServerFollowerStore
}

export interface StoreOptions {
  readonly log: Log
  readonly now: () => Date
  /** The emitter of the stores' events. */
  readonly events?: AuthEvents
  /** The prefix of this app's own Redis keys; by default `auth:`. */
  readonly redisPrefix?: string
  /** Multiplies the timeouts of PostgreSQL, for commands and for tests on a busy machine. */
  readonly databasePatience?: number
  /** The timeout of a Redis command; by default 200 ms. */
  readonly redisTimeoutMs?: number
  /** The revocation channel and intervals that both apps share; by default `REVOCATION`. */
  readonly revocation?: RevocationOptions
}

/**
 * Opens the stores. Disposing the result closes them.
 *
 * @throws if Redis is unavailable or may evict keys
 */
export async function openStores(config: Config, options: StoreOptions): Promise<Stores> {
  const { log, now, events = createEvents(), redisPrefix = REDIS_PREFIX, revocation = REVOCATION } = options
  const { sealer, hashKey } = config
  await using stack = new AsyncDisposableStack()
  const poolOptions = { log, patience: options.databasePatience, isPooled: config.isDatabasePooled }
  const db = stack.use(
    createReservedPool(
      openPool(config.databaseUrl, { ...poolOptions, applicationName: 'plainpath-auth' }),
      openPool(config.databaseUrl, {
        ...poolOptions,
        applicationName: 'plainpath-auth revocation',
        max: RESERVED_CONNECTIONS,
        keepIdleConnections: true,
      }),
    ),
  )
  const redis =
    config.redisUrl === undefined
      ? undefined
      : stack.use(await openRedis(config.redisUrl, log, options.redisTimeoutMs))
  if (redis && config.otlpUrl) traceRedis(redis)

  const mailQueue = createMailQueue({
    sealer,
    hashKey,
    waiting: scaleWaitingMailBounds(config.limitsFactor),
  })
  const agents = createAgentStore(db, { sealer, addMail: mailQueue.add, events, now })
  const authority: TokenAuthority = {
    findCredentialVersion: async (id) => getActiveCredentialVersion(await agents.find(id)),
    isVerificationLive: (id) => isStoredVerificationLive(db, id, now()),
    readCutoff: () => readCutoff(db),
  }
  const tokens = redis
    ? createRedisTokenStore(redis, { prefix: redisPrefix, authority, now })
    : createPostgresTokenStore(db, { now })
  const revocationPublisher = redis
    ? createRedisRevocationPublisher(redis, revocation, events)
    : noOpRevocationPublisher
  const verificationDeps = { db, sealer, hashKey, addMail: mailQueue.add, events }
  const verifications = createVerificationStore({ ...verificationDeps, tokens, revocationPublisher })
  const resources = stack.move()
  return {
    db,
    redis,
    redisPrefix,
    agents,
    urlClients: createUrlClientStore(db, events),
    agentCache: createAgentCache(agents, { skipSharedLoads: db.isReserved }),
    contactBindings: createContactBindingStore(db, events),
    appClients: createAppClientStore(db, sealer),
    verifications,
    verificationAttempts: createVerificationAttemptStore(verificationDeps),
    signIns: createSignInStore(verificationDeps),
    identityAssertions: createIdentityAssertionStore(db),
    connections: createConnectionStore({ db, sealer, verifications }),
    oauthRecords: createOAuthRecordStore(db, { sealer, now }),
    usedJtis: createUsedJtiStore(db),
    usedProofs: redis
      ? createRedisUsedProofStore(redis, { prefix: redisPrefix })
      : createPostgresUsedProofStore(db),
    tokens,
    emergencyRevocations: createEmergencyRevocationStore(db, events),
    revocationPublisher,
    keys: createKeyStore(db, sealer, events),
    keyFollowers: createKeyFollowerStore(db),
    resourceServerFollowers: createResourceServerFollowerStore(db),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
