import { randomUUID } from 'node:crypto'
import { AgentId, RegistrationId } from '@plainpath/domain'
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
    }),
  )
const Mirrored = z.string().nullable()
const Found = z.tuple([Stored, Mirrored, Mirrored, Mirrored]).nullable()

/**
 * New whenever a Redis starts, and whenever a replica takes over. What was revoked last may be missing there, or be back;
 * so a token is good only in the life of the store in which it was saved.
 */
const LIFE = `local life = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')`

/**
 * KEYS: the token's, the mirrored stop. ARGV: the token without its end, when it expires, perhaps its epoch; else it gets
 * that of the mirrored stop. Returns the mirrored stop; saves nothing where an epoch is wanted and there is none.
 */
const SAVE = `${LIFE}
local stop = redis.call('GET', KEYS[2])
local epoch = ARGV[3] or string.match(stop or '', '^(%d+) %d+$')
if epoch then redis.call('SET', KEYS[1], life .. ' ' .. ARGV[1] .. ',"epoch":' .. epoch .. '}', 'PXAT', ARGV[2]) end
return stop`

/** One round trip: the token, the mirrored stop, and the mirrored generations of the client and the claim it names. */
const FIND = `${LIFE}
local saved, token = string.match(redis.call('GET', KEYS[1]) or '', '^(%w+) (.*)$')
if saved ~= life then return false end
local named = cjson.decode(token)
local claim = named['claim'] and redis.call('GET', ARGV[1] .. named['claim']) or false
return { token, redis.call('GET', ARGV[2]), redis.call('GET', ARGV[1] .. named['client']), claim }`

/** The mirror only ever rises, whatever order the writers come in. A claim counts as no number. */
const RAISE = `
local known = tonumber(redis.call('GET', KEYS[1]) or '0') or 0
redis.call('SET', KEYS[1], math.max(known, tonumber(ARGV[1])), 'EX', ARGV[2])`
const RAISE_STOP = `
local epoch, before = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+) (%d+)$')
epoch = math.max(tonumber(epoch or '0'), tonumber(ARGV[1]))
before = math.max(tonumber(before or '0'), tonumber(ARGV[2]))
redis.call('SET', KEYS[1], string.format('%.0f %.0f', epoch, before), 'EX', ARGV[3])`

/** Writes the value only where the claim still stands: nobody raised, and nothing was lost, since it was made. */
const SETTLE = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3]) end`
/** Longer than the authority may take to answer. */
const CLAIM_TTL_SECONDS = 10
/** Longer than any token lives, so that a number is never forgotten while a token that it ended could be found. */
const MIRROR_TTL_SECONDS = 2 * 3600
const SCAN_BATCH = 1_000
/** What is mirrored of a claim, which has no generation: all versions of this service write and read these numbers. */
const CLAIM_IS_LIVE = 1
const CLAIM_HAS_ENDED = 2

/**
 * Tokens in Redis, each with its time to live; a Redis that starts, or takes over, has none. Beside them stand mirrors of
 * the clients' generations and of the stop; where one has no number (Redis was flushed, the entry expired) the authority
 * is asked, and a client it does not know has no token.
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

  /** The authority may answer late, so what it says is kept only under a claim made before it was asked. */
  async function askAuthority<T>(
    key: string,
    ask: () => Promise<T>,
    write: (answer: NonNullable<T>) => string,
  ): Promise<T> {
    const claim = `claimed ${randomUUID()}`
    const claimed = await redis.set(key, claim, 'EX', CLAIM_TTL_SECONDS, 'NX')
    const answer = await ask()
    if (claimed && answer !== undefined && answer !== null)
      await redis.eval(SETTLE, 1, key, claim, write(answer), MIRROR_TTL_SECONDS)
    return answer
  }

  const mirroredNumber = async (
    mirrored: string | null,
    id: string,
    ask: () => Promise<number | undefined>,
  ) => (/^\d+$/.test(mirrored ?? '') ? Number(mirrored) : askAuthority(generationPrefix + id, ask, String))
  const generationFrom = (mirrored: string | null, id: AgentId) =>
    mirroredNumber(mirrored, id, () => authority.generationOf(id))
  const isLiveClaimFrom = async (mirrored: string | null, id: RegistrationId) => {
    const ask = async () => ((await authority.isLiveClaim(id)) ? CLAIM_IS_LIVE : undefined)
    return (await mirroredNumber(mirrored, id, ask)) === CLAIM_IS_LIVE
  }
  const stopFrom = async (mirrored: string | null) =>
    readStop(mirrored) ?? askAuthority(stopKey, authority.stop, writeStop)

  return {
    async save(hash, token) {
      const saved = async (...epoch: number[]) =>
        Mirrored.parse(
          await runRedisScript(
            redis,
            SAVE,
            [tokenKey(hash), stopKey],
            [withoutEnd(token), token.expiresAt.getTime(), ...epoch],
          ),
        )
      if (token.epoch !== undefined) {
        await saved(token.epoch)
        return undefined
      }
      const mirrored = readStop(await saved())
      if (mirrored) return mirrored
      const stop = await stopFrom(null)
      await saved(stop.epoch)
      return stop
    },
    async find(hash) {
      const found = Found.parse(
        await runRedisScript(redis, FIND, [tokenKey(hash)], [generationPrefix, stopKey]),
      )
      if (!found) return undefined
      const [stored, mirroredStop, mirroredGeneration, mirroredClaim] = found
      const token = toRecord(stored)
      if (token.expiresAt <= deps.now()) return undefined
      const [stop, generation, isClaimLive] = await Promise.all([
        stopFrom(mirroredStop),
        generationFrom(mirroredGeneration, token.clientId),
        token.claimId === undefined || isLiveClaimFrom(mirroredClaim, token.claimId),
      ])
      return generation === token.generation && isClaimLive && !isStopped(token, stop) ? token : undefined
    },
    async revoke(hash) {
      await redis.del(tokenKey(hash))
    },
    async endTokensOf(subject) {
      const number = subject.kind === 'client' ? subject.generation : CLAIM_HAS_ENDED
      await redis.eval(RAISE, 1, generationPrefix + subject.id, number, MIRROR_TTL_SECONDS)
    },
    stop: async () => stopFrom(await redis.get(stopKey)),
    async raiseStop({ epoch, issuedBefore }) {
      await redis.eval(RAISE_STOP, 1, stopKey, epoch, issuedBefore?.getTime() ?? 0, MIRROR_TTL_SECONDS)
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

/** `<epoch> <milliseconds>`; 0 stands for no time. Undefined for a claim, and where nothing is mirrored. */
function readStop(mirrored: string | null): TokenStop | undefined {
  const [, epoch, before] = /^(\d+) (\d+)$/.exec(mirrored ?? '') ?? []
  if (epoch === undefined) return undefined
  return { epoch: Number(epoch), issuedBefore: before === '0' ? undefined : new Date(Number(before)) }
}
const writeStop = ({ epoch, issuedBefore }: TokenStop) => `${epoch} ${issuedBefore?.getTime() ?? 0}`

/** The JSON of a token but for its epoch, which the script adds, and the brace after it. */
const withoutEnd = (token: NewToken): string =>
  JSON.stringify({
    client: token.clientId,
    generation: token.generation,
    scope: token.scope,
    audience: token.audience,
    issued: token.issuedAt.getTime(),
    expires: token.expiresAt.getTime(),
    ...(token.claimId && { claim: token.claimId }),
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
})
