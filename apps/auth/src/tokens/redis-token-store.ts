import { randomUUID } from 'node:crypto'
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
const Found = z.tuple([Stored, z.string().nullable()]).nullable()

/** Longer than any token lives, so that a number is never forgotten while a token that it ended could be found. */
const GENERATION_TTL_SECONDS = 2 * 3600
/** Longer than the authority may take to answer. */
const CLAIM_TTL_SECONDS = 10

/** One round trip: the token, and the mirrored generation of the client it names. */
const FIND = `
local token = redis.call('GET', KEYS[1])
if not token then return false end
return { token, redis.call('GET', ARGV[1] .. cjson.decode(token)['client']) }`

/** The mirror only ever rises, whatever order the writers come in. A claim counts as no number. */
const RAISE = `
local known = tonumber(redis.call('GET', KEYS[1]) or '0') or 0
redis.call('SET', KEYS[1], math.max(known, tonumber(ARGV[1])), 'EX', ARGV[2])`

/** Writes the number only where the claim still stands: nobody raised, and nothing was lost, since it was made. */
const SETTLE = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3]) end`

/**
 * Tokens in Redis, each with its time to live. Beside them stands a mirror of the clients' generations; where it has
 * no number (Redis was flushed, the entry expired) the authority is asked, and a client it does not know has no token.
 *
 * @param prefix of every key, such as `auth:`
 */
export function redisTokenStore(
  redis: Redis,
  deps: { prefix: string; generationOf: GenerationOf; now: () => Date },
): TokenStore {
  const tokenKey = (hash: TokenHash) => `${deps.prefix}token:${hash.toString('base64url')}`
  const generationPrefix = `${deps.prefix}generation:`

  /** The authority may answer late, so its number is kept only under a claim made before it was asked. */
  async function askAuthority(clientId: string): Promise<number | undefined> {
    const key = generationPrefix + clientId
    const claim = `claimed ${randomUUID()}`
    const claimed = await redis.set(key, claim, 'EX', CLAIM_TTL_SECONDS, 'NX')
    const generation = await deps.generationOf(clientId)
    if (claimed && generation !== undefined)
      await redis.eval(SETTLE, 1, key, claim, generation, GENERATION_TTL_SECONDS)
    return generation
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
      if (stored.expires <= deps.now().getTime()) return undefined
      const generation = /^\d+$/.test(mirrored ?? '') ? Number(mirrored) : await askAuthority(stored.client)
      return generation === stored.generation ? toRecord(stored) : undefined
    },
    async revoke(hash) {
      await redis.del(tokenKey(hash))
    },
    async raiseGeneration(clientId, generation) {
      await redis.eval(RAISE, 1, generationPrefix + clientId, generation, GENERATION_TTL_SECONDS)
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
