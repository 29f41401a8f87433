import { addressNetworks, type LimitPolicy, type LimitState, memoryLimitStore } from '@plainpath/http'
import { sha256 } from '@plainpath/sealing'
import { LRUCache } from 'lru-cache'
import { AuthorizationServerFailure, type Introspect, type IntrospectFor } from './introspection.ts'

/** Tokens that turned out to be unknown, expired or revoked, counted for each network of an address. */
const FAILED_TOKENS: LimitPolicy = { name: 'failed-tokens', quota: 30, windowSeconds: 60 }

/** Of tokens that were not verified lately. As many places are left to those that were. */
const UNVERIFIED_AT_ONCE = 128
const UNVERIFIED_AT_ONCE_FROM_NETWORK: LimitPolicy = {
  name: 'introspections-at-once',
  quota: 16,
  windowSeconds: 1,
}

const VERIFIED_MS = 10 * 60_000
const MOST_VERIFIED = 50_000

/** A limit keeps a token from being introspected. */
export class IntrospectionLimited extends Error {
  override readonly name = 'IntrospectionLimited'
  readonly state: LimitState

  constructor(state: LimitState) {
    super('introspection is limited')
    this.state = state
  }
}

/**
 * Introspects for an address, so that whoever sends bad tokens keeps nobody else from being served. A token that this
 * process verified within the last ten minutes is always introspected. Any other one is introspected while fewer than 30
 * tokens failed at its address within a minute, and while few such introspections are under way: 16 for each network, 128
 * in all. An address counts in its networks, as it does for every limit.
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
    max: MOST_VERIFIED,
    ttl: VERIFIED_MS,
    perf: { now: () => now().getTime() },
  })
  const underWay = new Map<string, number>()
  let allUnderWay = 0

  const placesOf = (address: string) =>
    addressNetworks(address).map(({ network, allowance }) => ({ network, factor: factor * allowance }))

  async function requireRoom(places: ReturnType<typeof placesOf>): Promise<void> {
    for (const { network, factor: allowed } of places) {
      const policy = scaled(FAILED_TOKENS, allowed)
      // What is refused is not counted, so this only asks how long it lasts.
      if (!failures.local.offer(network, policy))
        throw new IntrospectionLimited({ policy, ...(await failures.take(network, policy)) })
      const atOnce = scaled(UNVERIFIED_AT_ONCE_FROM_NETWORK, allowed)
      if ((underWay.get(network) ?? 0) >= atOnce.quota)
        throw new IntrospectionLimited({ policy: atOnce, allowed: false, remaining: 0, resetSeconds: 1 })
    }
    if (allUnderWay >= UNVERIFIED_AT_ONCE)
      throw new AuthorizationServerFailure('too many introspections of tokens that were not verified before')
  }

  function change(places: ReturnType<typeof placesOf>, by: 1 | -1): void {
    allUnderWay += by
    for (const { network } of places) {
      const left = (underWay.get(network) ?? 0) + by
      if (left === 0) underWay.delete(network)
      else underWay.set(network, left)
    }
  }

  async function introspectUnverified(token: string, address: string) {
    const places = placesOf(address)
    await requireRoom(places)
    change(places, 1)
    try {
      const answer = await introspect(token)
      if (!answer.active)
        for (const { network, factor: allowed } of places)
          await failures.take(network, scaled(FAILED_TOKENS, allowed))
      return answer
    } finally {
      change(places, -1)
    }
  }

  return async (token, address) => {
    const hash = sha256(token).toString('base64url')
    const answer = verified.has(hash) ? await introspect(token) : await introspectUnverified(token, address)
    if (answer.active) verified.set(hash, true)
    else verified.delete(hash)
    return answer
  }
}

const scaled = (policy: LimitPolicy, factor: number): LimitPolicy => ({
  ...policy,
  quota: Math.max(1, Math.floor(policy.quota * factor)),
})
