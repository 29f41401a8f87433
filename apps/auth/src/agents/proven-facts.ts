import { type AgentId, verifiedDomain } from '@plainpath/domain'
import type { Caller } from '@plainpath/http'

/** The client as limits count it. */
export function identifyClient(id: AgentId): Pick<Caller, 'clientId' | 'verifiedDomain'> {
  const domain = verifiedDomain(id)
  return { clientId: id, ...(domain !== undefined && { verifiedDomain: domain }) }
}

/** The member `verified_domain` of a client; no member where no domain is proven. */
export function domainMember(id: AgentId): { verified_domain?: string } {
  const domain = verifiedDomain(id)
  return { ...(domain !== undefined && { verified_domain: domain }) }
}

/**
 * What an agent has proven, as responses, introspection and staff commands say it.
 *
 * @param emailVerified whether a person verified their e-mail for this agent
 */
export const provenFacts = (id: AgentId, emailVerified: boolean) => ({
  ...domainMember(id),
  email_verified: emailVerified,
})
