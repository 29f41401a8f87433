import type { Caller, RouteLimits } from '../routing/route.ts'
import type { LimitPolicy } from './limit-store.ts'
import { getRegistrableDomain } from './registrable-domain.ts'

interface ClientLimit {
  readonly policy: LimitPolicy
  /** The client id or the registrable domain by which the policy counts requests. */
  readonly subject: string
}

/**
 * Lists an authenticated client's limits. For a client with a verified domain, `verified`, if it is set, replaces `client`, and
 * `domain` applies in addition. The client's own limits come first: a request that they refuse must not use up the quota that
 * it shares with others.
 */
export function listClientLimits(
  limits: Pick<RouteLimits, 'client' | 'verified' | 'domain'>,
  { clientId, verifiedDomain }: Pick<Caller, 'clientId' | 'verifiedDomain'>,
): readonly ClientLimit[] {
  const limitTo = (subject: string) => (policy: LimitPolicy) => ({ policy, subject })
  if (verifiedDomain === undefined) return (limits.client ?? []).map(limitTo(clientId))
  const clientLimits = (limits.verified ?? limits.client ?? []).map(limitTo(clientId))
  if (!limits.domain) return clientLimits
  return [...clientLimits, ...limits.domain.map(limitTo(getRegistrableDomain(verifiedDomain)))]
}
