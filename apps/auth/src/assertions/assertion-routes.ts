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
      if (!answer) throw new Problem('no-claim')
      return { status: 200, body: answer }
    },
  }),
]
