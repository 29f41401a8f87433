import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { GenerationOf, TokenHash, TokenRecord, TokenStore } from './token-store.ts'

const Stored = z
  .string()
  .transform((text) => JSON.parse(text) as unknown)
  .pipe(
    z.object({
      client: z.string(),
      generation: z.int(),
      scope: z.string(),
      audience: z.string(),
      issued: z.int(),
      expires: z.int(),
    }),
  )
const Found = z.tuple([Stored, z.coerce.number().int().nullable()]).nullable()

/** Longer than any token lives, so that a number is never forgotten while a token that it ended could be found. */
const GENERATION_TTL_SECONDS = 2 * 3600

/** One round trip: the token, and the mirrored generation of the client it names. */
const FIND = `
local token = redis.call('GET', KEYS[1])
if not token then return false end
return { token, redis.call('GET', ARGV[1] .. cjson.decode(token)['client']) }`

/** The mirror only ever rises, whatever order the writers come in. */
const RAISE = `
local known = tonumber(redis.call('GET', KEYS[1]) or '0')
redis.call('SET', KEYS[1], math.max(known, tonumber(ARGV[1])), 'EX', ARGV[2])
return math.max(known, tonumber(ARGV[1]))`

/**
 * Tokens in Redis, each with its time to live. Beside them stands a mirror of the clients' generations; where it has
 * no entry (Redis was flushed, the entry expired) the authority is asked, and a client it does not know has no token.
 *
 * @param prefix of every key, such as `auth:`
 */
export function redisTokenStore(
  redis: Redis,
  deps: { prefix: string; generationOf: GenerationOf; now: () => Date },
): TokenStore {
  const tokenKey = (hash: TokenHash) => `${deps.prefix}token:${hash.toString('base64url')}`
  const generationPrefix = `${deps.prefix}generation:`

  async function raise(clientId: string, generation: number): Promise<number> {
    return Number(await redis.eval(RAISE, 1, generationPrefix + clientId, generation, GENERATION_TTL_SECONDS))
  }

  async function mirrorFromAuthority(clientId: string): Promise<number | undefined> {
    const generation = await deps.generationOf(clientId)
    return generation === undefined ? undefined : raise(clientId, generation)
  }

  return {
    async save(hash, token) {
      const stored = {
        client: token.clientId,
        generation: token.generation,
        scope: token.scope,
        audience: token.audience,
        issued: token.issuedAt.getTime(),
        expires: token.expiresAt.getTime(),
      }
      await redis.set(tokenKey(hash), JSON.stringify(stored), 'PXAT', stored.expires)
    },
    async find(hash) {
      const found = Found.parse(await redis.eval(FIND, 1, tokenKey(hash), generationPrefix))
      if (!found) return undefined
      const [stored, mirrored] = found
      const generation = mirrored ?? (await mirrorFromAuthority(stored.client))
      if (generation !== stored.generation || stored.expires <= deps.now().getTime()) return undefined
      return toRecord(stored)
    },
    async revoke(hash) {
      await redis.del(tokenKey(hash))
    },
    async raiseGeneration(clientId, generation) {
      await raise(clientId, generation)
    },
  }
}

const toRecord = (stored: z.infer<typeof Stored>): TokenRecord => ({
  clientId: stored.client,
  generation: stored.generation,
  scope: stored.scope,
  audience: stored.audience,
  issuedAt: new Date(stored.issued),
  expiresAt: new Date(stored.expires),
})
