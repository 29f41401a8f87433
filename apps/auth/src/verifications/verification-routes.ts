import { AgentId, numberInWords, RULES } from '@plainpath/domain'
import { defineRoute, Problem, type ProblemCode, type Route } from '@plainpath/http'
import { parseMailbox } from '@plainpath/mail'
import { operations } from '@plainpath/metadata'
import type { HashKey } from '@plainpath/sealing'
import { type IssueAssertionDeps, issueAssertion } from '../assertions/issue-assertion.ts'
import { toAuthenticatedAgent } from '../clients/credential-version.ts'
import { createInvalidClientProblem } from '../clients/invalid-client.ts'
import {
  CLIENT_LIMITS,
  RENEWAL_ADDRESS_LIMIT,
  VERIFICATION_ADDRESS_LIMIT,
  VERIFICATION_MAIL_LIMIT,
  VERIFICATION_RESEND_LIMIT,
} from '../limits.ts'
import type { Stores } from '../stores.ts'
import { beginVerification } from './begin-verification.ts'
import { type CompletionRefusal, completeVerification } from './complete-verification.ts'
import { normaliseCode } from './verification-code.ts'

export interface VerificationRouteDeps extends IssueAssertionDeps {
  readonly stores: Pick<
    Stores,
    'agentCache' | 'verificationAttempts' | 'verifications' | 'identityAssertions'
  >
  readonly hashKey: HashKey
}

/**
 * Creates the routes `POST` and `DELETE /api/agent/claim` and `POST /api/agent/claim/complete`. If a client was disabled or
 * deleted after its authentication, or one of its credentials was removed, beginning or revoking a verification fails with
 * `invalid-client`, as if the authentication had failed.
 */
export function createVerificationRoutes(deps: VerificationRouteDeps): Route[] {
  const beginRoute = defineRoute({
    ...operations.beginClaim,
    limits: CLIENT_LIMITS,
    async handle({ caller, body, request }) {
      // `login_hint` is an alias of `email`. The schema requires one of them.
      const email = body.email ?? body.login_hint ?? ''
      await request.take(VERIFICATION_RESEND_LIMIT, `${caller.clientId}\n${parseMailbox(email).mailbox}`)
      const isRenewal = await deps.stores.verifications.isConfirmedBy(caller.clientId, email, deps.now())
      await request.takeForAddress(isRenewal ? RENEWAL_ADDRESS_LIMIT : VERIFICATION_ADDRESS_LIMIT)
      await request.take(VERIFICATION_MAIL_LIMIT, caller.clientId)
      const begunAttempt = await beginVerification(deps, {
        agentId: caller.clientId,
        email,
        network: request.network(),
        credentialVersion: caller.credentialVersion,
      })
      if (!begunAttempt) throw createInvalidClientProblem()
      return {
        status: 202,
        body: {
          registration_id: begunAttempt.registrationId,
          claim_attempt_id: begunAttempt.id,
          status: 'initiated',
          match_phrase: begunAttempt.matchPhrase,
          expires_at: begunAttempt.linkExpiresAt.toISOString(),
          delivery: { method: 'email', to: maskAddress(email) },
          otp_length: RULES.verificationCodeDigits,
          attempts_allowed: RULES.verificationTries,
          resend_after: VERIFICATION_RESEND_LIMIT.windowSeconds,
        },
      }
    },
  })

  const completeRoute = defineRoute({
    ...operations.completeClaim,
    limits: CLIENT_LIMITS,
    async handle({ caller, body }) {
      const agent = (await deps.stores.agentCache.find(AgentId.parse(caller.clientId)))?.agent
      if (!agent) throw createInvalidClientProblem()
      const code = requireCode(body.otp ?? body.user_code ?? '', body.otp ? '#/otp' : '#/user_code')
      const completed = await completeVerification(deps, {
        agent,
        code,
        purpose: 'agent',
        credentialVersion: caller.credentialVersion,
        attemptId: body.claim_attempt_id ?? undefined,
      })
      if (!completed.ok) throw toProblem(completed.error)
      const { verification, attemptId } = completed.value
      const assertion = await issueAssertion(deps, toAuthenticatedAgent(caller), verification)
      if (!assertion.ok)
        throw assertion.error === 'inactive' ? createInvalidClientProblem() : new Problem('claim-superseded')
      return { status: 200, body: { ...assertion.value, claim_attempt_id: attemptId, status: 'completed' } }
    },
  })

  const revokeRoute = defineRoute({
    ...operations.endClaim,
    limits: CLIENT_LIMITS,
    async handle({ caller }) {
      const agent = toAuthenticatedAgent(caller)
      if (!(await deps.stores.verifications.revokeByAgent(agent, deps.now())))
        throw createInvalidClientProblem()
      return { status: 204 }
    },
  })

  return [beginRoute, completeRoute, revokeRoute]
}

/** Masks an address so that its owner recognises it: `ana@example.org` becomes `a•••@example.org`. */
function maskAddress(address: string): string {
  const atIndex = address.lastIndexOf('@')
  const [firstCharacter = ''] = address.slice(0, atIndex)
  return `${firstCharacter}•••${address.slice(atIndex)}`
}

/**
 * Normalises the code in a request.
 *
 * @param pointer the JSON pointer of the code in the body, for the problem
 * @throws {Problem} for text that cannot be a code, which does not count as a try
 */
function requireCode(enteredCode: string, pointer: string): string {
  const code = normaliseCode(enteredCode)
  if (code !== undefined) return code
  const detail = `must be the ${numberInWords(RULES.verificationCodeDigits)} digits that the person was shown, as a string`
  throw new Problem('invalid-request', { detail: `${pointer}: ${detail}.`, errors: [{ pointer, detail }] })
}

const PROBLEM_CODES: Readonly<Record<Exclude<CompletionRefusal['reason'], 'wrong'>, ProblemCode>> = {
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
    : new Problem(PROBLEM_CODES[refusal.reason])
