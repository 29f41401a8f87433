import { type AgentId, type RenewedAssertion, Scope, type StandingClaim } from '@plainpath/domain'
import { GRANT_TYPES, type ServiceUrls } from '@plainpath/metadata'
import type { z } from 'zod'
import type { IssueAssertion } from './issue-assertion.ts'

/** @returns undefined when the claim has ended meanwhile */
export type AnswerAssertion = (
  clientId: AgentId,
  claim: StandingClaim,
) => Promise<z.input<typeof RenewedAssertion> | undefined>

/** Issues an assertion as a client is answered: once its claim is completed, and whenever it asks for another. */
export const answerAssertion =
  (deps: { issueAssertion: IssueAssertion; urls: ServiceUrls }): AnswerAssertion =>
  async (clientId, claim) => {
    const issued = await deps.issueAssertion(clientId, claim)
    if (!issued) return undefined
    return {
      registration_id: claim.id,
      identity_type: 'verified_email',
      identity_assertion: issued.assertion,
      expires: issued.expiresAt.toISOString(),
      claim_expires_at: claim.expiresAt.toISOString(),
      grant_types: [...GRANT_TYPES],
      scopes: [...Scope.options],
      scope: Scope.options.join(' '),
      token_endpoint: deps.urls.token,
    }
  }
