/*
 * The composition root of the server: creates its objects from settings and runtime dependencies, and connects them. It
 * opens stores and starts background work. It opens no ports (`serve.ts` does) and contains no business rules.
 */
import {
  createDocumentRoutes,
  createLimiter,
  createMemoryLimitStore,
  createOperationsApp,
  createPrefetchingLimitStore,
  createReadiness,
  createRedisLimitStore,
  type RawRoute,
  type Readiness,
  registerPoolMetrics,
  watchClock,
} from '@plainpath/http'
import { createMailTransport, type Mailer, openMailer, scaleMailCaps } from '@plainpath/mail'
import { API_VERSION, createAuthDocuments, createServiceUrls } from '@plainpath/metadata'
import { isSchemaCurrent, listen, readDatabaseTime } from '@plainpath/postgres'
import { openTracing } from '@plainpath/tracing'
import type Koa from 'koa'
import { createAgentRoutes } from './agents/agent-routes.ts'
import { bindContact } from './agents/contact-binding.ts'
import { createUsageRecorder } from './agents/usage-recorder.ts'
import { createInternalApp, createPublicApp, listPublicEndpoints } from './app.ts'
import type { FindAppClient } from './app-clients/app-client.ts'
import { createAppRegistrationRoutes } from './app-clients/app-registration-routes.ts'
import { createAssertionRoutes } from './assertions/assertion-routes.ts'
import { verifyPresentedAssertion } from './assertions/verify-presented-assertion.ts'
import type { DocumentFetcherOptions } from './client-documents/document-fetcher.ts'
import { createAppAuthenticator } from './clients/app-authenticator.ts'
import type { Config } from './config.ts'
import { createEvents, logSecurityEvents } from './events.ts'
import { createCanaryListeners } from './instances/canary.ts'
import { createInstanceDescriber } from './instances/describe-instance.ts'
import { createKeyMetrics, openKeyFollower } from './keys/key-follower.ts'
import { LIMITS } from './limits.ts'
import { createAuthMetrics } from './metrics.ts'
import { createAppAdapters } from './oauth/app-adapters.ts'
import { createProvider } from './oauth/create-provider.ts'
import { createInteractions, type Interactions } from './oauth/interactions.ts'
import { createTokenIntrospector } from './oauth/introspect-token.ts'
import { createAgentTokenIssuer } from './oauth/issue-agent-token.ts'
import { createInternalClientSecret } from './oauth/override-provider.ts'
import { toLimitClient } from './open-redis.ts'
import { followResourceServers } from './resource-servers/follow-resource-servers.ts'
import { createSignInRoutes } from './sign-in/sign-in-routes.ts'
import { MIGRATIONS, openStores, type StoreOptions, type Stores } from './stores.ts'
import { reportCutoffs } from './tokens/report-cutoffs.ts'
import { startUpkeep } from './upkeep.ts'
import { describePerson } from './verifications/confirmed-person.ts'
import { createVerificationMailHandlers } from './verifications/verification-mails.ts'
import { createVerificationPageRoutes } from './verifications/verification-page-routes.ts'
import { createVerificationRoutes } from './verifications/verification-routes.ts'
import { wireClients } from './wire/wire-clients.ts'

/** Values that the process provides in addition to its settings: the clock, the log, and overrides for tests. */
export interface RuntimeDependencies extends Omit<StoreOptions, 'events'> {
  /** Called for each mail that is written to a file, with one line: the recipient and the mail's link, or its subject. */
  readonly announceMail?: (line: string) => void
  /** In tests: replaces DNS, the trusted certificate authorities and the timeout for fetching client documents. */
  readonly documents?: Pick<DocumentFetcherOptions, 'ca' | 'resolve' | 'timeoutMs'>
  /** In tests: replaces the sign-in pages, or the function that finds apps. */
  readonly apps?: { find?: FindAppClient; signIn?(interactions: Interactions, stores: Stores): RawRoute[] }
}

/** The running server. Disposing it stops the background work and closes the stores. */
export interface AuthServer extends AsyncDisposable {
  readonly publicApp: Koa
  readonly internalApp: Koa
  readonly operationsApp: Koa
  /** Each method and path of the public application. */
  readonly publicEndpoints: ReturnType<typeof listPublicEndpoints>
  readonly readiness: Readiness
  /** For tests, which run the upkeep of mails instead of waiting for it. */
  readonly mailer: Mailer
}

/**
 * Opens the stores, starts background work and builds the public, internal and operations applications.
 *
 * @throws if a store is unavailable or there is no usable signing key
 */
export async function openAuth(config: Config, runtime: RuntimeDependencies): Promise<AuthServer> {
  const { log, now, announceMail = () => undefined } = runtime
  const { hashKey, sealer, chatHosts, limitsFactor } = config
  const urls = createServiceUrls(config.origin)
  // Closes all open resources if a later step throws.
  await using stack = new AsyncDisposableStack()
  const events = createEvents()
  logSecurityEvents(events, log)
  const metrics = createAuthMetrics(events, config.chatHosts)
  const tracing = stack.use(
    await openTracing({ url: config.otlpUrl, service: 'plainpath-auth', version: API_VERSION, log }),
  )

  const stores = stack.use(await openStores(config, { ...runtime, events }))
  const { db, redis, agents, agentCache, connections, oauthRecords: records, tokens, verifications } = stores
  // Opens the reserved connections now, because the database server may have none left later.
  await db.openReserved()
  registerPoolMetrics(metrics, db)
  const clock = stack.use(watchClock({ readTime: () => readDatabaseTime(db), log, onSkew: metrics.setSkew }))
  const limiter = createLimiter({
    store: redis
      ? createPrefetchingLimitStore(createRedisLimitStore(toLimitClient(redis), stores.redisPrefix), now)
      : createMemoryLimitStore(now),
    factor: config.limitsFactor,
    now,
    log,
    onDecision: metrics.countLimitDecision,
  })

  // Start the background work, which stops when the server is disposed: followers, sweeps, notifications, mail.
  stack.use(await stores.revocationPublisher.trackStoreMark())
  stack.use(startUpkeep(config, { stores, metrics, events, log, now }))
  const resourceServers = stack.use(
    await followResourceServers({
      initialServers: config.resourceServers,
      file: config.resourceServersFile,
      followers: stores.resourceServerFollowers,
      reportIntervalMs: config.keys.pollMs,
      metrics,
      log,
    }),
  )
  const signing = stack.use(
    await openKeyFollower({
      ...config.keys,
      keys: stores.keys,
      followers: stores.keyFollowers,
      describe: await createInstanceDescriber(config, stores),
      log,
      onStatus: createKeyMetrics(metrics),
    }),
  )
  signing.start()
  const listeners = { agents_changed: agentCache.invalidate, key_ring_changed: signing.pollSoon }
  const canaryListeners = createCanaryListeners(stores, signing.instanceId, log)
  // Notifications that were sent before the connection, or during an outage, are lost.
  const onConnected = () => {
    agentCache.invalidateAll()
    signing.pollSoon()
  }
  stack.use(
    await listen(config.sessionDatabaseUrl, { ...listeners, ...canaryListeners }, { onConnected, log }),
  )
  const mailer = stack.use(
    openMailer({
      databaseUrl: config.sessionDatabaseUrl,
      db,
      sealer,
      hashKey,
      transport: createMailTransport(config.mail, announceMail),
      from: config.mail.from,
      handlers: createVerificationMailHandlers({ attempts: stores.verificationAttempts, now }),
      caps: scaleMailCaps(config.limitsFactor),
      isClockSynchronised: clock.isSynchronised,
      log,
      metrics,
      now,
    }),
  )

  const clients = wireClients(config, {
    stores,
    clock,
    limiter,
    events,
    now,
    documentOverrides: runtime.documents,
  })
  const findAppClient = runtime.apps?.find ?? clients.findAppClient

  // Tokens. oidc-provider issues the tokens of apps.
  const internalClientSecret = createInternalClientSecret()
  const cookieKey = hashKey.deriveKey('cookies').toString('base64url')
  const usage = createUsageRecorder({ agentCache, agents, now })
  const provider = createProvider({
    internalClientSecret,
    dpopNonceSecret: hashKey.deriveKey('dpop-nonce'),
    markProofUsed: stores.usedProofs.markUsed,
    urls,
    adapter: createAppAdapters({ records, connections, tokens, usage, events, now }),
    connections,
    limiter,
    cookieKey,
    now,
  })
  const issueAgentToken = createAgentTokenIssuer({
    provider,
    urls,
    tokens: { save: reportCutoffs(tokens.save, events) },
    findAgent: agentCache.find,
    usage,
    events,
    bindContact: (id, credentialVersion) => bindContact(stores, id, credentialVersion),
    verifyPresentedAssertion: (assertion, clientId) =>
      verifyPresentedAssertion(
        { assertions: stores.identityAssertions, keys: signing.keys, issuer: urls.origin },
        assertion,
        clientId,
        now(),
      ),
    now,
  })
  const introspectToken = createTokenIntrospector({
    urls,
    stores,
    signing,
    findPerson: async (verificationId) => {
      const person = await verifications.findPerson(verificationId, now())
      return person && describePerson(person)
    },
    now,
  })

  const interactions = createInteractions({ ...stores, provider, findAppClient, urls, now })
  const signInRoutes =
    runtime.apps?.signIn?.(interactions, stores) ??
    createSignInRoutes({
      interactions,
      stores,
      hashKey,
      urls,
      limiter,
      events,
      chatHosts,
      now,
    })

  // Routes and applications.
  const { overlapMs } = config.keys
  const routeDeps = { stores, hashKey, urls, keyFollower: signing, overlapMs, limitsFactor, now }
  const documents = createAuthDocuments(urls)
  const routes = [
    ...createAgentRoutes(routeDeps),
    ...createVerificationRoutes(routeDeps),
    ...createVerificationPageRoutes(routeDeps),
    ...createAssertionRoutes(routeDeps),
    ...createDocumentRoutes(documents, { address: LIMITS.documents }),
  ]
  const oauth = {
    provider,
    urls,
    authenticate: clients.authenticate,
    findAppClient,
    authenticateApp: createAppAuthenticator({ findAppClient, usedJtis: stores.usedJtis, urls, limiter, now }),
    internalClientSecret,
    issueAgentToken,
    introspectToken,
    resourceServers,
    signing,
    keySettings: config.keys,
    stores,
    usage,
    limiter,
    now,
  }
  const appDeps = {
    ...config,
    log,
    metrics,
    tracing,
    clock,
    limiter,
    db,
    authenticateUncached: clients.authenticateUncached,
    routes,
    appRoutes: createAppRegistrationRoutes({ ...stores, chatHosts, events, now }),
    documentPaths: documents.map(({ path }) => path),
    oauth,
    cookieKey,
    signInRoutes,
  }
  const readiness = createReadiness({
    database: () => isSchemaCurrent(db, MIGRATIONS),
    keys: async () => signing.isReady(),
    clock: async () => clock.isSynchronised(),
    ...(redis && { redis: async () => (await redis.ping()) === 'PONG' }),
  })
  const details = () => ({ keys: signing.status, resource_servers: resourceServers.getStatus() })
  const apps = {
    publicApp: createPublicApp(appDeps),
    publicEndpoints: listPublicEndpoints(appDeps),
    internalApp: createInternalApp(appDeps),
    operationsApp: createOperationsApp({ readiness, registry: metrics.registry, details }),
  }
  // Until here, a failure disposes the open resources. From here on, the caller must dispose them.
  const resources = stack.move()
  return { ...apps, mailer, readiness, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}
