import type { Caller, RouteLimits } from '../routing/route.ts'
import type { LimitPolicy } from './limit-store.ts'
import { registrableDomain } from './registrable-domain.ts'

interface ClientLimit {
  readonly policy: LimitPolicy
  /** What the policy counts: the client id, or the registrable domain. */
  readonly subject: string
}

/**
 * Lists the limits of an authenticated client, the narrower ones first: a request that they refuse must not use up the quota
 * that the client shares with others.
 */
export function clientLimits(
  limits: Pick<RouteLimits, 'client' | 'verified' | 'domain'>,
  { clientId, verifiedDomain }: Pick<Caller, 'clientId' | 'verifiedDomain'>,
): readonly ClientLimit[] {
  const count = (subject: string) => (policy: LimitPolicy) => ({ policy, subject })
  if (verifiedDomain === undefined) return (limits.client ?? []).map(count(clientId))
  const own = (limits.verified ?? limits.client ?? []).map(count(clientId))
  if (!limits.domain) return own
  return [...own, ...limits.domain.map(count(registrableDomain(verifiedDomain)))]
}
