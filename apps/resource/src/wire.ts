import { describeStatus, freshnessStatus } from '@plainpath/guides'
import {
  type Authenticators,
  createLimiter,
  createMetrics,
  createReadiness,
  type Log,
  listEndpoints,
  operationsApp,
  poolMetrics,
  type RawRoute,
  type Readiness,
  type Route,
} from '@plainpath/http'
import type { Mailer } from '@plainpath/mail'
import { API_VERSION, type McpEndpoint, mcpEndpoints, serviceUrls } from '@plainpath/metadata'
import { openPool, type Pool } from '@plainpath/postgres'
import { REVOCATION, type RevocationOptions } from '@plainpath/revocation'
import { openTracing } from '@plainpath/tracing'
import type Koa from 'koa'
import { answerMetrics } from './answers/answer-metrics.ts'
import { answerRoutes } from './answers/answer-routes.ts'
import { type AnswerService, answerService } from './answers/answer-service.ts'
import { publicHandler } from './app.ts'
import {
  authorizationServerClient,
  type RequestAuthorizationServer,
} from './auth/authorization-server-client.ts'
import { requireAuthorizationServer } from './auth/authorization-server-keys.ts'
import { bearerCheck, cachedBearer, proofUse, verifiedPerson } from './auth/bearer.ts'
import type { Introspect } from './auth/introspection.ts'
import { introspectionMetrics } from './auth/introspection-client.ts'
import type { Config } from './config.ts'
import { contactRoutes } from './contact/contact-routes.ts'
import { ownMessages } from './contact/own-messages.ts'
import { sendMessage } from './contact/send-message.ts'
import type { GuideCatalog } from './guides/guide-catalog.ts'
import { feedRoute } from './guides/guide-feed.ts'
import { guideLister } from './guides/guide-listing.ts'
import { registerGuideMetrics } from './guides/guide-metrics.ts'
import { earlierGuides, guideResponses } from './guides/guide-responses.ts'
import { type GuideDeps, guideRoutes } from './guides/guide-routes.ts'
import { currentSchema } from './health/current-schema.ts'
import { healthRoutes, sharedCheck } from './health/health-routes.ts'
import { mcpRoute, publicMcpRoute, signedInMcpRoutes } from './mcp/mcp-route.ts'
import type { McpDeps } from './mcp/mcp-server.ts'
import { registerTools } from './mcp/register-tools.ts'
import { requestStates } from './mcp/request-state.ts'
import { mcpTools } from './mcp/tools.ts'
import { metadataRoutes } from './metadata/metadata-routes.ts'
import { MIGRATIONS } from './migrations.ts'
import { contactPageRoutes } from './pages/contact-page-routes.ts'
import { pageRoutes } from './pages/page-routes.ts'
import { waitlistLinkRoutes } from './pages/waitlist-page-routes.ts'
import type { Retention } from './retention/start-retention.ts'
import { joinWaitlist } from './waitlist/join-waitlist.ts'
import { waitlistRoutes } from './waitlist/waitlist-routes.ts'
import { startBackgroundWork } from './wire/wire-background.ts'
import { createIntrospection, createSubscriber } from './wire/wire-introspection.ts'
import { openStores, type Stores } from './wire/wire-stores.ts'

/** The API before it listens. Disposing closes its connections. */
export interface Resource extends AsyncDisposable {
  /** Handles the requests of the public listener. */
  readonly handler: ReturnType<typeof publicHandler>
  /** Every public method and path. */
  readonly surface: readonly { readonly method: string; readonly path: string }[]
  readonly operationsApp: Koa
  readonly readiness: Readiness
  readonly mailer: Mailer
  readonly retention: Retention
}

export interface ResourceDeps {
  readonly log: Log
  readonly now: () => Date
  /** Receives a line with the link of each mail that is written to a file instead of being sent. */
  readonly announce?: (line: string) => void
  /** How many times longer than in production PostgreSQL may take: for tests on a busy machine. */
  readonly databasePatience?: number
  /** How long to wait for the authorization server; a second when absent. */
  readonly introspectionTimeoutMs?: number | undefined
  /** The revocation channel and intervals that both apps share; `REVOCATION` when absent. */
  readonly revocation?: RevocationOptions
}

/**
 * Creates every object of the API, once, and connects them. Stores and the authorization server need not be available yet.
 * What each object does is decided in its own module.
 */
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
  await using opening = new AsyncDisposableStack()
  const urls = serviceUrls(config.origin, config.mcpPublicOrigin)
  const tracing = opening.use(
    await openTracing({ url: config.otlpUrl, service: 'plainpath-resource', version: API_VERSION, log }),
  )
  const db = opening.use(
    openPool(config.databaseUrl, { applicationName: 'plainpath resource', log, patience: databasePatience }),
  )
  const metrics = createMetrics('resource')
  poolMetrics(metrics, db)
  const tokenMetrics = introspectionMetrics(metrics)
  const stores = openStores(config, { db, log, now }, opening)
  const subscriber = config.redisUrl ? createSubscriber(revocation) : undefined
  const answers = answerService({ origin: urls.origin, metrics: answerMetrics(metrics), now, log })
  const onGuides = (catalog: GuideCatalog) => answers.prepare(catalog)
  const { clock, clientSecret, guides, mailer, retention } = await startBackgroundWork(
    config,
    { db, stores, subscriber, revocation, metrics, tokenMetrics, log, now, announce, onGuides },
    opening,
  )
  registerGuideMetrics(metrics.registry, guides)

  const requestServer = authorizationServerClient(config.authUrls)
  const { introspect, introspectWithEmail, findCached } = createIntrospection(config, {
    requestServer,
    issuer: urls.origin,
    clientSecret,
    subscriber,
    metrics: tokenMetrics,
    now,
    timeoutMs: introspectionTimeoutMs,
  })
  const lister = guideLister(config.hashKey, urls)
  const forms = guideResponses(urls)
  const guideDeps = { guides, earlier: earlierGuides(db, now, guides), lister, forms, urls }
  const guideApi = guideRoutes(guideDeps)
  const bearer = bearerCheck({ introspect, urls, clock, now })
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
    schema: currentSchema(db, MIGRATIONS),
    guides: async () => guides.current().size > 0,
    clock: async () => clock.isSynchronised(),
  })
  const limiter = createLimiter({
    store: stores.limits,
    factor: config.limitsFactor,
    now,
    log,
    onDecision: metrics.limited,
  })
  const resources = opening.move()
  return {
    handler: publicHandler({
      config,
      urls,
      guides,
      routes,
      publicMcpRoutes,
      fastPathOptions: {
        find: guideApi.findPrepared,
        cachedCaller: cachedBearer({ findCached, urls, clock, now }),
      },
      limiter,
      authenticators: {
        bearer,
        useProof: proofUse({ usedProofs: stores.usedProofs, urls, clock }),
      },
      metrics,
      tracing,
      clock,
      log,
    }),
    surface: listEndpoints(routes),
    operationsApp: operationsApp({
      readiness,
      registry: metrics.registry,
      pages: {
        '/guides': () => `${describeStatus(freshnessStatus(guides.current().list().guides, now()))}\n`,
      },
    }),
    readiness,
    mailer,
    retention,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** Creates all routes except those of the guides, which the fast path serves too. */
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
  const { guides, lister, forms, urls } = guideDeps
  const join = joinWaitlist({ waitlist, urls, now })
  const person = verifiedPerson({ introspectWithEmail, urls, now })
  const send = sendMessage({ contact, verifiedPerson: person, now })
  const own = ownMessages({ contact, now })
  const tools = mcpTools({ ...guideDeps, answers, joinWaitlist: join, sendMessage: send, ownMessages: own })
  const states = requestStates({ hashKey, now })
  const mcpDeps = (endpoint: McpEndpoint): McpDeps => ({
    urls,
    endpoint,
    registerTools: registerTools(tools, endpoint.tools, urls),
    requestStates: states,
  })
  const endpoints = mcpEndpoints(urls)
  const otherRoutes = [
    ...healthRoutes({
      publishedGuides: () => guides.current().size,
      checks: {
        database: sharedCheck(() => db.query('select 1'), now),
        auth: sharedCheck(requireAuthorizationServer(requestServer), now),
      },
      answers: answers.state,
    }),
    ...answerRoutes({ answers, guides }),
    feedRoute({ guides, urls }),
    ...waitlistRoutes({ joinWaitlist: join, waitlist, urls, now }),
    ...waitlistLinkRoutes({ waitlist, urls, now }),
    ...contactRoutes({ sendMessage: send, ownMessages: own }),
    ...contactPageRoutes({ contact, guides, urls, now }),
    mcpRoute({ ...mcpDeps(endpoints.agents), allowedOrigins: corsOrigins }),
    ...signedInMcpRoutes({ ...mcpDeps(endpoints.signedIn), bearer }),
    ...metadataRoutes({
      urls,
      startedAt: now(),
      securityContact,
      guides: () => guides.current().list().guides,
    }),
    ...pageRoutes({ guides, lister, forms, joinWaitlist: join, answers, urls }),
  ]
  return { otherRoutes, publicMcpRoutes: endpoints.public ? [publicMcpRoute(mcpDeps(endpoints.public))] : [] }
}
