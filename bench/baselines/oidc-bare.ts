import { Redis } from 'ioredis'
import Provider, { type Adapter, type AdapterPayload } from 'oidc-provider'
import { listen, readSetting } from './recorded-responses.ts'

// This baseline runs oidc-provider as its documentation shows, with one Redis key for each token and one static client. It adds
// one rate limit.

/** Higher than the bench's rate, so the baseline counts requests but refuses none. */
const MAX_REQUESTS_PER_MINUTE = 100_000_000

const redis = new Redis(readSetting('BENCH_REDIS_URL'), { keyPrefix: 'bare:' })

/**
 * Stores the records of oidc-provider as JSON, with the expiry that oidc-provider requests. The client credentials grant does not
 * need the empty methods.
 */
class RedisAdapter implements Adapter {
  readonly #model: string

  constructor(model: string) {
    this.#model = model
  }
  #buildKey = (id: string) => `${this.#model}:${id}`

  async upsert(id: string, payload: AdapterPayload, expiresIn: number): Promise<void> {
    await redis.set(this.#buildKey(id), JSON.stringify(payload), 'EX', expiresIn)
  }
  async find(id: string): Promise<AdapterPayload | undefined> {
    const json = await redis.get(this.#buildKey(id))
    return json === null ? undefined : (JSON.parse(json) as AdapterPayload)
  }
  async destroy(id: string): Promise<void> {
    await redis.del(this.#buildKey(id))
  }
  async findByUserCode(): Promise<undefined> {}
  async findByUid(): Promise<undefined> {}
  async consume(): Promise<void> {}
  async revokeByGrantId(): Promise<void> {}
}

/** Counts a request in a window of one minute, and returns how many requests the window has so far. */
const COUNT_REQUEST = `
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], 60000) end
return count`

const provider = new Provider('http://localhost:8080', {
  adapter: RedisAdapter,
  clients: [
    {
      client_id: readSetting('BENCH_CLIENT_ID'),
      client_secret: readSetting('BENCH_CLIENT_SECRET'),
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    },
  ],
  scopes: ['guides:read', 'waitlist:write'],
  ttl: { ClientCredentials: 3600 },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
  },
})
provider.use(async (ctx, next) => {
  const requestCount = Number(await redis.eval(COUNT_REQUEST, 1, `limit:${ctx.ip}`))
  if (requestCount > MAX_REQUESTS_PER_MINUTE) ctx.throw(429)
  await next()
})
listen(provider)
