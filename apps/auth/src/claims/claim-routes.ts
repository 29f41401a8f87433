import { AgentId, numberInWords, RULES } from '@plainpath/domain'
import { defineRoute, Problem, type ProblemCode, type Route } from '@plainpath/http'
import { parseMailbox } from '@plainpath/mail'
import { operations } from '@plainpath/metadata'
import type { HashKey } from '@plainpath/sealing'
import { type IssueAssertionDeps, issueAssertion } from '../assertions/issue-assertion.ts'
import { invalidClient } from '../clients/invalid-client.ts'
import { CLAIM_ADDRESS, CLAIM_MAIL, CLAIM_RESEND, CLIENT_LIMITS } from '../limits.ts'
import type { Stores } from '../stores.ts'
import { beginClaim } from './begin-claim.ts'
import { isUnrevoked } from './claim.ts'
import { normaliseCode } from './claim-code.ts'
import { type CompletionRefusal, completeClaim } from './complete-claim.ts'

export interface ClaimRouteDeps extends IssueAssertionDeps {
  readonly stores: Pick<Stores, 'cachedAgents' | 'claimAttempts' | 'claims' | 'identityAssertions'>
  readonly hashKey: HashKey
}

/**
 * Creates the routes `POST` and `DELETE /api/agent/claim` and `POST /api/agent/claim/complete`. A client that is disabled
 * or deleted after it was authenticated gets the same response as one that was before: `invalid-client`.
 */
export function claimRoutes(deps: ClaimRouteDeps): Route[] {
  const begin = defineRoute({
    ...operations.beginClaim,
    limits: CLIENT_LIMITS,
    async handle({ caller, body, request }) {
      const email = body.email ?? body.login_hint ?? ''
      await request.take(CLAIM_RESEND, `${caller.clientId}\n${parseMailbox(email).mailbox}`)
      // A client that a person has confirmed is exempt, so that others behind its address cannot lock it out.
      const confirmed = await deps.stores.claims.newest(caller.clientId)
      if (!confirmed || !isUnrevoked(confirmed)) await request.takeForAddress(CLAIM_ADDRESS)
      await request.take(CLAIM_MAIL, caller.clientId)
      const begun = await beginClaim(deps, { agentId: caller.clientId, email, network: request.network() })
      if (!begun) throw invalidClient()
      return {
        status: 202,
        body: {
          registration_id: begun.registrationId,
          claim_attempt_id: begun.id,
          status: 'initiated',
          match_phrase: begun.matchPhrase,
          expires_at: begun.linkExpiresAt.toISOString(),
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
    limits: CLIENT_LIMITS,
    async handle({ caller, body }) {
      const agent = (await deps.stores.cachedAgents.find(AgentId.parse(caller.clientId)))?.agent
      if (!agent) throw invalidClient()
      const code = codeIn(body.otp ?? body.user_code ?? '', body.otp ? '#/otp' : '#/user_code')
      const attempt = { agent, code, attemptId: body.claim_attempt_id ?? undefined }
      const completed = await completeClaim(deps, attempt)
      if (!completed.ok) throw toProblem(completed.error)
      const { claim, attemptId } = completed.value
      const answer = await issueAssertion(deps, agent.id, claim)
      if (!answer) throw new Problem('claim-superseded')
      return { status: 200, body: { ...answer, claim_attempt_id: attemptId, status: 'completed' } }
    },
  })

  const end = defineRoute({
    ...operations.endClaim,
    limits: CLIENT_LIMITS,
    async handle({ caller }) {
      const { claimAttempts, claims } = deps.stores
      await claimAttempts.withdraw(caller.clientId)
      // Also a claim that has ended: the request may be a retry after a 503.
      const claim = await claims.newest(caller.clientId)
      if (claim) await claims.end(claim.id, 'agent', deps.now())
      return { status: 204 }
    },
  })

  return [begin, complete, end]
}

/** Masks an address so that its owner recognises it: `ana@example.org` becomes `a•••@example.org`. */
function maskAddress(typed: string): string {
  const at = typed.lastIndexOf('@')
  const [first = ''] = typed.slice(0, at)
  return `${first}•••${typed.slice(at)}`
}

/** Normalises the code in a request. @throws {Problem} for text that cannot be a code, which does not count as a try */
function codeIn(entered: string, pointer: string): string {
  const code = normaliseCode(entered)
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
}

const toProblem = (refusal: CompletionRefusal): Problem =>
  refusal.reason === 'wrong'
    ? new Problem('otp-invalid', { extensions: { attempts_remaining: refusal.remaining } })
    : new Problem(PROBLEMS[refusal.reason])
