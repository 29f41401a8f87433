import { loadGuides } from '@plainpath/guides'
import { type Log, operationsApp, type Readiness, surfaceOf, watchClock } from '@plainpath/http'
import type { Mailer } from '@plainpath/mail'
import { API_VERSION, FEATURES, type Features, serviceUrls } from '@plainpath/metadata'
import { databaseTime, openPool } from '@plainpath/postgres'
import type { RevocationOptions } from '@plainpath/revocation'
import { openTracing } from '@plainpath/tracing'
import type Koa from 'koa'
import { publicHandler } from './app.ts'
import { askAuthorizationServer } from './auth/ask-authorization-server.ts'
import { bearerCheck, knownBearer } from './auth/bearer.ts'
import type { Config } from './config.ts'
import { earlierGuides } from './guides/earlier-guides.ts'
import { followGuides } from './guides/follow-guides.ts'
import { guideCursors } from './guides/guide-cursor.ts'
import { feedRoute } from './guides/guide-feed.ts'
import { registerGuideMetrics } from './guides/guide-metrics.ts'
import { guideRoutes } from './guides/guide-routes.ts'
import { mcpRoute } from './mcp/mcp-route.ts'
import { metadataRoutes } from './metadata/metadata-routes.ts'
import { pageRoutes } from './pages/page-routes.ts'
import type { Retention } from './retention/keep-retention.ts'
import { wireHealth } from './wire/wire-health.ts'
import { openIntrospection } from './wire/wire-introspection.ts'
import { wireLimiter } from './wire/wire-limiter.ts'
import { openMetrics } from './wire/wire-metrics.ts'
import { openPeople } from './wire/wire-people.ts'

/** The API, open but not listening. Disposing closes its connections. */
export interface Resource extends AsyncDisposable {
  /** What the public reaches. */
  readonly handler: ReturnType<typeof publicHandler>
  /** Every method and path that it answers. */
  readonly surface: readonly { readonly method: string; readonly path: string }[]
  readonly operationsApp: Koa
  readonly readiness: Readiness
  readonly mailer: Mailer
  readonly retention: Retention
}

export interface ResourceDeps {
  readonly log: Log
  readonly now: () => Date
  /** Gets a line with the link of each mail, where mail becomes files. */
  readonly announce?: (line: string) => void
  /** What runs; else what this version is made with. */
  readonly features?: Features
  /** How long the authorization server may take, where it is to be another time than a second. */
  readonly introspectionTimeoutMs?: number | undefined
  /** The revocation channel and intervals that both apps share; `REVOCATION` when absent. */
  readonly revocation?: RevocationOptions
}

/** Builds every object of the API once. Stores and the authorization server need not answer yet. */
export async function openResource(
  config: Config,
  { log, now, announce = () => undefined, features = FEATURES, ...deps }: ResourceDeps,
): Promise<Resource> {
  await using opening = new AsyncDisposableStack()
  const urls = serviceUrls(config.origin)
  const tracing = opening.use(
    await openTracing({ url: config.otlpUrl, service: 'plainpath-resource', version: API_VERSION, log }),
  )
  const db = opening.use(openPool(config.databaseUrl, { applicationName: 'plainpath resource', log }))
  const metrics = openMetrics(db)
  const clock = opening.use(watchClock({ storeTime: () => databaseTime(db), log, onSkew: metrics.clockSkew }))
  const limiter = wireLimiter(config, { metrics, log, now }, opening)

  const { hashKey } = config
  const askServer = askAuthorizationServer(config.authUrls)
  const { introspect, introspectWithEmail, known } = opening.use(
    openIntrospection(config, { ...deps, askServer, issuer: urls.origin, metrics, log, now, clock }),
  )
  const guides = opening.use(
    await followGuides({ db, url: config.databaseUrl, packaged: loadGuides(), now, log }),
  )
  registerGuideMetrics(metrics.registry, guides)
  const people = { db, introspectWithEmail, urls, log, metrics, now, announce }
  const { waitlist, contact, mailer, retention } = openPeople(config, people, opening)
  const { joinWaitlist } = waitlist
  const health = wireHealth({ db, askServer, guides, clock, now })
  const guideDeps = { guides, earlier: earlierGuides(db, now), cursors: guideCursors(hashKey), urls }
  const answersAboutGuides = guideRoutes(guideDeps)
  const routes = [
    ...health.routes,
    ...answersAboutGuides.routes,
    feedRoute({ guides, urls }),
    ...waitlist.routes,
    ...(features.contact ? contact.routes : []),
    mcpRoute({
      ...guideDeps,
      joinWaitlist,
      sendAs: contact.sendAs,
      features,
      allowedOrigins: config.corsOrigins,
    }),
    ...metadataRoutes({
      origin: config.origin,
      startedAt: now(),
      guides: () => guides.current().list().guides,
      securityContact: config.securityContact,
    }),
    ...pageRoutes({ guides, joinWaitlist, urls }),
  ]
  const authenticators = { bearer: bearerCheck({ introspect, urls, clock, now }) }
  const quick = { find: answersAboutGuides.quick, callerOf: knownBearer({ known, urls, now }) }
  const { readiness } = health
  const around = { metrics, tracing, clock, log }
  const resources = opening.move()
  return {
    handler: publicHandler({ ...around, config, urls, routes, quick, limiter, authenticators }),
    surface: surfaceOf(routes),
    operationsApp: operationsApp({ readiness, registry: metrics.registry }),
    readiness,
    mailer,
    retention,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
