import { type AgentId, ANONYMOUS_SCOPES } from '@plainpath/domain'
import {
  createLimiter,
  createMetrics,
  createReadiness,
  type Log,
  memoryLimitStore,
  operationsApp,
  redisLimitStore,
} from '@plainpath/http'
import { serviceUrls } from '@plainpath/metadata'
import { listen, schemaIsCurrent } from '@plainpath/postgres'
import { agentRoutes } from './agents/agent-routes.ts'
import { registerAgent } from './agents/register-agent.ts'
import { internalApp, publicApp } from './app.ts'
import { authenticateClient } from './clients/authenticate-client.ts'
import type { Config } from './config.ts'
import { keyRing } from './keys/key-ring.ts'
import { FAILED_AUTHENTICATION, LIMITS } from './limits.ts'
import { metadataRoutes } from './metadata/metadata-routes.ts'
import { clientAdapter } from './oauth/client-adapter.ts'
import { createProvider } from './oauth/create-provider.ts'
import { providerSlot } from './oauth/provider-slot.ts'
import { readOnlyAdapter, tokenAdapter } from './oauth/token-adapter.ts'
import { MIGRATIONS, openStores, REDIS_PREFIX } from './wire-stores.ts'

/** Builds every object of the server once. It does not listen; `serve.ts` does. */
export async function openAuth(config: Config, { log, now }: { log: Log; now: () => Date }) {
  await using opening = new AsyncDisposableStack()
  const stores = opening.use(await openStores(config, { log, now }))
  const { db, redis, agents } = stores
  const onReconnected = agents.forgetAll
  opening.use(await listen(config.databaseUrl, { agents_changed: agents.forget }, { onReconnected, log }))

  const urls = serviceUrls(config.origin)
  const metrics = createMetrics('auth')
  const setIfAbsent = (key: string, value: string, seconds: number) =>
    redis?.set(key, value, 'EX', seconds, 'NX') as Promise<unknown>
  const limitStore = redis
    ? redisLimitStore({ client: redis, get: (key) => redis.get(key), setIfAbsent }, REDIS_PREFIX)
    : memoryLimitStore(now)
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
  const ring = keyRing(await stores.keys.read())
  const provider = providerSlot(
    (next) => createProvider({ urls, adapter, ring: next, hashKey, resourceServers }),
    ring,
  )

  const limits = { ...LIMITS, manage: LIMITS.address, factor: config.limitsFactor }
  const register = registerAgent({ agents: stores.store, hashKey, now })
  const routes = [
    ...agentRoutes({ registerAgent: register, endAgent: stores.endAgent, agents, urls, limits }),
    ...metadataRoutes({ origin: config.origin, scopes: ANONYMOUS_SCOPES, limits: LIMITS.documents }),
  ]
  const oauth = { provider, authenticate, resourceServers, limiter, limits }
  const deps = { ...config, log, metrics, limiter, authenticate, routes, oauth }
  const readiness = createReadiness({
    database: () => schemaIsCurrent(db, MIGRATIONS),
    ...(redis && { redis: async () => (await redis.ping()) === 'PONG' }),
  })
  const resources = opening.move()
  return {
    publicApp: publicApp(deps),
    internalApp: internalApp(deps),
    operationsApp: operationsApp({ readiness, registry: metrics.registry }),
    readiness,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
