/*
 * The composition root of the server: creates every object once, from settings and runtime dependencies, and connects
 * them. It opens stores and starts background work, but does not listen (`serve.ts`) and holds no business rules.
 */
import {
  createLimiter,
  createReadiness,
  documentRoutes,
  memoryLimitStore,
  operationsApp,
  poolMetrics,
  type RawRoute,
  watchClock,
  withSynchronisedClock,
} from '@plainpath/http'
import { mailTransport, openMailer, scaledMailCaps } from '@plainpath/mail'
import { API_VERSION, authDocuments, serviceUrls } from '@plainpath/metadata'
import { databaseTime, listen, schemaIsCurrent } from '@plainpath/postgres'
import { openTracing } from '@plainpath/tracing'
import { findExpiredAgent } from './agents/agent-expiry.ts'
import { agentRoutes } from './agents/agent-routes.ts'
import { bindContact } from './agents/contact-binding.ts'
import { useMarks } from './agents/mark-use.ts'
import { documentSource } from './agents/refresh-document.ts'
import { internalApp, publicApp, publicSurface } from './app.ts'
import type { FindAppClient } from './app-clients/app-client.ts'
import { appClientFinder } from './app-clients/app-client-finder.ts'
import { readAppDocument } from './app-clients/app-document.ts'
import { appRegistrationRoutes } from './app-clients/app-registration-routes.ts'
import { assertionRoutes } from './assertions/assertion-routes.ts'
import { exchangeAssertion } from './assertions/exchange-assertion.ts'
import { claimMailHandlers } from './claims/claim-mails.ts'
import { claimPageRoutes } from './claims/claim-page-routes.ts'
import { claimRoutes } from './claims/claim-routes.ts'
import { describePerson } from './claims/confirmed-person.ts'
import {
  type DocumentFetcherOptions,
  openDocumentFetcher,
  openFetcher,
} from './client-documents/document-fetcher.ts'
import { authenticateApp } from './clients/authenticate-app.ts'
import {
  type AuthenticateClient,
  type AuthenticateClientDeps,
  authenticateClient,
} from './clients/authenticate-client.ts'
import { urlClientFinder } from './clients/url-clients.ts'
import type { Config } from './config.ts'
import { createEvents, logSecurityEvents } from './events.ts'
import { keyMetrics, openKeyFollower } from './keys/key-follower.ts'
import { LIMITS, sharedLimits } from './limits.ts'
import { openMetrics } from './metrics.ts'
import { appAdapters } from './oauth/app-adapters.ts'
import { createProvider, providerSlot } from './oauth/create-provider.ts'
import { type Interactions, interactions } from './oauth/interactions.ts'
import { authenticatedGeneration, createInternalClientSecret } from './oauth/override-provider.ts'
import { clientAdapter, readOnlyAdapter, tokenAdapter } from './oauth/provider-adapters.ts'
import { followResourceServers } from './resource-servers/follow-resource-servers.ts'
import { signInRoutes } from './sign-in/sign-in-routes.ts'
import { MIGRATIONS, openStores, type StoreOptions, type Stores } from './stores.ts'
import { startUpkeep } from './upkeep.ts'

/** What the process provides beside its settings: clock, log, and overrides for tests. */
export interface RuntimeDependencies extends Omit<StoreOptions, 'events'> {
  /** Called with one line per mail, including its link, when mail is written to files. */
  readonly announce?: (line: string) => void
  /** How client documents are fetched, for tests; by DNS and with the authorities that Node trusts when absent. */
  readonly documents?: Pick<DocumentFetcherOptions, 'ca' | 'resolve'>
  /** Finds apps, and builds the pages of their sign-ins, for tests. */
  readonly apps?: { find: FindAppClient; signIn?(interactions: Interactions, stores: Stores): RawRoute[] }
}

/**
 * Opens the stores, starts background work and builds the three applications. Disposing the result stops and closes
 * all of it.
 *
 * @throws when a store is unavailable or there is no usable signing key
 */
export async function openAuth(config: Config, runtime: RuntimeDependencies) {
  const { log, now, announce = () => undefined } = runtime
  const { hashKey, sealingKeys } = config
  const urls = serviceUrls(config.origin)
  await using opening = new AsyncDisposableStack()
  const events = createEvents()
  logSecurityEvents(events, log)
  const metrics = openMetrics(events, config.chatHosts)
  const tracing = opening.use(
    await openTracing({ url: config.otlpUrl, service: 'plainpath-auth', version: API_VERSION, log }),
  )

  const stores = opening.use(await openStores(config, { ...runtime, events }))
  const { db, redis, agents, cachedAgents, claims, claimAttempts } = stores
  await db.openReserved()
  poolMetrics(metrics, db)
  const clock = opening.use(watchClock({ storeTime: () => databaseTime(db), log, onSkew: metrics.clockSkew }))
  const limiter = createLimiter({
    store: redis ? sharedLimits(redis, stores.redisPrefix, now) : memoryLimitStore(now),
    factor: config.limitsFactor,
    now,
    log,
    onDecision: metrics.limited,
  })

  // Background work, which runs until the server is disposed.
  opening.use(await stores.revoker.followMark())
  opening.use(startUpkeep(config, { stores, metrics, events, log, now }))
  const resourceServers = opening.use(
    await followResourceServers({
      first: config.resourceServers,
      file: config.resourceServersFile,
      followers: stores.resourceServerFollowers,
      reportMs: config.keys.pollMs,
      metrics,
      log,
    }),
  )
  const signing = opening.use(
    await openKeyFollower({
      ...config.keys,
      keys: stores.keys,
      followers: stores.keyFollowers,
      log,
      onStatus: keyMetrics(metrics),
    }),
  )
  const channels = { agents_changed: cachedAgents.forget, key_ring_changed: signing.pollSoon }
  const onReconnected = () => {
    cachedAgents.forgetAll()
    signing.pollSoon()
  }
  opening.use(await listen(config.databaseUrl, channels, { onReconnected, log }))
  opening.use(
    openMailer({
      databaseUrl: config.databaseUrl,
      db,
      sealingKeys,
      hashKey,
      transport: mailTransport(config.mail, announce),
      from: config.mail.from,
      handlers: claimMailHandlers({ attempts: claimAttempts, now }),
      caps: scaledMailCaps(config.limitsFactor),
      log,
      metrics,
      now,
    }),
  )

  const { chatHosts } = config
  const fetching: DocumentFetcherOptions = {
    ...runtime.documents,
    testHosts: config.clientDocumentTestHosts,
    now,
    onOutcome: (outcome) => events.emit('document-fetched', { outcome }),
  }
  const fetchDocument = documentSource(openDocumentFetcher(fetching).fetch, now)
  // A fetcher of its own, so that made-up apps leave agents their bounds.
  const fetchAppDocument = openFetcher(readAppDocument(chatHosts, now), fetching).fetch
  const findAppClient: FindAppClient =
    runtime.apps?.find ??
    appClientFinder({ ...stores, fetchDocument: fetchAppDocument, chatHosts, limiter, now })
  // Without a synchronised clock, neither the expiry of assertions nor that of old secrets can be judged.
  const authenticateBy = (find: AuthenticateClientDeps['find']): AuthenticateClient => {
    const authenticate = authenticateClient({
      find,
      findExpired: (id) => findExpiredAgent(db, id, now()),
      findUrlClient: urlClientFinder({ ...stores, fetchDocument, limiter, now }, find),
      usedJtis: stores.usedJtis,
      issuer: config.origin,
      hashKey,
      limiter,
      now,
    })
    return (...request) => withSynchronisedClock(clock, () => authenticate(...request))
  }
  /** Uses this process's cache of agents. */
  const authenticate = authenticateBy(cachedAgents.find)
  /** Reads PostgreSQL, for requests that change an agent: a secret that was just removed must not work there. */
  const authenticateUncached = authenticateBy(agents.find)

  const internalClientSecret = createInternalClientSecret()
  const dpopNonceSecret = hashKey.deriveKey('dpop-nonce')
  const cookieKey = hashKey.deriveKey('cookies').toString('base64url')
  const marks = useMarks({ cachedAgents, agents, now })
  const { connections, oauthRecords } = stores
  const models: Record<string, ReturnType<typeof readOnlyAdapter>> = {
    Client: clientAdapter(cachedAgents.find, resourceServers.current),
    ClientCredentials: tokenAdapter(stores, {
      marks,
      events,
      authenticatedGeneration,
      bindContact: (id, generation) => bindContact(stores, id, generation),
    }),
    ...appAdapters({ records: oauthRecords, connections, tokens: stores.tokens, marks, events, now }),
  }
  const provider = providerSlot(
    (ring) =>
      createProvider({
        internalClientSecret,
        dpopNonceSecret,
        useProof: stores.usedProofs.use,
        revocationMark: () => stores.revoker.mark,
        urls,
        adapter: (model) => models[model] ?? readOnlyAdapter(`this server never stores a ${model}`),
        ring,
        resourceServers: resourceServers.current,
        exchangeAssertion: (assertion, clientId) =>
          exchangeAssertion(
            { assertions: stores.identityAssertions, keys: signing.keys, issuer: urls.origin, now: now() },
            assertion,
            clientId,
          ),
        findPerson: async (claimId) => {
          const person = await claims.findPerson(claimId, now())
          return person && describePerson(person)
        },
        connections,
        limiter,
        cookieKey,
        now,
      }),
    signing.keys,
  )
  signing.start(provider.swap)

  const waiting = interactions({ ...stores, provider, findAppClient, urls, now })
  const signIn =
    runtime.apps?.signIn?.(waiting, stores) ??
    signInRoutes({ interactions: waiting, stores, hashKey, urls, limiter, events, chatHosts, now })

  const { limitsFactor } = config
  const routeDeps = { stores, hashKey, urls, signing, overlapMs: config.keys.overlapMs, limitsFactor, now }
  const documents = authDocuments(urls)
  const routes = [
    ...agentRoutes(routeDeps),
    ...claimRoutes(routeDeps),
    ...claimPageRoutes(routeDeps),
    ...assertionRoutes(routeDeps),
    ...documentRoutes(documents, { address: LIMITS.documents }),
  ]
  const oauth = {
    provider,
    urls,
    authenticate,
    findAppClient,
    authenticateApp: authenticateApp({ find: findAppClient, usedJtis: stores.usedJtis, urls, limiter, now }),
    internalClientSecret,
    resourceServers,
    signing,
    keySettings: config.keys,
    stores,
    marks,
    limiter,
    now,
  }
  const documentPaths = documents.map(({ path }) => path)
  const deps = {
    ...config,
    log,
    metrics,
    tracing,
    clock,
    limiter,
    db,
    authenticateUncached,
    routes,
    appRoutes: appRegistrationRoutes({ ...stores, chatHosts, events, now }),
    documentPaths,
    oauth,
    cookieKey,
    signIn,
  }
  const readiness = createReadiness({
    database: () => schemaIsCurrent(db, MIGRATIONS),
    keys: async () => signing.isReady(),
    clock: async () => clock.isSynchronised(),
    ...(redis && { redis: async () => (await redis.ping()) === 'PONG' }),
  })
  const details = () => ({ keys: signing.status, resource_servers: resourceServers.status() })
  const resources = opening.move()
  return {
    publicApp: publicApp(deps),
    surface: publicSurface(deps),
    internalApp: internalApp(deps),
    operationsApp: operationsApp({ readiness, registry: metrics.registry, details }),
    readiness,
    findAppClient,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
