import { describeStatus, summarizeFreshness } from '@plainpath/guides'
import {
  type Authenticators,
  createLimiter,
  createMetrics,
  createOperationsApp,
  createReadiness,
  type Log,
  listEndpoints,
  type RawRoute,
  type Readiness,
  type RequestHandler,
  type Route,
  registerPoolMetrics,
} from '@plainpath/http'
import type { Mailer } from '@plainpath/mail'
import { API_VERSION, createMcpEndpoints, createServiceUrls, type McpEndpoint } from '@plainpath/metadata'
import { openPool, type Pool } from '@plainpath/postgres'
import { REVOCATION, type RevocationOptions } from '@plainpath/revocation'
import { openTracing } from '@plainpath/tracing'
import type Koa from 'koa'
import { createAnswerMetrics } from './answers/answer-metrics.ts'
import { createAnswerRoutes } from './answers/answer-routes.ts'
import { type AnswerService, createAnswerService } from './answers/answer-service.ts'
import { createPublicHandler } from './app.ts'
import {
  createAuthorizationServerClient,
  type RequestAuthorizationServer,
} from './auth/authorization-server-client.ts'
import { createAuthorizationServerCheck } from './auth/authorization-server-keys.ts'
import { createBearerCheck, createCachedBearerCheck, createUseProof } from './auth/bearer.ts'
import type { Introspect } from './auth/introspection.ts'
import { createIntrospectionMetrics } from './auth/introspection-client.ts'
import { createVerifiedPersonFinder } from './auth/verified-person.ts'
import type { Config } from './config.ts'
import { createContactRoutes } from './contact/contact-routes.ts'
import { createOwnMessages } from './contact/own-messages.ts'
import { createSendMessage } from './contact/send-message.ts'
import type { GuideCatalog } from './guides/guide-catalog.ts'
import { createFeedRoute } from './guides/guide-feed.ts'
import { createGuideLister } from './guides/guide-listing.ts'
import { registerGuideMetrics } from './guides/guide-metrics.ts'
import { createEarlierGuideReader, createGuideResponses } from './guides/guide-responses.ts'
import { createGuideRoutes, type GuideDeps } from './guides/guide-routes.ts'
import { createSchemaCheck } from './health/current-schema.ts'
import { createHealthRoutes, createSharedCheck } from './health/health-routes.ts'
import { createMcpRoute, createPublicMcpRoute, createSignedInMcpRoutes } from './mcp/mcp-route.ts'
import type { McpDeps } from './mcp/mcp-server.ts'
import { createRequestStates } from './mcp/request-state.ts'
import { createTools } from './mcp/tools.ts'
import { createMetadataRoutes } from './metadata/metadata-routes.ts'
import { MIGRATIONS } from './migrations.ts'
import { createContactPageRoutes } from './pages/contact-page-routes.ts'
import { createPageRoutes } from './pages/page-routes.ts'
import { createWaitlistLinkRoutes } from './pages/waitlist-page-routes.ts'
import type { Retention } from './retention/start-retention.ts'
import { createJoinWaitlist } from './waitlist/join-waitlist.ts'
import { createWaitlistRoutes } from './waitlist/waitlist-routes.ts'
import { startBackgroundWork } from './wire/wire-background.ts'
import { createIntrospection, createSubscriber } from './wire/wire-introspection.ts'
import { openStores, type Stores } from './wire/wire-stores.ts'

/** The API before it listens. Disposing closes its connections. */
export interface Resource extends AsyncDisposable {
  /** Handles the requests of the public listener. */
  readonly handler: RequestHandler
  /** Every method and path of the main origin. */
  readonly publicEndpoints: readonly { readonly method: string; readonly path: string }[]
  readonly operationsApp: Koa
  readonly readiness: Readiness
  readonly mailer: Mailer
  readonly retention: Retention
}

export interface ResourceDeps {
  readonly log: Log
  readonly now: () => Date
  /** Called with one line, which contains the mail's link, for each mail that is written to a file instead of being sent. */
  readonly announce?: (line: string) => void
  /** The factor by which PostgreSQL may take longer than in production, for tests on a busy machine. */
  readonly databasePatience?: number
  /** The time-out for the authorization server; by default a second. */
  readonly introspectionTimeoutMs?: number | undefined
  /** The revocation channel and intervals that both apps share; by default `REVOCATION`. */
  readonly revocation?: RevocationOptions
}

/** Creates and connects every object of the API. The stores and the authorization server need not be available yet. */
export async function openResource(
  config: Config,
  {
    log,
    now,
    announce = () => undefined,
    databasePatience,
    introspectionTimeoutMs,
    revocation = REVOCATION,
  }: ResourceDeps,
): Promise<Resource> {
  await using cleanup = new AsyncDisposableStack()
  const urls = createServiceUrls(config.origin, config.mcpPublicOrigin)
  const tracing = cleanup.use(
    await openTracing({ url: config.otlpUrl, service: 'plainpath-resource', version: API_VERSION, log }),
  )
  const db = cleanup.use(
    openPool(config.databaseUrl, {
      applicationName: 'plainpath resource',
      log,
      patience: databasePatience,
      isPooled: config.isDatabasePooled,
    }),
  )
  const metrics = createMetrics('resource')
  registerPoolMetrics(metrics, db)
  const tokenMetrics = createIntrospectionMetrics(metrics)
  const stores = openStores(config, { db, log, now }, cleanup)
  const subscriber = config.redisUrl ? createSubscriber(revocation) : undefined
  const answers = createAnswerService({
    origin: urls.origin,
    metrics: createAnswerMetrics(metrics),
    now,
    log,
  })
  const onGuidesChanged = (catalog: GuideCatalog) => answers.prepare(catalog)
  const { clock, clientSecret, guides, mailer, retention } = await startBackgroundWork(
    config,
    { db, stores, subscriber, revocation, metrics, log, now, announce, onGuidesChanged },
    cleanup,
  )
  registerGuideMetrics(metrics.registry, guides)

  const requestServer = createAuthorizationServerClient(config.authUrls)
  const { introspect, introspectWithEmail, findCached } = createIntrospection(config, {
    requestServer,
    issuer: urls.origin,
    clientSecret,
    subscriber,
    metrics: tokenMetrics,
    now,
    timeoutMs: introspectionTimeoutMs,
  })
  const lister = createGuideLister(config.hashKey, urls)
  const guideResponses = createGuideResponses(urls)
  const guideDeps = {
    guides,
    readEarlierGuide: createEarlierGuideReader(db, now, guides),
    lister,
    guideResponses,
    urls,
  }
  const guideApi = createGuideRoutes(guideDeps)
  const bearer = createBearerCheck({ introspect, urls, clock, now })
  const { otherRoutes, publicMcpRoutes } = createRoutes(config, {
    db,
    stores,
    requestServer,
    introspectWithEmail,
    bearer,
    guideDeps,
    answers,
    now,
  })
  const routes = [...guideApi.routes, ...otherRoutes]
  const readiness = createReadiness({
    schema: createSchemaCheck(db, MIGRATIONS),
    guides: async () => guides.current().size > 0,
    clock: async () => clock.isSynchronised(),
  })
  const limiter = createLimiter({
    store: stores.limits,
    factor: config.limitsFactor,
    now,
    log,
    onDecision: metrics.countLimitDecision,
  })
  const resources = cleanup.move()
  return {
    handler: createPublicHandler({
      config,
      urls,
      guides,
      routes,
      publicMcpRoutes,
      fastPathOptions: {
        find: guideApi.findFastPathResponse,
        findCachedCaller: createCachedBearerCheck({ findCached, urls, clock, now }),
      },
      limiter,
      authenticators: {
        bearer,
        useProof: createUseProof({ usedProofs: stores.usedProofs, urls, clock }),
      },
      metrics,
      tracing,
      clock,
      log,
    }),
    publicEndpoints: listEndpoints(routes),
    operationsApp: createOperationsApp({
      readiness,
      registry: metrics.registry,
      pages: {
        '/guides': () => `${describeStatus(summarizeFreshness(guides.current().list().guides, now()))}\n`,
      },
    }),
    readiness,
    mailer,
    retention,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** Creates all routes except the guide routes, which the fast path also serves. */
function createRoutes(
  { corsOrigins, securityContact, hashKey }: Config,
  deps: {
    db: Pool
    stores: Stores
    requestServer: RequestAuthorizationServer
    introspectWithEmail: Introspect
    bearer: NonNullable<Authenticators['bearer']>
    guideDeps: GuideDeps
    answers: AnswerService
    now: () => Date
  },
): { otherRoutes: (Route | RawRoute)[]; publicMcpRoutes: Route[] } {
  const { db, requestServer, introspectWithEmail, bearer, guideDeps, answers, now } = deps
  const { waitlist, contact } = deps.stores
  const { guides, lister, guideResponses, urls } = guideDeps
  const joinWaitlist = createJoinWaitlist({ waitlist, urls, now })
  const findVerifiedPerson = createVerifiedPersonFinder({ introspectWithEmail, urls, now })
  const sendMessage = createSendMessage({ contact, findVerifiedPerson, now })
  const ownMessages = createOwnMessages({ contact, findVerifiedPerson, now })
  const tools = createTools({
    ...guideDeps,
    answers,
    joinWaitlist,
    sendMessage,
    ownMessages,
  })
  const requestStates = createRequestStates({ hashKey, now })
  const createMcpDeps = (endpoint: McpEndpoint): McpDeps => ({
    urls,
    endpoint,
    async loadRegisterTools() {
      const { createToolRegistrar } = await import('./mcp/register-tools.ts')
      return createToolRegistrar(tools, endpoint.tools, urls)
    },
    requestStates,
  })
  const endpoints = createMcpEndpoints(urls)
  const otherRoutes = [
    ...createHealthRoutes({
      countPublishedGuides: () => guides.current().size,
      checks: {
        database: createSharedCheck(() => db.query('select 1'), now),
        auth: createSharedCheck(createAuthorizationServerCheck(requestServer), now),
      },
      getAnswersState: answers.getState,
    }),
    ...createAnswerRoutes({ answers, guides }),
    createFeedRoute({ guides, urls }),
    ...createWaitlistRoutes({ joinWaitlist, waitlist, urls, now }),
    ...createWaitlistLinkRoutes({ waitlist, urls, now }),
    ...createContactRoutes({ sendMessage, ownMessages }),
    ...createContactPageRoutes({ contact, guides, urls, now }),
    createMcpRoute({ ...createMcpDeps(endpoints.agents), allowedOrigins: corsOrigins }),
    ...createSignedInMcpRoutes({ ...createMcpDeps(endpoints.signedIn), bearer }),
    ...createMetadataRoutes({
      urls,
      startedAt: now(),
      securityContact,
      listGuides: () => guides.current().list().guides,
    }),
    ...createPageRoutes({ guides, lister, guideResponses, joinWaitlist, answers, urls }),
  ]
  return {
    otherRoutes,
    publicMcpRoutes: endpoints.public ? [createPublicMcpRoute(createMcpDeps(endpoints.public))] : [],
  }
}
