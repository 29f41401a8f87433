import { type AgentId, getVerifiedDomain } from '@plainpath/domain'
import type { Caller } from '@plainpath/http'

/** Returns the fields of `Caller` that identify a client, by which its requests are counted. */
export function identifyClient(id: AgentId): Pick<Caller, 'clientId' | 'verifiedDomain'> {
  const domain = getVerifiedDomain(id)
  return { clientId: id, ...(domain !== undefined && { verifiedDomain: domain }) }
}

/** Returns an object with `verified_domain`, or an empty object if the client has not proven a domain. */
export function describeVerifiedDomain(id: AgentId): { verified_domain?: string } {
  const domain = getVerifiedDomain(id)
  return { ...(domain !== undefined && { verified_domain: domain }) }
}

/**
 * Builds the members that say what an agent has proven, for responses, introspection and commands.
 *
 * @param isEmailVerified true if a person verified their e-mail address for this agent
 */
export const describeProvenFacts = (id: AgentId, isEmailVerified: boolean) => ({
  ...describeVerifiedDomain(id),
  email_verified: isEmailVerified,
})
