import { createLocalJWKSet, type JWTVerifyGetKey } from 'jose'
import { z } from 'zod'
import { type AskAuthorizationServer, KEY_SET } from './ask-authorization-server.ts'
import { AuthorizationServerFailure } from './introspection.ts'
import { timeOut } from './request-bounded.ts'

const FETCH_TIMEOUT_MS = 1_000
/** A `kid` that is not in the set makes us fetch the set again, at most this often. */
const COOLDOWN_MS = 1_000
/** After a failure nobody asks again for so long, while the set that is kept may be believed. */
const RETRY_MS = 250
/** For a key set that does not say how long it may be believed. */
const LEAST_TRUST_SECONDS = 1
const MOST_TRUST_SECONDS = 60

/** RFC 7517 §5; `trust_seconds` is a member of our own. */
const KeySet = z.object({
  keys: z.array(z.looseObject({ kid: z.string() })).max(100),
  trust_seconds: z.number().min(0).max(MOST_TRUST_SECONDS).default(LEAST_TRUST_SECONDS),
})

interface Kept {
  readonly kids: ReadonlySet<string>
  readonly find: JWTVerifyGetKey
  readonly askedAt: number
  /** From then on it is fetched anew beside the requests that use it. */
  readonly staleAt: number
  readonly trustedUntil: number
}

/**
 * The public keys of the authorization server (RFC 7517), fetched when needed, by one request at a time. A set is
 * believed for as long as it says, counted from before it was asked for: whoever revokes a key waits that long, so that
 * afterwards nobody believes the key. Within that time it also serves while the authorization server does not answer.
 *
 * @param options.clock milliseconds that only rise
 * @param options.timeoutMs how long the set may take; a second when absent
 */
export function authorizationServerKeys(
  askServer: AskAuthorizationServer,
  {
    clock = performance,
    timeoutMs = FETCH_TIMEOUT_MS,
  }: { clock?: { now(): number }; timeoutMs?: number | undefined } = {},
): JWTVerifyGetKey {
  let kept: Kept | undefined
  let underWay: Promise<Kept> | undefined
  let failedAt = Number.NEGATIVE_INFINITY

  function fetchKeys(): Promise<Kept> {
    underWay ??= fetchKeySet(askServer, { clock, timeoutMs })
      .then((fetched) => {
        kept = fetched
        return fetched
      })
      .catch((error: unknown) => {
        failedAt = clock.now()
        throw error
      })
      .finally(() => {
        underWay = undefined
      })
    return underWay
  }

  /** Whoever joins a fetch that hung may get a set that is too old already. */
  async function believable(): Promise<Kept> {
    if (kept && clock.now() < kept.trustedUntil) return kept
    const fetched = await fetchKeys()
    if (clock.now() < fetched.trustedUntil) return fetched
    throw new AuthorizationServerFailure('the key set came too late to be believed')
  }

  return async (header, input) => {
    let set = await believable()
    const now = clock.now()
    if (now >= set.staleAt && now >= failedAt + RETRY_MS) void fetchKeys().catch(() => undefined)
    if (!set.kids.has(header.kid ?? '') && (underWay || now >= set.askedAt + COOLDOWN_MS))
      set = await fetchKeys()
    return set.find(header, input)
  }
}

async function fetchKeySet(
  askServer: AskAuthorizationServer,
  { clock, timeoutMs }: { clock: { now(): number }; timeoutMs: number },
): Promise<Kept> {
  const askedAt = clock.now()
  const { keys, trust_seconds: trust } = KeySet.parse(JSON.parse(await askForKeySet(askServer, timeoutMs)))
  return {
    kids: new Set(keys.map(({ kid }) => kid)),
    find: createLocalJWKSet({ keys }),
    askedAt,
    staleAt: askedAt + trust * 500,
    trustedUntil: askedAt + trust * 1_000,
  }
}

async function askForKeySet(askServer: AskAuthorizationServer, timeoutMs: number): Promise<string> {
  using bound = timeOut(timeoutMs)
  const { status, text } = await askServer(KEY_SET, { signal: bound.signal })
  if (status !== 200) throw new AuthorizationServerFailure(`the key set was answered ${status}`)
  return text
}

/** @returns what throws when the key set cannot be had within a second: then no token can be checked */
export const requireAuthorizationServer = (askServer: AskAuthorizationServer) => () =>
  askForKeySet(askServer, FETCH_TIMEOUT_MS)
