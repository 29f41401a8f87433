import type { Caller, RouteLimits } from '../routing/route.ts'
import type { LimitPolicy } from './limit-store.ts'
import { getRegistrableDomain } from './registrable-domain.ts'

interface ClientLimit {
  readonly policy: LimitPolicy
  /** What the policy counts: the client id, or the registrable domain. */
  readonly subject: string
}

/**
 * Lists an authenticated client's limits. Its own limits come first: a request that they refuse must not use up the
 * quota that the client shares with others.
 */
export function listClientLimits(
  limits: Pick<RouteLimits, 'client' | 'verified' | 'domain'>,
  { clientId, verifiedDomain }: Pick<Caller, 'clientId' | 'verifiedDomain'>,
): readonly ClientLimit[] {
  const createLimitFor = (subject: string) => (policy: LimitPolicy) => ({ policy, subject })
  if (verifiedDomain === undefined) return (limits.client ?? []).map(createLimitFor(clientId))
  const clientLimits = (limits.verified ?? limits.client ?? []).map(createLimitFor(clientId))
  if (!limits.domain) return clientLimits
  return [...clientLimits, ...limits.domain.map(createLimitFor(getRegistrableDomain(verifiedDomain)))]
}
