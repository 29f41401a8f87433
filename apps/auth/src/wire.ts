import { createReadiness, operationsApp, watchClock } from '@plainpath/http'
import { API_VERSION, FEATURES, serviceUrls } from '@plainpath/metadata'
import { databaseTime, listen, schemaIsCurrent } from '@plainpath/postgres'
import { openTracing } from '@plainpath/tracing'
import { internalApp, publicApp, publicSurface } from './app.ts'
import { assertionRoutes } from './assertions/assertion-routes.ts'
import { invalidClient } from './clients/authenticate-client.ts'
import type { Config } from './config.ts'
import { openKeyFollower } from './keys/key-follower.ts'
import { LIMITS } from './limits.ts'
import { metadataRoutes } from './metadata/metadata-routes.ts'
import { securityEventTeller } from './security-events.ts'
import type { Surroundings } from './surroundings.ts'
import { wireAgentLife } from './wire/wire-agent-life.ts'
import { wireAgents } from './wire/wire-agents.ts'
import { openClaims } from './wire/wire-claims.ts'
import { wireClients } from './wire/wire-clients.ts'
import { wireLimiter } from './wire/wire-limiter.ts'
import { openMetrics } from './wire/wire-metrics.ts'
import { wireOAuth } from './wire/wire-oauth.ts'
import { wireResourceServers } from './wire/wire-resource-servers.ts'
import { MIGRATIONS, openStores } from './wire/wire-stores.ts'
import { withSecurityEvents } from './with-security-events.ts'

/** Builds every object of the server once. It does not listen; `serve.ts` does. */
export async function openAuth(config: Config, surroundings: Surroundings) {
  const { log, now, features = FEATURES, announce = () => undefined } = surroundings
  await using opening = new AsyncDisposableStack()
  const metrics = openMetrics()
  const tracing = opening.use(
    await openTracing({ url: config.otlpUrl, service: 'plainpath-auth', version: API_VERSION, log }),
  )
  const tell = securityEventTeller(log)
  const told = { tell, onAnnounced: metrics.onAnnounced, onSwept: metrics.swept }
  const opened = opening.use(await openStores(config, { ...surroundings, ...told }))
  const stores = withSecurityEvents(opened, tell)
  const { db, redis, agents } = stores
  await db.openReserved()
  const clock = opening.use(watchClock({ storeTime: () => databaseTime(db), log, onSkew: metrics.clockSkew }))
  const urls = serviceUrls(config.origin)
  const limiter = wireLimiter(config, { ...stores, metrics, log, now })
  const resourceServers = opening.use(await wireResourceServers(config, { ...stores, metrics, log }))
  const { authenticate, authenticateAnew } = wireClients({ config, stores, limiter, clock, now })

  const signing = opening.use(
    await openKeyFollower({ ...config.keys, ...stores, log, onStatus: metrics.onKeyStatus }),
  )
  const { provider, vouch, clientExpiry, ...assertions } = wireOAuth({
    config,
    stores,
    signing,
    resourceServers: resourceServers.current,
    urls,
    features,
    onIssued: metrics.onIssued,
    now,
  })
  metrics.watchPool(db)
  const channels = { agents_changed: agents.forget, key_ring_changed: signing.hear }
  const onReconnected = () => {
    agents.forgetAll()
    signing.hear()
  }
  opening.use(await listen(config.databaseUrl, channels, { onReconnected, log }))

  const limits = { ...LIMITS, manage: LIMITS.address }
  const noSuchClient = () => invalidClient()
  const around = { stores, agents, noSuchClient, urls, log, metrics, now, announce }
  const claims = features.verifiedEmail && opening.use(openClaims(config, { ...around, ...assertions }))
  opening.use(wireAgentLife(config, { stores, metrics, log, now }))
  const routes = [
    ...wireAgents(config, { stores, ...assertions, noSuchClient, urls, now }),
    ...(claims ? [...claims.routes, ...assertionRoutes({ ...assertions, limits })] : []),
    ...metadataRoutes({ origin: config.origin, features, limits: LIMITS.documents }),
  ]
  const oauth = {
    provider,
    signing: { ...config.keys, requireCurrent: signing.requireCurrent, isCurrent: signing.isCurrent },
    resource: urls.base,
    authenticate,
    vouch,
    resourceServers,
    revokeToken: stores.tokens.revoke,
    announceEnd: (hash: string) => stores.announceEnd({ kind: 'token', hash }),
    clientExpiry,
    limiter,
    limits: LIMITS,
  }
  const deps = { ...config, log, metrics, tracing, clock, limiter, db, authenticateAnew, routes, oauth }
  const readiness = createReadiness({
    database: () => schemaIsCurrent(db, MIGRATIONS),
    keys: async () => signing.isSound(),
    clock: async () => clock.isSound(),
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
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
