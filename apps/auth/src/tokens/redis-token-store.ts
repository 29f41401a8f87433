/*
 * Access tokens in Redis. Beside each token, Redis holds cached copies of what can revoke it without touching it: the
 * generation of its client, the state of its claim, and the emergency revocation. The authority on these is PostgreSQL.
 */
import { randomUUID } from 'node:crypto'
import { AgentId, RegistrationId, RULES } from '@plainpath/domain'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import { runRedisScript } from './run-redis-script.ts'
import {
  isStopped,
  type NewToken,
  type TokenAuthority,
  type TokenRecord,
  type TokenStop,
  type TokenStore,
} from './token-store.ts'

const Stored = z
  .string()
  .transform((text) => JSON.parse(text) as unknown)
  .pipe(
    z.object({
      client: AgentId,
      generation: z.int(),
      epoch: z.int(),
      scope: z.string(),
      audience: z.string(),
      issued: z.int(),
      expires: z.int(),
      claim: RegistrationId.optional(),
      jkt: z.string().optional(),
    }),
  )
const Cached = z.string().nullable()
const Found = z.tuple([Stored, Cached, Cached, Cached]).nullable()

/**
 * Reads the replication ID, which changes whenever Redis restarts and whenever a replica takes over. The last
 * revocations may be lost there, so a token is valid only under the replication ID under which it was saved.
 */
const REPLICATION_ID = `local replication_id = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')`

/**
 * KEYS: the token, the cached stop. ARGV: the token's JSON as `withoutEnd` gives it, its expiry in milliseconds and,
 * optionally, its epoch; without one it gets that of the cached stop. Returns the cached stop. Saves nothing when both
 * are missing.
 */
const SAVE = `${REPLICATION_ID}
local stop = redis.call('GET', KEYS[2])
local epoch = ARGV[3] or string.match(stop or '', '^(%d+) %d+$')
if epoch then redis.call('SET', KEYS[1], replication_id .. ' ' .. ARGV[1] .. ',"epoch":' .. epoch .. '}', 'PXAT', ARGV[2]) end
return stop`

/** One round trip: the token, the cached stop, and the cached numbers of the token's client and claim. */
const FIND = `${REPLICATION_ID}
local saved, token = string.match(redis.call('GET', KEYS[1]) or '', '^(%w+) (.*)$')
if saved ~= replication_id then return false end
local named = cjson.decode(token)
local claim = named['claim'] and redis.call('GET', ARGV[1] .. named['claim']) or false
return { token, redis.call('GET', ARGV[2]), redis.call('GET', ARGV[1] .. named['client']), claim }`

/** Cached numbers only rise, in whatever order writers run. A lease in place of a number counts as 0. */
const RAISE = `
local known = tonumber(redis.call('GET', KEYS[1]) or '0') or 0
redis.call('SET', KEYS[1], math.max(known, tonumber(ARGV[1])), 'EX', ARGV[2])`
const RAISE_STOP = `
local epoch, before = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+) (%d+)$')
epoch = math.max(tonumber(epoch or '0'), tonumber(ARGV[1]))
before = math.max(tonumber(before or '0'), tonumber(ARGV[2]))
redis.call('SET', KEYS[1], string.format('%.0f %.0f', epoch, before), 'EX', ARGV[3])`

/** Writes the value only if the key still holds this loader's lease: no revocation and no loss of data came between. */
const FILL = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3]) end`
/** Longer than any query of the authority may take. */
const LEASE_TTL_SECONDS = 10
/** Longer than the lifetime of any token, so that a number outlasts every token that it revokes. */
const CACHED_TTL_SECONDS = 2 * 3600 + RULES.appTokenMs / 1000
const SCAN_BATCH = 1_000
/** Cached in place of a generation for a claim, which has none. All versions of this service share these numbers. */
const CLAIM_IS_LIVE = 1
const CLAIM_HAS_ENDED = 2

/**
 * Opens the token store in Redis. Each token expires with its TTL, and none is valid after a restart or failover. A
 * number that is not cached (Redis was flushed, or its TTL passed) is read from the authority; a client that the
 * authority does not know has no valid token.
 *
 * @param prefix of every key, such as `auth:`
 */
export function redisTokenStore(
  redis: Redis,
  deps: { prefix: string; authority: TokenAuthority; now: () => Date },
): TokenStore {
  const tokenKey = (hash: Buffer) => `${deps.prefix}token:${hash.toString('base64url')}`
  const generationPrefix = `${deps.prefix}generation:`
  const stopKey = `${deps.prefix}stop`
  const { authority } = deps

  /**
   * Reads a value from the authority and caches it. A revocation may come between the two, so the value is cached only
   * under a lease that was taken before it was read: a revocation overwrites the lease.
   */
  async function loadFromAuthority<T>(
    key: string,
    read: () => Promise<T>,
    write: (value: NonNullable<T>) => string,
  ): Promise<T> {
    const lease = `claimed ${randomUUID()}`
    const isLeased = await redis.set(key, lease, 'EX', LEASE_TTL_SECONDS, 'NX')
    const value = await read()
    if (isLeased && value !== undefined && value !== null)
      await redis.eval(FILL, 1, key, lease, write(value), CACHED_TTL_SECONDS)
    return value
  }

  const parseOrLoadNumber = async (
    cached: string | null,
    id: string,
    read: () => Promise<number | undefined>,
  ) => (/^\d+$/.test(cached ?? '') ? Number(cached) : loadFromAuthority(generationPrefix + id, read, String))
  const parseOrLoadGeneration = (cached: string | null, id: AgentId) =>
    parseOrLoadNumber(cached, id, () => authority.findGeneration(id))
  const isClaimLive = async (cached: string | null, id: RegistrationId) => {
    const read = async () => ((await authority.isLiveClaim(id)) ? CLAIM_IS_LIVE : undefined)
    return (await parseOrLoadNumber(cached, id, read)) === CLAIM_IS_LIVE
  }
  const parseOrLoadStop = async (cached: string | null) =>
    parseStop(cached) ?? loadFromAuthority(stopKey, authority.stop, formatStop)

  return {
    async save(hash, token) {
      const runSave = async (...epoch: number[]) =>
        Cached.parse(
          await runRedisScript(
            redis,
            SAVE,
            [tokenKey(hash), stopKey],
            [withoutEnd(token), token.expiresAt.getTime(), ...epoch],
          ),
        )
      if (token.epoch !== undefined) {
        await runSave(token.epoch)
        return undefined
      }
      const cached = parseStop(await runSave())
      if (cached) return cached
      const stop = await parseOrLoadStop(null)
      await runSave(stop.epoch)
      return stop
    },
    async find(hash) {
      const found = Found.parse(
        await runRedisScript(redis, FIND, [tokenKey(hash)], [generationPrefix, stopKey]),
      )
      if (!found) return undefined
      const [stored, cachedStop, cachedGeneration, cachedClaim] = found
      const token = toRecord(stored)
      if (token.expiresAt <= deps.now()) return undefined
      const [stop, generation, isClaimValid] = await Promise.all([
        parseOrLoadStop(cachedStop),
        parseOrLoadGeneration(cachedGeneration, token.clientId),
        token.claimId === undefined || isClaimLive(cachedClaim, token.claimId),
      ])
      return generation === token.generation && isClaimValid && !isStopped(token, stop) ? token : undefined
    },
    async revoke(hash) {
      await redis.del(tokenKey(hash))
    },
    async revokeTokensOf(subject) {
      const number = subject.kind === 'client' ? subject.generation : CLAIM_HAS_ENDED
      await redis.eval(RAISE, 1, generationPrefix + subject.id, number, CACHED_TTL_SECONDS)
    },
    stop: async () => parseOrLoadStop(await redis.get(stopKey)),
    async raiseStop({ epoch, issuedBefore }) {
      await redis.eval(RAISE_STOP, 1, stopKey, epoch, issuedBefore?.getTime() ?? 0, CACHED_TTL_SECONDS)
    },
    async *all() {
      let cursor = '0'
      do {
        const [next, keys] = await redis.scan(cursor, 'MATCH', `${deps.prefix}token:*`, 'COUNT', SCAN_BATCH)
        cursor = next
        const found = keys.length > 0 ? await redis.mget(keys) : []
        yield found.flatMap((text) =>
          text === null ? [] : toRecord(Stored.parse(text.slice(text.indexOf(' ') + 1))),
        )
      } while (cursor !== '0')
    },
  }
}

/** Parses `<epoch> <milliseconds>`, where 0 milliseconds mean no time. @returns undefined for a lease or no value */
function parseStop(cached: string | null): TokenStop | undefined {
  const [, epoch, before] = /^(\d+) (\d+)$/.exec(cached ?? '') ?? []
  if (epoch === undefined) return undefined
  return { epoch: Number(epoch), issuedBefore: before === '0' ? undefined : new Date(Number(before)) }
}
const formatStop = ({ epoch, issuedBefore }: TokenStop) => `${epoch} ${issuedBefore?.getTime() ?? 0}`

/** Formats the JSON of a token without its epoch and closing brace, which `SAVE` appends. */
const withoutEnd = (token: NewToken): string =>
  JSON.stringify({
    client: token.clientId,
    generation: token.generation,
    scope: token.scope,
    audience: token.audience,
    issued: token.issuedAt.getTime(),
    expires: token.expiresAt.getTime(),
    ...(token.claimId && { claim: token.claimId }),
    ...(token.jkt && { jkt: token.jkt }),
  }).slice(0, -1)

const toRecord = (stored: z.infer<typeof Stored>): TokenRecord => ({
  clientId: stored.client,
  generation: stored.generation,
  epoch: stored.epoch,
  scope: stored.scope,
  audience: stored.audience,
  issuedAt: new Date(stored.issued),
  expiresAt: new Date(stored.expires),
  ...(stored.claim && { claimId: stored.claim }),
  ...(stored.jkt && { jkt: stored.jkt }),
})
