import { loadGuides } from '@plainpath/guides'
import {
  createLimiter,
  createMetrics,
  createReadiness,
  type Log,
  memoryLimitStore,
  operationsApp,
  type Readiness,
} from '@plainpath/http'
import { serviceUrls } from '@plainpath/metadata'
import { openPool } from '@plainpath/postgres'
import type Koa from 'koa'
import { publicApp } from './app.ts'
import { authorizationServerKeys, requireAuthorizationServer } from './auth/authorization-server-keys.ts'
import { bearerCheck } from './auth/bearer.ts'
import { introspectionClient } from './auth/introspection-client.ts'
import type { Config } from './config.ts'
import { earlierGuides } from './guides/earlier-guides.ts'
import { followGuides } from './guides/follow-guides.ts'
import { guideCursors } from './guides/guide-cursor.ts'
import { feedRoute } from './guides/guide-feed.ts'
import { registerGuideMetrics } from './guides/guide-metrics.ts'
import { guideRoutes } from './guides/guide-routes.ts'
import { currentSchema } from './health/current-schema.ts'
import { healthRoutes } from './health/health-routes.ts'
import { sharedCheck } from './health/shared-check.ts'
import { openLimitStore } from './limits/open-limit-store.ts'
import { mcpRoute } from './mcp/mcp-route.ts'
import { metadataRoutes } from './metadata/metadata-routes.ts'
import { MIGRATIONS } from './migrations.ts'
import { pageRoutes } from './pages/page-routes.ts'
import { joinWaitlist } from './waitlist/join-waitlist.ts'
import { postgresWaitlistStore } from './waitlist/postgres-waitlist-store.ts'
import { waitlistRoutes } from './waitlist/waitlist-routes.ts'

/** The API, open but not listening. Disposing closes its connections. */
export interface Resource extends AsyncDisposable {
  readonly publicApp: Koa
  /** Every method and path that it answers. */
  readonly surface: readonly { readonly method: string; readonly path: string }[]
  readonly operationsApp: Koa
  readonly readiness: Readiness
}

/** Builds every object of the API once. Stores and the authorization server need not answer yet. */
export async function openResource(
  config: Config,
  { log, now }: { log: Log; now: () => Date },
): Promise<Resource> {
  await using opening = new AsyncDisposableStack()
  const urls = serviceUrls(config.origin)
  const metrics = createMetrics('resource')
  const db = opening.use(openPool(config.databaseUrl, { applicationName: 'plainpath resource', log }))
  const limits = config.redisUrl ? opening.use(openLimitStore(config.redisUrl, log)) : memoryLimitStore(now)
  const limiter = createLimiter({
    store: limits,
    factor: config.limitsFactor,
    now,
    log,
    onDecision: metrics.limited,
  })

  const { authUrl, clientId, clientSecret, hashKey, sealingKeys } = config
  const keys = authorizationServerKeys(authUrl)
  const introspect = introspectionClient({
    authUrl,
    issuer: urls.origin,
    clientId,
    clientSecret,
    keys,
    now,
    onFailure: metrics.counter(
      'authorization_server_failures_total',
      'Introspections without an answer that can be believed',
    ),
  })
  const guides = opening.use(
    await followGuides({ db, url: config.databaseUrl, packaged: loadGuides(), now, log }),
  )
  registerGuideMetrics(metrics.registry, guides)
  const waitlist = postgresWaitlistStore({ db, sealingKeys, hashKey })
  const join = joinWaitlist({ waitlist, now })
  const checks = {
    database: sharedCheck(() => db.query('select 1'), now),
    auth: sharedCheck(() => requireAuthorizationServer(authUrl), now),
  }
  const guideDeps = { guides, earlier: earlierGuides(db, now), cursors: guideCursors(hashKey), urls }
  const routes = [
    ...healthRoutes({ publishedGuides: () => guides.current().size, checks }),
    ...guideRoutes(guideDeps),
    feedRoute({ guides, urls }),
    ...waitlistRoutes({ joinWaitlist: join, urls }),
    mcpRoute({ ...guideDeps, joinWaitlist: join, allowedOrigins: config.corsOrigins }),
    ...metadataRoutes({
      origin: config.origin,
      startedAt: now(),
      guides: () => guides.current().list().guides,
      securityContact: config.securityContact,
    }),
    ...pageRoutes({ guides, joinWaitlist: join, urls }),
  ]
  const authenticators = { bearer: bearerCheck({ introspect, urls, now }) }
  const readiness = createReadiness({
    schema: currentSchema(db, MIGRATIONS),
    guides: async () => guides.current().size > 0,
  })
  const resources = opening.move()
  return {
    publicApp: publicApp({ config, urls, routes, limiter, authenticators, metrics, log }),
    surface: routes.map(({ method, path }) => ({ method: method.toUpperCase(), path })),
    operationsApp: operationsApp({ readiness, registry: metrics.registry }),
    readiness,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
