/*
 * Stores access tokens in Redis. A stored token is revoked, without being deleted, when one of three values changes. The values
 * are in PostgreSQL, and Redis caches them. Keys and JSON have older names for them, in parentheses:
 *
 * - the credential version of its client (`generation`), which rises when the client's tokens are revoked;
 * - the state of its e-mail verification (`claim`), live or revoked;
 * - the cutoff (`stop`), which rises in an emergency: tokens with a lower epoch, or issued before its time, are invalid.
 */
import { randomUUID } from 'node:crypto'
import { AgentId, RegistrationId, RULES } from '@plainpath/domain'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import { runScript } from '../open-redis.ts'
import {
  CANARY_AUDIENCE,
  isBelowCutoff,
  type NewToken,
  type TokenAuthority,
  type TokenCutoff,
  type TokenRecord,
  type TokenStore,
} from './token-store.ts'

const StoredToken = z
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
      /** The thumbprint of the key that the token is bound to (RFC 9449). */
      jkt: z.string().optional(),
    }),
  )
const CachedText = z.string().nullable()
const FindReply = z.tuple([StoredToken, CachedText, CachedText, CachedText]).nullable()

/**
 * Reads the replication ID, which changes whenever Redis restarts and whenever a replica takes over. Either may lose the most
 * recent revocations, so a token is valid only while Redis reports the ID under which it was saved.
 */
const READ_REPLICATION_ID = `local replication_id = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')`

/**
 * Begins a script that runs even if the memory of Redis is full, as `auth stop` must. A full Redis would otherwise refuse to
 * revoke tokens that it still accepts. Such scripts write little: a number for a client or verification, the cutoff, canaries.
 */
const ALLOW_FULL_MEMORY = '#!lua flags=allow-oom'

/**
 * Saves a token and returns what is cached for the cutoff: the cutoff, a lease or nothing. KEYS: the token, the cutoff. ARGV: the
 * JSON from `formatTokenWithoutEpoch`, the expiry (Unix time in milliseconds) and, optionally, the epoch. Without an epoch, the
 * token gets the epoch of the cached cutoff. If no cutoff is cached, a token without an epoch is not saved.
 */
const SAVE_SCRIPT = `
${READ_REPLICATION_ID}
local cutoff = redis.call('GET', KEYS[2])
local epoch = ARGV[3] or string.match(cutoff or '', '^(%d+) %d+$')
if epoch then redis.call('SET', KEYS[1], replication_id .. ' ' .. ARGV[1] .. ',"epoch":' .. epoch .. '}', 'PXAT', ARGV[2]) end
return cutoff`
const SAVE_CANARY_SCRIPT = `${ALLOW_FULL_MEMORY}${SAVE_SCRIPT}`

/**
 * Returns a token, the cached cutoff, the cached credential version of its client and the cached state of its verification in one
 * round trip. Returns nothing if the token is not stored, or was saved under another replication ID. KEYS: the token. ARGV: the
 * key prefix for versions and states, the key of the cutoff.
 */
const FIND_SCRIPT = `${READ_REPLICATION_ID}
local saved, token = string.match(redis.call('GET', KEYS[1]) or '', '^(%w+) (.*)$')
if saved ~= replication_id then return false end
local fields = cjson.decode(token)
local claim = fields['claim'] and redis.call('GET', ARGV[1] .. fields['claim']) or false
return { token, redis.call('GET', ARGV[2]), redis.call('GET', ARGV[1] .. fields['client']), claim }`

/**
 * Raises a cached number and never lowers it, so the order of writers does not matter. A lease in place of the number
 * (see `loadFromAuthority`) counts as 0. ARGV: the number, its TTL in seconds. `RAISE_CUTOFF_SCRIPT` does the same with the epoch
 * and the time of a cutoff.
 */
const RAISE_SCRIPT = `${ALLOW_FULL_MEMORY}
local current = tonumber(redis.call('GET', KEYS[1]) or '0') or 0
redis.call('SET', KEYS[1], math.max(current, tonumber(ARGV[1])), 'EX', ARGV[2])`
const RAISE_CUTOFF_SCRIPT = `${ALLOW_FULL_MEMORY}
local epoch, before = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+) (%d+)$')
epoch = math.max(tonumber(epoch or '0'), tonumber(ARGV[1]))
before = math.max(tonumber(before or '0'), tonumber(ARGV[2]))
redis.call('SET', KEYS[1], string.format('%.0f %.0f', epoch, before), 'EX', ARGV[3])`

/** Stores a lease, unless a value or another lease is cached. ARGV: the lease, its TTL in seconds. */
const LEASE_SCRIPT = `${ALLOW_FULL_MEMORY}
return redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2], 'NX')`

/**
 * Caches a value if the key still contains the given lease. A revocation would have overwritten the lease, and a loss of data
 * would have removed it. ARGV: the lease, the value, its TTL in seconds.
 */
const CACHE_IF_LEASED_SCRIPT = `${ALLOW_FULL_MEMORY}
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3]) end`

/** Longer than a query of an instance may take. The value of a slower query is not cached. */
const LEASE_TTL_SECONDS = 10
/** Two hours longer than the lifetime of any token, so that a cached revocation outlives the tokens that it revokes. */
const CACHED_TTL_SECONDS = 2 * 3600 + RULES.appTokenMs / 1000
const SCAN_BATCH = 1_000
/**
 * A verification is cached as one of these numbers, under the same prefix as the credential versions. Revoked is the higher
 * number, because `RAISE_SCRIPT` only raises a number. Never change them: other releases read them during a rollout.
 */
const LIVE_VERIFICATION = 1
const REVOKED_VERIFICATION = 2

/**
 * Creates the token store in Redis. Each token expires with its TTL, and a restart or failover of Redis invalidates all tokens. A
 * value that is not cached (never loaded, expired or flushed) is read from the authority. If the authority does not know a
 * client, the client's tokens are invalid.
 *
 * @param deps.prefix the prefix of every key, such as `auth:`
 */
export function createRedisTokenStore(
  redis: Redis,
  deps: { prefix: string; authority: TokenAuthority; now: () => Date },
): TokenStore {
  const toTokenKey = (hash: Buffer) => `${deps.prefix}token:${hash.toString('base64url')}`
  /**
   * The prefix of the keys for the credential versions of clients and the states of verifications. The id of a client never
   * equals that of a verification, because they begin differently.
   */
  const numberPrefix = `${deps.prefix}generation:`
  const cutoffKey = `${deps.prefix}stop`
  const { authority } = deps

  /**
   * Reads a value from the authority and caches it. A revocation may happen between reading and caching, so this first stores a
   * lease in place of the value. Any revocation overwrites the lease, and the value is cached only if the lease is still there.
   */
  async function loadFromAuthority<T>(
    key: string,
    load: () => Promise<T>,
    format: (value: NonNullable<T>) => string,
  ): Promise<T> {
    const lease = `lease ${randomUUID()}`
    const hasLease = (await redis.eval(LEASE_SCRIPT, 1, key, lease, LEASE_TTL_SECONDS)) === 'OK'
    const value = await load()
    if (hasLease && value !== undefined && value !== null)
      await redis.eval(CACHE_IF_LEASED_SCRIPT, 1, key, lease, format(value), CACHED_TTL_SECONDS)
    return value
  }

  const raiseNumber = (id: string, number: number) =>
    redis.eval(RAISE_SCRIPT, 1, numberPrefix + id, number, CACHED_TTL_SECONDS)
  const parseOrLoadNumber = async (
    cached: string | null,
    id: string,
    load: () => Promise<number | undefined>,
  ) => (/^\d+$/.test(cached ?? '') ? Number(cached) : loadFromAuthority(numberPrefix + id, load, String))
  const parseOrLoadCredentialVersion = async (
    cached: string | null,
    { clientId, credentialVersion }: TokenRecord,
  ) => {
    const version = await parseOrLoadNumber(cached, clientId, () => authority.findCredentialVersion(clientId))
    if (version === undefined || version >= credentialVersion) return version
    // The token has a higher version than the cached one. For example, a failover has brought back an old version.
    const current = await authority.findCredentialVersion(clientId)
    if (current !== undefined) await raiseNumber(clientId, current)
    return current
  }
  const isVerificationLive = async (cached: string | null, id: RegistrationId) => {
    // `loadFromAuthority` does not cache undefined, so only `revokeTokensOf` caches a verification as revoked.
    const load = async () => ((await authority.isVerificationLive(id)) ? LIVE_VERIFICATION : undefined)
    return (await parseOrLoadNumber(cached, id, load)) === LIVE_VERIFICATION
  }
  const parseOrLoadCutoff = async (cached: string | null) =>
    parseCutoff(cached) ?? loadFromAuthority(cutoffKey, authority.readCutoff, formatCutoff)

  return {
    async save(hash, token) {
      const script = token.audience === CANARY_AUDIENCE ? SAVE_CANARY_SCRIPT : SAVE_SCRIPT
      const runSave = async (...epoch: number[]) =>
        CachedText.parse(
          await runScript(
            redis,
            script,
            [toTokenKey(hash), cutoffKey],
            [formatTokenWithoutEpoch(token), token.expiresAt.getTime(), ...epoch],
          ),
        )
      if (token.epoch !== undefined) {
        await runSave(token.epoch)
        return undefined
      }
      const cachedCutoff = parseCutoff(await runSave())
      if (cachedCutoff) return cachedCutoff
      // No cutoff was cached, so nothing was saved: load the cutoff, then save the token with its epoch.
      const cutoff = await parseOrLoadCutoff(null)
      await runSave(cutoff.epoch)
      return cutoff
    },
    async find(hash) {
      const reply = FindReply.parse(
        await runScript(redis, FIND_SCRIPT, [toTokenKey(hash)], [numberPrefix, cutoffKey]),
      )
      if (!reply) return undefined
      const [storedToken, cachedCutoff, cachedVersion, cachedState] = reply
      const token = toRecord(storedToken)
      if (token.expiresAt <= deps.now()) return undefined
      const [cutoff, credentialVersion, passesVerificationCheck] = await Promise.all([
        parseOrLoadCutoff(cachedCutoff),
        parseOrLoadCredentialVersion(cachedVersion, token),
        token.verificationId === undefined || isVerificationLive(cachedState, token.verificationId),
      ])
      return credentialVersion === token.credentialVersion &&
        passesVerificationCheck &&
        !isBelowCutoff(token, cutoff)
        ? token
        : undefined
    },
    async revoke(hash) {
      await redis.del(toTokenKey(hash))
    },
    async revokeTokensOf(subject) {
      const number = subject.kind === 'client' ? subject.credentialVersion : REVOKED_VERIFICATION
      await raiseNumber(subject.id, number)
    },
    readCutoff: async () => parseOrLoadCutoff(await redis.get(cutoffKey)),
    async raiseCutoff({ epoch, issuedBefore }) {
      await redis.eval(
        RAISE_CUTOFF_SCRIPT,
        1,
        cutoffKey,
        epoch,
        issuedBefore?.getTime() ?? 0,
        CACHED_TTL_SECONDS,
      )
    },
    async *iterateAll() {
      let cursor = '0'
      do {
        const [nextCursor, keys] = await redis.scan(
          cursor,
          'MATCH',
          `${deps.prefix}token:*`,
          'COUNT',
          SCAN_BATCH,
        )
        cursor = nextCursor
        const reply = keys.length > 0 ? await redis.mget(keys) : []
        // Each value begins with the replication ID, which is skipped. Some of these tokens may no longer be valid.
        yield reply.flatMap((text) =>
          text === null ? [] : toRecord(StoredToken.parse(text.slice(text.indexOf(' ') + 1))),
        )
      } while (cursor !== '0')
    },
  }
}

/**
 * Parses `<epoch> <milliseconds>`. The second number is the time before which tokens are revoked, and 0 if there is none.
 *
 * @returns undefined if nothing or a lease is cached
 */
function parseCutoff(cached: string | null): TokenCutoff | undefined {
  const [, epoch, issuedBeforeMs] = /^(\d+) (\d+)$/.exec(cached ?? '') ?? []
  if (epoch === undefined) return undefined
  return {
    epoch: Number(epoch),
    issuedBefore: issuedBeforeMs === '0' ? undefined : new Date(Number(issuedBeforeMs)),
  }
}
const formatCutoff = ({ epoch, issuedBefore }: TokenCutoff) => `${epoch} ${issuedBefore?.getTime() ?? 0}`

/** Formats the JSON of a token without its epoch and closing brace, which `SAVE_SCRIPT` appends. */
const formatTokenWithoutEpoch = (token: NewToken): string =>
  JSON.stringify({
    client: token.clientId,
    generation: token.credentialVersion,
    scope: token.scope,
    audience: token.audience,
    issued: token.issuedAt.getTime(),
    expires: token.expiresAt.getTime(),
    ...(token.verificationId && { claim: token.verificationId }),
    ...(token.jkt && { jkt: token.jkt }),
  }).slice(0, -1)

const toRecord = (stored: z.infer<typeof StoredToken>): TokenRecord => ({
  clientId: stored.client,
  credentialVersion: stored.generation,
  epoch: stored.epoch,
  scope: stored.scope,
  audience: stored.audience,
  issuedAt: new Date(stored.issued),
  expiresAt: new Date(stored.expires),
  ...(stored.claim && { verificationId: stored.claim }),
  ...(stored.jkt && { jkt: stored.jkt }),
})
