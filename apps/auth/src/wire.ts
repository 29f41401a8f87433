import type { AgentId } from '@plainpath/domain'
import {
  createLimiter,
  createMetrics,
  createReadiness,
  memoryLimitStore,
  operationsApp,
  redisLimitStore,
} from '@plainpath/http'
import { serviceUrls } from '@plainpath/metadata'
import { listen, schemaIsCurrent } from '@plainpath/postgres'
import { agentRoutes } from './agents/agent-routes.ts'
import { registerAgent } from './agents/register-agent.ts'
import { internalApp, publicApp, publicSurface } from './app.ts'
import { authenticateClient, invalidClient } from './clients/authenticate-client.ts'
import type { Config } from './config.ts'
import { openKeyFollower } from './keys/key-follower.ts'
import { keyMetrics } from './keys/key-metrics.ts'
import { limitRedis } from './limit-redis.ts'
import { FAILED_AUTHENTICATION, LIMITS } from './limits.ts'
import { metadataRoutes } from './metadata/metadata-routes.ts'
import { clientAdapter } from './oauth/client-adapter.ts'
import { createProvider } from './oauth/create-provider.ts'
import { providerSlot } from './oauth/provider-slot.ts'
import { readOnlyAdapter, tokenAdapter } from './oauth/token-adapter.ts'
import { MIGRATIONS, openStores, type Surroundings } from './wire-stores.ts'

/** Builds every object of the server once. It does not listen; `serve.ts` does. */
// oxlint-disable-next-line max-lines-per-function -- a list of all objects reads best in one piece
export async function openAuth(config: Config, surroundings: Surroundings) {
  const { log, now } = surroundings
  await using opening = new AsyncDisposableStack()
  const stores = opening.use(await openStores(config, surroundings))
  const { db, redis, agents } = stores
  const urls = serviceUrls(config.origin)
  const metrics = createMetrics('auth')
  const limitStore = redis ? redisLimitStore(limitRedis(redis), stores.redisPrefix) : memoryLimitStore(now)
  const limiter = createLimiter({
    store: limitStore,
    factor: config.limitsFactor,
    now,
    log,
    onDecision: metrics.limited,
  })
  const { hashKey, resourceServers } = config
  const authenticate = authenticateClient({
    find: agents.find,
    hashKey,
    limiter,
    failures: FAILED_AUTHENTICATION,
    now,
  })

  const active = async (id: AgentId) => (await agents.find(id))?.agent
  const generationOf = async (id: AgentId) => {
    const agent = await active(id)
    return agent?.status === 'active' ? agent.generation : undefined
  }
  const models: Record<string, ReturnType<typeof readOnlyAdapter>> = {
    Client: clientAdapter({ find: agents.find, resourceServers }),
    ClientCredentials: tokenAdapter({ tokens: stores.tokens, generationOf }),
  }
  const adapter = (model: string) => models[model] ?? readOnlyAdapter(`no ${model} is ever made here`)
  const signing = opening.use(
    await openKeyFollower({ ...config.keys, ...stores, log, onStatus: keyMetrics(metrics) }),
  )
  const provider = providerSlot(
    (next) => createProvider({ urls, adapter, ring: next, hashKey, resourceServers }),
    signing.keys,
  )
  signing.start(provider.swap)
  const channels = { agents_changed: agents.forget, key_ring_changed: signing.hear }
  const onReconnected = () => {
    agents.forgetAll()
    signing.hear()
  }
  opening.use(await listen(config.databaseUrl, channels, { onReconnected, log }))

  const limits = { ...LIMITS, manage: LIMITS.address, factor: config.limitsFactor }
  const register = registerAgent({ agents: stores.store, hashKey, now })
  const routes = [
    ...agentRoutes({
      registerAgent: register,
      endAgent: stores.endAgent,
      noSuchClient: () => invalidClient(),
      agents,
      urls,
      limits,
    }),
    ...metadataRoutes({ origin: config.origin, limits: LIMITS.documents }),
  ]
  const oauth = {
    provider,
    signing: { ...config.keys, requireCurrent: signing.requireCurrent },
    resource: urls.base,
    authenticate,
    resourceServers,
    limiter,
    limits,
  }
  const deps = { ...config, log, metrics, limiter, authenticate, routes, oauth }
  const readiness = createReadiness({
    database: () => schemaIsCurrent(db, MIGRATIONS),
    keys: async () => signing.isSound(),
    ...(redis && { redis: async () => (await redis.ping()) === 'PONG' }),
  })
  const resources = opening.move()
  return {
    publicApp: publicApp(deps),
    surface: publicSurface(deps),
    internalApp: internalApp(deps),
    operationsApp: operationsApp({
      readiness,
      registry: metrics.registry,
      details: () => ({ keys: signing.status }),
    }),
    readiness,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
