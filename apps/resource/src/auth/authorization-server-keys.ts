import { createLocalJWKSet, type JWTVerifyGetKey } from 'jose'
import { z } from 'zod'
import { KEY_SET_PATH, type RequestAuthorizationServer } from './authorization-server-client.ts'
import { AuthorizationServerFailure } from './introspection.ts'
import { createTimeoutSignal } from './send-bounded-request.ts'

const FETCH_TIMEOUT_MS = 1_000
/**
 * For a `kid` that is not in the set, the set is fetched again only if it is at least this old. Responses with an unknown `kid`
 * therefore cause at most one successful fetch in this time.
 */
const COOLDOWN_MS = 1_000
/** The minimum pause between a failed fetch and the next fetch in the background. */
const RETRY_MS = 250
/** Applies to a key set without `trust_seconds`. */
const DEFAULT_TRUST_SECONDS = 1
const MAX_TRUST_SECONDS = 60

/** A JWK Set (RFC 7517 §5). The member `trust_seconds` is an extension of ours. */
const KeySet = z.object({
  keys: z.array(z.looseObject({ kid: z.string() })).max(100),
  trust_seconds: z.number().min(0).max(MAX_TRUST_SECONDS).default(DEFAULT_TRUST_SECONDS),
})

/** A fetched key set. The times are in milliseconds of the monotonic clock. */
interface CachedKeySet {
  readonly kids: ReadonlySet<string>
  readonly getKey: JWTVerifyGetKey
  /** The start of the request for the set. */
  readonly requestedAt: number
  /** From this time on, halfway through the trust period, the set is fetched again in the background. */
  readonly staleAt: number
  readonly trustedUntil: number
}

/**
 * Creates a function that returns the authorization server's public key (RFC 7517) for the header of a signed introspection
 * response. It fetches the key set on demand, with one request at a time.
 *
 * A key set is trusted for its `trust_seconds`, measured from the start of the request, even if the authorization server stops
 * responding. The authorization server confirms the revocation of a key only after that time, when no API trusts the
 * key any more.
 *
 * @param options.clock a monotonic clock, in milliseconds
 * @param options.timeoutMs the time limit of one fetch; by default a second
 * @returns the function for `jwtVerify`. If a fetch that it awaits fails, it throws an `AuthorizationServerFailure`, or the error
 *   of the request or of parsing. A fetch for an unknown key is awaited even while the cached set is trusted. If the set lacks
 *   the key, it throws jose's error
 */
export function createAuthorizationServerKeys(
  requestServer: RequestAuthorizationServer,
  {
    clock = performance,
    timeoutMs = FETCH_TIMEOUT_MS,
  }: { clock?: { now(): number }; timeoutMs?: number | undefined } = {},
): JWTVerifyGetKey {
  let cachedSet: CachedKeySet | undefined
  let pendingFetch: Promise<CachedKeySet> | undefined
  let failedAt = Number.NEGATIVE_INFINITY

  function fetchSharedKeySet(): Promise<CachedKeySet> {
    pendingFetch ??= fetchKeySet(requestServer, { clock, timeoutMs })
      .then((fetchedSet) => {
        cachedSet = fetchedSet
        return fetchedSet
      })
      .catch((error: unknown) => {
        failedAt = clock.now()
        throw error
      })
      .finally(() => {
        pendingFetch = undefined
      })
    return pendingFetch
  }

  /** Fetches a key set. Throws if its trust period ended before it arrived, as after a slow fetch. */
  async function fetchTrustedKeySet(): Promise<CachedKeySet> {
    const fetchedSet = await fetchSharedKeySet()
    if (clock.now() < fetchedSet.trustedUntil) return fetchedSet
    throw new AuthorizationServerFailure('the key set arrived after its trust period had ended')
  }

  return async (header, input) => {
    const trustedSet = cachedSet && clock.now() < cachedSet.trustedUntil ? cachedSet : undefined
    let keySet = trustedSet ?? (await fetchTrustedKeySet())
    const now = clock.now()
    // If this fetch fails, the cached set stays in use while it is trusted. `failedAt` delays the next fetch in the background.
    if (now >= keySet.staleAt && now >= failedAt + RETRY_MS) void fetchSharedKeySet().catch(() => undefined)
    // An unknown key may be new, so a fetch that is in flight or allowed by the cooldown is awaited.
    const hasKey = keySet.kids.has(header.kid ?? '')
    if (!hasKey && (pendingFetch || now >= keySet.requestedAt + COOLDOWN_MS))
      keySet = await fetchTrustedKeySet()
    return keySet.getKey(header, input)
  }
}

async function fetchKeySet(
  requestServer: RequestAuthorizationServer,
  { clock, timeoutMs }: { clock: { now(): number }; timeoutMs: number },
): Promise<CachedKeySet> {
  const requestedAt = clock.now()
  const { keys, trust_seconds: trustSeconds } = KeySet.parse(
    JSON.parse(await requestKeySet(requestServer, timeoutMs)),
  )
  return {
    kids: new Set(keys.map(({ kid }) => kid)),
    getKey: createLocalJWKSet({ keys }),
    requestedAt,
    staleAt: requestedAt + trustSeconds * 500,
    trustedUntil: requestedAt + trustSeconds * 1_000,
  }
}

async function requestKeySet(requestServer: RequestAuthorizationServer, timeoutMs: number): Promise<string> {
  using timeout = createTimeoutSignal(timeoutMs)
  const { status, text } = await requestServer(KEY_SET_PATH, { signal: timeout.signal })
  if (status !== 200) throw new AuthorizationServerFailure(`the response for the key set was ${status}`)
  return text
}

/**
 * Creates a check that throws if the key set does not arrive within a second, or arrives with another status than 200. Without
 * the key set, no introspection response can be verified.
 */
export const createAuthorizationServerCheck = (requestServer: RequestAuthorizationServer) => () =>
  requestKeySet(requestServer, FETCH_TIMEOUT_MS)
