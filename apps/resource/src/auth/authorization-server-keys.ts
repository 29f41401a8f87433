import { createLocalJWKSet, type JWTVerifyGetKey } from 'jose'
import { z } from 'zod'
import { KEY_SET_PATH, type RequestAuthorizationServer } from './authorization-server-client.ts'
import { AuthorizationServerFailure } from './introspection.ts'
import { timeoutSignal } from './request-bounded.ts'

const FETCH_TIMEOUT_MS = 1_000
/** The shortest time between two fetches for a `kid` that is not in the set. */
const COOLDOWN_MS = 1_000
/** The pause after a failed fetch, while the cached set is trusted. */
const RETRY_MS = 250
/** For a key set that does not say how long to trust it. */
const DEFAULT_TRUST_SECONDS = 1
const MAX_TRUST_SECONDS = 60

/** RFC 7517 §5; the member `trust_seconds` is ours. */
const KeySet = z.object({
  keys: z.array(z.looseObject({ kid: z.string() })).max(100),
  trust_seconds: z.number().min(0).max(MAX_TRUST_SECONDS).default(DEFAULT_TRUST_SECONDS),
})

interface CachedKeySet {
  readonly kids: ReadonlySet<string>
  readonly find: JWTVerifyGetKey
  readonly requestedAt: number
  /** From this time on the set is fetched again in the background. */
  readonly staleAt: number
  readonly trustedUntil: number
}

/**
 * Finds the public keys of the authorization server (RFC 7517). It fetches the key set when it needs it, one request at a time.
 *
 * A set is trusted for its own `trust_seconds`, counted from before it was requested. Revoking a key takes that long, so that
 * no API trusts the key once the revocation is confirmed. Within that time the set also serves while the authorization server
 * does not respond.
 *
 * @param options.clock milliseconds of a monotonic clock
 * @param options.timeoutMs the time limit of one fetch; a second when absent
 */
export function authorizationServerKeys(
  requestServer: RequestAuthorizationServer,
  {
    clock = performance,
    timeoutMs = FETCH_TIMEOUT_MS,
  }: { clock?: { now(): number }; timeoutMs?: number | undefined } = {},
): JWTVerifyGetKey {
  let cached: CachedKeySet | undefined
  let inFlight: Promise<CachedKeySet> | undefined
  let failedAt = Number.NEGATIVE_INFINITY

  function fetchKeys(): Promise<CachedKeySet> {
    inFlight ??= fetchKeySet(requestServer, { clock, timeoutMs })
      .then((fetched) => {
        cached = fetched
        return fetched
      })
      .catch((error: unknown) => {
        failedAt = clock.now()
        throw error
      })
      .finally(() => {
        inFlight = undefined
      })
    return inFlight
  }

  /** A caller that shares a slow fetch may get a set whose trust has already ended. */
  async function trustedKeySet(): Promise<CachedKeySet> {
    if (cached && clock.now() < cached.trustedUntil) return cached
    const fetched = await fetchKeys()
    if (clock.now() < fetched.trustedUntil) return fetched
    throw new AuthorizationServerFailure('the key set arrived after its trust had ended')
  }

  return async (header, input) => {
    let set = await trustedKeySet()
    const now = clock.now()
    if (now >= set.staleAt && now >= failedAt + RETRY_MS) void fetchKeys().catch(() => undefined)
    if (!set.kids.has(header.kid ?? '') && (inFlight || now >= set.requestedAt + COOLDOWN_MS))
      set = await fetchKeys()
    return set.find(header, input)
  }
}

async function fetchKeySet(
  requestServer: RequestAuthorizationServer,
  { clock, timeoutMs }: { clock: { now(): number }; timeoutMs: number },
): Promise<CachedKeySet> {
  const requestedAt = clock.now()
  const { keys, trust_seconds: trust } = KeySet.parse(
    JSON.parse(await requestKeySet(requestServer, timeoutMs)),
  )
  return {
    kids: new Set(keys.map(({ kid }) => kid)),
    find: createLocalJWKSet({ keys }),
    requestedAt,
    staleAt: requestedAt + trust * 500,
    trustedUntil: requestedAt + trust * 1_000,
  }
}

async function requestKeySet(requestServer: RequestAuthorizationServer, timeoutMs: number): Promise<string> {
  using timeout = timeoutSignal(timeoutMs)
  const { status, text } = await requestServer(KEY_SET_PATH, { signal: timeout.signal })
  if (status !== 200) throw new AuthorizationServerFailure(`the response for the key set was ${status}`)
  return text
}

/** @returns a check that throws when the key set does not arrive within a second: no token can be verified then */
export const requireAuthorizationServer = (requestServer: RequestAuthorizationServer) => () =>
  requestKeySet(requestServer, FETCH_TIMEOUT_MS)
