import { LRUCache } from 'lru-cache'
import { addressNetworks } from './client-address.ts'
import { dayOfAll, hashed, scaledPolicy, tightest } from './limit-keys.ts'
import type { LimitCount, LimitPolicy, LimitState, LimitStore } from './limit-store.ts'
import type { RouteLimits } from './route.ts'

/**
 * Takes one from each policy of a route at once, when this process can count all of them without asking anybody; else
 * undefined, and nothing is taken.
 *
 * @param address as `clientAddress` gives it
 * @param clientId of whoever showed a good token; without one the caller is anonymous
 */
export type TakeHere = (limits: RouteLimits, address: string, clientId?: string) => LimitState[] | undefined

/** Where a caller is counted for one policy: in each network of the address, or as a client. */
type Places = readonly { readonly policy: LimitPolicy; readonly key: string }[]

/** The places of callers who came under one key of the day; nothing of them outlives it. */
interface Known {
  readonly keyOfDay: Buffer | undefined
  readonly callers: WeakMap<RouteLimits, LRUCache<string, readonly Places[]>>
}

/** To read an address and to hash it takes longer than to count; who comes often is looked up once. */
const MOST_KNOWN = 10_000

export function takeHere(options: {
  store: LimitStore
  factor: number
  now: () => Date
  onDecision?: ((policy: string, decision: 'allowed') => void) | undefined
}): TakeHere {
  const { store, factor, now, onDecision } = options
  let known: Known = { keyOfDay: undefined, callers: new WeakMap() }

  /** For each policy of the route, in order. */
  function placesOf(limits: RouteLimits, keyOfDay: Buffer, address: string, clientId?: string) {
    if (known.keyOfDay !== keyOfDay) known = { keyOfDay, callers: new WeakMap() }
    const callers = known.callers.get(limits) ?? new LRUCache<string, readonly Places[]>({ max: MOST_KNOWN })
    known.callers.set(limits, callers)
    const caller = clientId === undefined ? address : `${address} ${clientId}`
    const found = callers.get(caller)
    if (found) return found
    const placesIn =
      (subjects: ReturnType<typeof addressNetworks>) =>
      (policy: LimitPolicy): Places =>
        subjects.map(({ network, allowance }) => ({
          policy: scaledPolicy(policy, factor * allowance),
          key: hashed(keyOfDay, policy, network),
        }))
    const inNetworks = placesIn(addressNetworks(address))
    const own =
      clientId === undefined
        ? limits.anonymous?.map(inNetworks)
        : limits.client?.map(placesIn([{ network: clientId, allowance: 1 }]))
    const places = [...(limits.address ?? []).map(inNetworks), ...(own ?? [])]
    callers.set(caller, places)
    return places
  }

  return (limits, address, clientId) => {
    const { here } = store
    const today = dayOfAll(now(), limits.address, clientId === undefined ? limits.anonymous : limits.client)
    const keyOfDay = today === undefined ? undefined : here?.key(today)
    if (!here || !keyOfDay) return undefined
    const taking: { readonly policy: LimitPolicy; readonly take: () => LimitCount }[][] = []
    for (const places of placesOf(limits, keyOfDay, address, clientId)) {
      const offered = []
      for (const { policy, key } of places) {
        const take = here.offer(key, policy)
        if (!take) return undefined
        offered.push({ policy, take })
      }
      taking.push(offered)
    }
    return taking.map((offered) =>
      tightest(
        offered.map(({ policy, take }) => {
          onDecision?.(policy.name, 'allowed')
          return { policy, ...take() }
        }),
      ),
    )
  }
}
