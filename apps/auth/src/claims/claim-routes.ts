import { type Agent, AgentId, numberInWords, type RenewedAssertion, RULES } from '@plainpath/domain'
import { type Caller, defineRoute, Problem, type ProblemCode, type Route } from '@plainpath/http'
import { operations } from '@plainpath/metadata'
import type { z } from 'zod'
import { invalidClient } from '../clients/authenticate-client.ts'
import { CLAIM_ADDRESS, CLAIM_MAIL, CLAIM_RESEND, LIMITS } from '../limits.ts'
import type { BeginClaim } from './begin-claim.ts'
import type { Claim } from './claim.ts'
import { normalisedCode } from './claim-code.ts'
import type { CompleteClaim, CompletionRefusal } from './complete-claim.ts'
import { maskAddress } from './mask-address.ts'
import type { ClaimAttemptStore } from './postgres-claim-attempts.ts'
import type { ClaimStore } from './postgres-claims.ts'

/** An assertion as its client is answered. @returns undefined when the claim has ended meanwhile */
type AnswerAssertion = (
  clientId: AgentId,
  claim: Claim,
) => Promise<z.input<typeof RenewedAssertion> | undefined>

export interface ClaimRouteDeps {
  readonly beginClaim: BeginClaim
  readonly completeClaim: CompleteClaim
  readonly answerAssertion: AnswerAssertion
  readonly attempts: Pick<ClaimAttemptStore, 'withdraw'>
  readonly claims: Pick<ClaimStore, 'end' | 'newest'>
  findAgent(id: AgentId): Promise<Agent | undefined>
  readonly now: () => Date
}

/**
 * `POST` and `DELETE /api/agent/claim`, `POST /api/agent/claim/complete`. A client that ends after it was authenticated
 * gets the same answer as before that.
 */
export function claimRoutes(deps: ClaimRouteDeps): Route[] {
  const limits = { address: LIMITS.address, client: LIMITS.client }
  const begin = defineRoute({
    ...operations.beginClaim,
    limits,
    async handle({ caller, body, request }) {
      const email = body.email ?? body.login_hint ?? ''
      await request.take(CLAIM_RESEND, `${caller.clientId}\n${email}`)
      await request.takeForAddress(CLAIM_ADDRESS)
      await request.take(CLAIM_MAIL, caller.clientId)
      const begun = await deps.beginClaim({ agentId: caller.clientId, email })
      if (!begun) throw invalidClient()
      return {
        status: 202,
        body: {
          registration_id: begun.registrationId,
          claim_attempt_id: begun.attemptId,
          status: 'initiated',
          match_phrase: begun.matchPhrase,
          expires_at: begun.expiresAt.toISOString(),
          delivery: { method: 'email', to: maskAddress(email) },
          otp_length: RULES.claimCodeDigits,
          attempts_allowed: RULES.claimTries,
          resend_after: CLAIM_RESEND.windowSeconds,
        },
      }
    },
  })

  const complete = defineRoute({
    ...operations.completeClaim,
    limits,
    async handle({ caller, body }) {
      const agent = await agentOf(caller, deps)
      const code = codeIn(body.otp ?? body.user_code ?? '', body.otp ? '#/otp' : '#/user_code')
      const completed = await deps.completeClaim({
        agent,
        code,
        attemptId: body.claim_attempt_id ?? undefined,
      })
      if (!completed.ok) throw refusalOf(completed.error)
      const { claim, attemptId } = completed.value
      const answer = await deps.answerAssertion(agent.id, claim)
      if (!answer) throw new Problem('claim-superseded')
      return { status: 200, body: { ...answer, claim_attempt_id: attemptId, status: 'completed' } }
    },
  })

  const end = defineRoute({
    ...operations.endClaim,
    limits,
    async handle({ caller }) {
      await deps.attempts.withdraw(caller.clientId)
      // Also one that has ended: the request may be the second try after a 503.
      const claim = await deps.claims.newest(caller.clientId)
      if (claim) await deps.claims.end(claim.id, 'agent', deps.now())
      return { status: 204 }
    },
  })

  return [begin, complete, end]
}

async function agentOf(caller: Caller, deps: ClaimRouteDeps): Promise<Agent> {
  const agent = await deps.findAgent(AgentId.parse(caller.clientId))
  if (!agent) throw invalidClient()
  return agent
}

/** What cannot be a code is no try. */
function codeIn(entered: string, pointer: string): string {
  const code = normalisedCode(entered)
  if (code !== undefined) return code
  const detail = `must be the ${numberInWords(RULES.claimCodeDigits)} digits that the person was shown, as a string`
  throw new Problem('invalid-request', { detail: `${pointer}: ${detail}.`, errors: [{ pointer, detail }] })
}

const PROBLEMS: Readonly<Record<Exclude<CompletionRefusal['reason'], 'wrong'>, ProblemCode>> = {
  unknown: 'claim-unknown',
  'code-not-shown': 'code-not-shown',
  'code-expired': 'otp-expired',
  completed: 'claim-completed',
  locked: 'otp-locked',
  declined: 'claim-declined',
  expired: 'claim-expired',
  superseded: 'claim-superseded',
  failed: 'claim-failed',
}

const refusalOf = (refusal: CompletionRefusal): Problem =>
  refusal.reason === 'wrong'
    ? new Problem('otp-invalid', { extensions: { attempts_remaining: refusal.remaining } })
    : new Problem(PROBLEMS[refusal.reason])
