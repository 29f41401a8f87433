import { AgentId, type StandingClaim } from '@plainpath/domain'
import { defineRoute, Problem, type Route } from '@plainpath/http'
import { operations } from '@plainpath/metadata'
import { LIMITS } from '../limits.ts'
import type { AnswerAssertion } from './answer-assertion.ts'

export interface AssertionRouteDeps {
  /** The claim of a client, while it stands. */
  standingClaim(id: AgentId): Promise<StandingClaim | undefined>
  answerAssertion: AnswerAssertion
}

/** `POST /api/agent/assertion`. */
export const assertionRoutes = (deps: AssertionRouteDeps): Route[] => [
  defineRoute({
    ...operations.createAssertion,
    limits: { address: LIMITS.address, client: LIMITS.client },
    async handle({ caller }) {
      const id = AgentId.parse(caller.clientId)
      const claim = await deps.standingClaim(id)
      const answer = claim && (await deps.answerAssertion(id, claim))
      if (!answer) throw new Problem('no-claim')
      return { status: 200, body: answer }
    },
  }),
]
