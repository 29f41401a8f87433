import { createByteBoundOptions, RULES } from '@plainpath/domain'
import { createMemoryLimitStore, type LimitPolicy, type LimitRefusal, listNetworks } from '@plainpath/http'
import { sha256Base64url } from '@plainpath/sealing'
import { LRUCache } from 'lru-cache'
import { AuthorizationServerFailure, type Introspect, type IntrospectFor } from './introspection.ts'

/**
 * Limits the introspections of inactive tokens (unknown, expired or revoked) from one network. A token that this process verified before
 * does not count the first time that it is found inactive.
 */
const FAILED_TOKENS: LimitPolicy = { name: 'failed-tokens', quota: 30, windowSeconds: 60 }

/**
 * The maximum number of in-flight introspections of tokens that were not verified recently. It is half of `MAX_IN_FLIGHT` in
 * introspection-client.ts, which leaves the other half to recently verified tokens.
 */
const MAX_UNVERIFIED_IN_FLIGHT = 128
/** The maximum number of such introspections that are in flight from one network. */
const MAX_UNVERIFIED_IN_FLIGHT_FROM_NETWORK = 16

/** How long a token counts as recently verified. */
const RECENTLY_VERIFIED_MS = 10 * 60_000
/** How long a verified token is remembered: the longest lifetime of a token. */
const REMEMBER_VERIFIED_MS = RULES.appTokenMs
/** Enough for the hashes of about 50,000 tokens (estimated by `createByteBoundOptions`). */
const MAX_VERIFIED_BYTES = 10_000_000

/** Thrown when a limit of one of the caller's networks does not allow an introspection. */
export class IntrospectionLimited extends Error {
  override readonly name = 'IntrospectionLimited'
  readonly refusal: LimitRefusal

  constructor(refusal: LimitRefusal) {
    super('introspection is limited')
    this.refusal = refusal
  }
}

/**
 * A network of an address, and the factor by which its quotas are multiplied: the configured one times the network's
 * allowance.
 */
interface LimitedNetwork {
  readonly network: string
  readonly factor: number
}

/**
 * Wraps `introspect` with limits for each network, so that a caller with invalid tokens cannot block introspection for
 * everybody. The limits do not apply to a token that this process verified within the last ten minutes. With a factor of 1, any
 * other token is refused with `IntrospectionLimited` after 30 inactive tokens from its network within a minute, and while 16
 * introspections of such tokens from its network are in flight. While 128 are in flight in all, it is refused with
 * `AuthorizationServerFailure`. An address counts in each network that `listNetworks` returns: for IPv6, the /64 and, with four
 * times the quotas, the /48.
 *
 * A token that this process verified before does not count the first time that it is found inactive. When Redis restarts, all tokens
 * become invalid, and their clients, which may share a network, must get 401 to learn that they need new ones.
 *
 * @param options.factor multiplies the two quotas of each network, but not the 128
 */
export function guardIntrospection(options: {
  introspect: Introspect
  factor: number
  now: () => Date
}): IntrospectFor {
  const { introspect, factor, now } = options
  // The keys are the networks themselves, not keyed hashes, because these counts do not leave the process.
  const failedTokens = createMemoryLimitStore(now)
  /** The time, in milliseconds, at which each token was last found active, by the hash of the token. */
  const verifiedTimes = new LRUCache<string, number>({
    ...createByteBoundOptions(MAX_VERIFIED_BYTES),
    ttl: REMEMBER_VERIFIED_MS,
    perf: { now: () => now().getTime() },
  })
  const inFlightByNetwork = new Map<string, number>()
  let totalInFlight = 0

  const findNetworks = (address: string): LimitedNetwork[] =>
    listNetworks(address).map(({ network, allowance }) => ({ network, factor: factor * allowance }))

  /**
   * Finds the limit that refuses another introspection: a limit of one of the networks, or that of all introspections in flight.
   * Does not wait, so that the caller can count the introspection before another request is checked.
   *
   * @returns a function that creates the error, because the seconds until the next attempt must be awaited; undefined if the
   *   introspection is allowed
   */
  function findRefusal(networks: readonly LimitedNetwork[]): (() => Promise<Error>) | undefined {
    for (const { network, factor: networkFactor } of networks) {
      const policy = scaleFailedTokens(networkFactor)
      // `take` counts nothing here, because the limit refuses the request. Its result has the seconds until some quota is free.
      if (!failedTokens.local.offer(network, policy))
        return async () =>
          new IntrospectionLimited({
            policyName: policy.name,
            reason: `The maximum number of unknown, expired or revoked tokens from a network is ${policy.quota} per minute.`,
            resetSeconds: (await failedTokens.take(network, policy)).resetSeconds,
          })
      const maxInFlight = scaleQuota(MAX_UNVERIFIED_IN_FLIGHT_FROM_NETWORK, networkFactor)
      if ((inFlightByNetwork.get(network) ?? 0) >= maxInFlight)
        return async () =>
          new IntrospectionLimited({
            policyName: 'introspections-at-once',
            reason: `The maximum number of tokens from a network that are checked at the same time is ${maxInFlight}.`,
            resetSeconds: 1,
          })
    }
    if (totalInFlight >= MAX_UNVERIFIED_IN_FLIGHT)
      return async () =>
        new AuthorizationServerFailure('too many introspections of tokens that were not verified recently')
    return undefined
  }

  function changeInFlightCount(networks: readonly LimitedNetwork[], change: 1 | -1): void {
    totalInFlight += change
    for (const { network } of networks) {
      const count = (inFlightByNetwork.get(network) ?? 0) + change
      if (count === 0) inFlightByNetwork.delete(network)
      else inFlightByNetwork.set(network, count)
    }
  }

  async function introspectWithinLimits(
    token: string,
    address: string,
    { wasVerified }: { wasVerified: boolean },
  ) {
    const networks = findNetworks(address)
    const createRefusal = findRefusal(networks)
    if (createRefusal) throw await createRefusal()
    changeInFlightCount(networks, 1)
    try {
      const introspection = await introspect(token)
      if (!introspection.active && !wasVerified)
        for (const { network, factor: networkFactor } of networks)
          await failedTokens.take(network, scaleFailedTokens(networkFactor))
      return introspection
    } finally {
      changeInFlightCount(networks, -1)
    }
  }

  return async (token, address) => {
    const hash = sha256Base64url(token)
    const verifiedTime = verifiedTimes.peek(hash)
    const isRecent = verifiedTime !== undefined && now().getTime() - verifiedTime < RECENTLY_VERIFIED_MS
    const introspection = isRecent
      ? await introspect(token)
      : await introspectWithinLimits(token, address, { wasVerified: verifiedTime !== undefined })
    if (introspection.active) verifiedTimes.set(hash, now().getTime())
    else verifiedTimes.delete(hash)
    return introspection
  }
}

const scaleQuota = (quota: number, factor: number) => Math.max(1, Math.floor(quota * factor))

const scaleFailedTokens = (factor: number): LimitPolicy => ({
  ...FAILED_TOKENS,
  quota: scaleQuota(FAILED_TOKENS.quota, factor),
})
