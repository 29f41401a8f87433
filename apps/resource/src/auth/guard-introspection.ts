import { addressNetworks, type LimitPolicy, type LimitState, memoryLimitStore } from '@plainpath/http'
import { sha256 } from '@plainpath/sealing'
import { LRUCache } from 'lru-cache'
import { AuthorizationServerFailure, type Introspect, type IntrospectFor } from './introspection.ts'

/** Counts tokens that were unknown, expired or revoked, for each network of an address. */
const FAILED_TOKENS: LimitPolicy = { name: 'failed-tokens', quota: 30, windowSeconds: 60 }

/** In-flight introspections of tokens that were not verified recently. As many places are left for those that were. */
const MAX_UNVERIFIED_IN_FLIGHT = 128
const UNVERIFIED_IN_FLIGHT_FROM_NETWORK: LimitPolicy = {
  name: 'introspections-at-once',
  quota: 16,
  windowSeconds: 1,
}

const REMEMBER_VERIFIED_MS = 10 * 60_000
const MAX_VERIFIED = 50_000

/** A limit does not allow a token to be introspected. */
export class IntrospectionLimited extends Error {
  override readonly name = 'IntrospectionLimited'
  readonly state: LimitState

  constructor(state: LimitState) {
    super('introspection is limited')
    this.state = state
  }
}

/**
 * Limits introspection by address, so that a caller with bad tokens does not take the service from others. A token that this
 * process verified within the last ten minutes is always introspected. Any other token is introspected if fewer than 30 tokens
 * from its address failed within a minute, and if few such introspections are in flight: 16 for each network, 128 in all. An
 * address counts in each of its networks, as for every limit.
 *
 * @param options.factor multiplies both limits of an address
 */
export function guardIntrospection(options: {
  introspect: Introspect
  factor: number
  now: () => Date
}): IntrospectFor {
  const { introspect, factor, now } = options
  const failures = memoryLimitStore(now)
  const verified = new LRUCache<string, true>({
    max: MAX_VERIFIED,
    ttl: REMEMBER_VERIFIED_MS,
    perf: { now: () => now().getTime() },
  })
  const inFlight = new Map<string, number>()
  let allInFlight = 0

  const networksOf = (address: string) =>
    addressNetworks(address).map(({ network, allowance }) => ({ network, factor: factor * allowance }))

  async function requireRoom(networks: ReturnType<typeof networksOf>): Promise<void> {
    for (const { network, factor: allowed } of networks) {
      const policy = scaled(FAILED_TOKENS, allowed)
      // A refused request is not counted: `take` only returns when the limit allows the next one.
      if (!failures.local.offer(network, policy))
        throw new IntrospectionLimited({ policy, ...(await failures.take(network, policy)) })
      const places = scaled(UNVERIFIED_IN_FLIGHT_FROM_NETWORK, allowed)
      if ((inFlight.get(network) ?? 0) >= places.quota)
        throw new IntrospectionLimited({ policy: places, allowed: false, remaining: 0, resetSeconds: 1 })
    }
    if (allInFlight >= MAX_UNVERIFIED_IN_FLIGHT)
      throw new AuthorizationServerFailure('too many introspections of tokens that were not verified before')
  }

  function changeCount(networks: ReturnType<typeof networksOf>, by: 1 | -1): void {
    allInFlight += by
    for (const { network } of networks) {
      const count = (inFlight.get(network) ?? 0) + by
      if (count === 0) inFlight.delete(network)
      else inFlight.set(network, count)
    }
  }

  async function introspectUnverified(token: string, address: string) {
    const networks = networksOf(address)
    await requireRoom(networks)
    changeCount(networks, 1)
    try {
      const introspection = await introspect(token)
      if (!introspection.active)
        for (const { network, factor: allowed } of networks)
          await failures.take(network, scaled(FAILED_TOKENS, allowed))
      return introspection
    } finally {
      changeCount(networks, -1)
    }
  }

  return async (token, address) => {
    const hash = sha256(token).toString('base64url')
    const introspection = verified.has(hash)
      ? await introspect(token)
      : await introspectUnverified(token, address)
    if (introspection.active) verified.set(hash, true)
    else verified.delete(hash)
    return introspection
  }
}

const scaled = (policy: LimitPolicy, factor: number): LimitPolicy => ({
  ...policy,
  quota: Math.max(1, Math.floor(policy.quota * factor)),
})
