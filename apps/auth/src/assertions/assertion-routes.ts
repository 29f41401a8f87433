import { AgentId } from '@plainpath/domain'
import { defineRoute, Problem, type Route } from '@plainpath/http'
import { operations } from '@plainpath/metadata'
import { CLIENT_LIMITS } from '../limits.ts'
import type { Stores } from '../stores.ts'
import { type IssueAssertionDeps, issueAssertion } from './issue-assertion.ts'

export interface AssertionRouteDeps extends IssueAssertionDeps {
  stores: Pick<Stores, 'claims' | 'identityAssertions'>
}

/** `POST /api/agent/assertion`. */
export const assertionRoutes = (deps: AssertionRouteDeps): Route[] => [
  defineRoute({
    ...operations.createAssertion,
    limits: CLIENT_LIMITS,
    async handle({ caller }) {
      const id = AgentId.parse(caller.clientId)
      const claim = await deps.stores.claims.live(id, deps.now())
      const answer = claim && (await issueAssertion(deps, id, claim))
      if (!answer) throw await noClaim(deps.stores, id)
      return { status: 200, body: answer }
    },
  }),
]

/** Tells a client, which has authenticated, whether its claim has ended; not by whom. */
async function noClaim({ claims }: Pick<Stores, 'claims'>, id: AgentId): Promise<Problem> {
  const ended = await claims.newest(id)
  return new Problem('no-claim', ended && { detail: ENDED })
}

const ENDED =
  'The confirmation of this agent has ended: its assertions and their tokens are no longer accepted. Do not ask the person ' +
  'again on your own. Begin another claim with POST /api/agent/claim only if the person tells you to. Reading guides and ' +
  'joining the waitlist need no claim.'
