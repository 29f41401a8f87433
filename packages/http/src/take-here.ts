import { addressNetworks } from './client-address.ts'
import { daysOf, hashed, scaledPolicy, tightest } from './limit-keys.ts'
import type { LimitPolicy, LimitState, LimitStore } from './limit-store.ts'
import type { RouteLimits } from './route.ts'

/**
 * Takes one from each policy of a route at once, when this process can count all of them without asking anybody; else
 * undefined, and nothing is taken.
 *
 * @param address as `clientAddress` gives it
 * @param clientId of whoever showed a good token; without one the caller is anonymous
 */
export type TakeHere = (limits: RouteLimits, address: string, clientId?: string) => LimitState[] | undefined

type Subjects = ReturnType<typeof addressNetworks>
type Taking = () => LimitState

export function takeHere(options: {
  store: LimitStore
  factor: number
  now: () => Date
  onDecision?: ((policy: string, decision: 'allowed') => void) | undefined
}): TakeHere {
  const { store, factor, now, onDecision } = options

  /** The tightest of all subjects; undefined where one cannot be counted here. */
  function offer(policy: LimitPolicy, subjects: Subjects, at: Date): Taking | undefined {
    const [today, before] = daysOf(policy, at)
    const key = before === undefined ? store.here?.key(today) : undefined
    if (!key) return undefined
    const all: Taking[] = []
    for (const { network, allowance } of subjects) {
      const effective = scaledPolicy(policy, factor * allowance)
      const take = store.here?.offer(hashed(key, policy, network), effective)
      if (!take) return undefined
      all.push(() => {
        onDecision?.(policy.name, 'allowed')
        return { policy: effective, ...take() }
      })
    }
    return () => tightest(all.map((each) => each()))
  }

  return (limits, address, clientId) => {
    const at = now()
    const networks = addressNetworks(address)
    const client = clientId === undefined ? undefined : [{ network: clientId, allowance: 1 }]
    const taking: Taking[] = []
    const offerAll = (policies: readonly LimitPolicy[] = [], subjects: Subjects = networks) =>
      policies.every((policy) => {
        const offered = offer(policy, subjects, at)
        if (offered) taking.push(offered)
        return offered !== undefined
      })
    const areAll = offerAll(limits.address) && offerAll(client ? limits.client : limits.anonymous, client)
    return areAll ? taking.map((each) => each()) : undefined
  }
}
