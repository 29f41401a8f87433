import { type AgentId, getVerifiedDomain } from '@plainpath/domain'
import type { Caller } from '@plainpath/http'

/** Identifies a client to the rate limiter. */
export function identifyClient(id: AgentId): Pick<Caller, 'clientId' | 'verifiedDomain'> {
  const domain = getVerifiedDomain(id)
  return { clientId: id, ...(domain !== undefined && { verifiedDomain: domain }) }
}

/** Returns the member `verified_domain`, or no member if the client has not proven a domain. */
export function describeVerifiedDomain(id: AgentId): { verified_domain?: string } {
  const domain = getVerifiedDomain(id)
  return { ...(domain !== undefined && { verified_domain: domain }) }
}

/**
 * Builds the members that say what an agent has proven, for responses, introspection and commands.
 *
 * @param emailVerified true if a person verified their e-mail address for this agent
 */
export const describeProvenFacts = (id: AgentId, emailVerified: boolean) => ({
  ...describeVerifiedDomain(id),
  email_verified: emailVerified,
})
