import { Redis } from 'ioredis'
import Provider, { type Adapter, type AdapterPayload } from 'oidc-provider'
import { listen, setting } from './recorded-responses.ts'

/** oidc-provider as in its documentation: one Redis key for each token, one static client, one limit. */
const redis = new Redis(setting('BENCH_REDIS_URL'), { keyPrefix: 'bare:' })

class RedisAdapter implements Adapter {
  readonly #model: string

  constructor(model: string) {
    this.#model = model
  }
  #key = (id: string) => `${this.#model}:${id}`

  async upsert(id: string, payload: AdapterPayload, expiresIn: number): Promise<void> {
    await redis.set(this.#key(id), JSON.stringify(payload), 'EX', expiresIn)
  }
  async find(id: string): Promise<AdapterPayload | undefined> {
    const text = await redis.get(this.#key(id))
    return text === null ? undefined : (JSON.parse(text) as AdapterPayload)
  }
  async destroy(id: string): Promise<void> {
    await redis.del(this.#key(id))
  }
  async findByUserCode(): Promise<undefined> {}
  async findByUid(): Promise<undefined> {}
  async consume(): Promise<void> {}
  async revokeByGrantId(): Promise<void> {}
}

const TAKE = `
local used = redis.call('INCR', KEYS[1])
if used == 1 then redis.call('PEXPIRE', KEYS[1], 60000) end
return used`

const provider = new Provider('http://localhost:8080', {
  adapter: RedisAdapter,
  clients: [
    {
      client_id: setting('BENCH_CLIENT_ID'),
      client_secret: setting('BENCH_CLIENT_SECRET'),
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
  const used = Number(await redis.eval(TAKE, 1, `limit:${ctx.ip}`))
  if (used > 100_000_000) ctx.throw(429)
  await next()
})
listen(provider)
