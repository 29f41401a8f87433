import type { AgentId } from '@plainpath/domain'
import { defineRoute, Problem, type Route } from '@plainpath/http'
import { operations } from '@plainpath/metadata'
import { toAuthenticatedAgent } from '../clients/credential-version.ts'
import { createInvalidClientProblem } from '../clients/invalid-client.ts'
import { CLIENT_LIMITS } from '../limits.ts'
import type { Stores } from '../stores.ts'
import { type IssueAssertionDeps, issueAssertion } from './issue-assertion.ts'

export interface AssertionRouteDeps extends IssueAssertionDeps {
  stores: Pick<Stores, 'verifications' | 'identityAssertions'>
}

/**
 * Creates the route `POST /api/agent/assertion`. If a client was disabled or deleted after its authentication, or one of its
 * credentials was removed, it gets `invalid-client`, as if the authentication had failed.
 */
export const createAssertionRoutes = (deps: AssertionRouteDeps): Route[] => [
  defineRoute({
    ...operations.createAssertion,
    limits: CLIENT_LIMITS,
    async handle({ caller }) {
      const agent = toAuthenticatedAgent(caller)
      const verification = await deps.stores.verifications.findLive(agent.id, deps.now())
      const assertion = verification && (await issueAssertion(deps, agent, verification))
      if (assertion?.ok) return { status: 200, body: assertion.value }
      if (assertion?.error === 'inactive') throw createInvalidClientProblem()
      throw await createNoClaimProblem(deps.stores, agent.id)
    },
  }),
]

/**
 * Creates the problem for a client without a live verification. The problem says whether an earlier verification has ended, but
 * not who ended it.
 */
async function createNoClaimProblem(
  { verifications }: Pick<Stores, 'verifications'>,
  id: AgentId,
): Promise<Problem> {
  const endedVerification = await verifications.findNewest(id)
  return new Problem('no-claim', endedVerification && { detail: ENDED_DETAIL })
}

const ENDED_DETAIL =
  'The confirmation of this agent has ended: its assertions and their tokens are no longer accepted. Do not ask the person ' +
  'again on your own. Begin another claim with POST /api/agent/claim only if the person tells you to. Reading guides and ' +
  'joining the waitlist need no claim.'
