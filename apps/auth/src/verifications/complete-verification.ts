import { type AgentId, err, getVerifiedDomain, ok, type Result, RULES } from '@plainpath/domain'
import type { ServiceUrls } from '@plainpath/metadata'
import { type HashKey, sha256, timingSafeEqualBytes } from '@plainpath/sealing'
import type { Stores } from '../stores.ts'
import { deriveRevocationSecret } from './revocation-link.ts'
import type { ConfirmedAgent, Verification } from './verification.ts'
import type { TryRefusal } from './verification-attempt.ts'
import { hashCode } from './verification-code.ts'
import { composeConfirmedMail } from './verification-mails.ts'

/** Why an entered code does not complete a verification. `remaining`: the number of remaining tries. */
export type CompletionRefusal =
  | { readonly reason: TryRefusal | 'unknown' }
  | { readonly reason: 'wrong'; readonly remaining: number }

/**
 * Turns an attempt into a verification if the entered code is correct. The try is committed before the codes are compared, so
 * neither a crash nor a concurrent request grants an extra try.
 *
 * @param request.code six digits
 * @param request.attemptId by default, the agent's open attempt, or else its newest one
 * @param request.purpose the purpose of the code; a code that was issued for another purpose is wrong
 * @param request.credentialVersion see `AuthenticatedAgent`. A person who signs in has no credentials
 * @returns the verification and the id of its attempt, or the refusal; `unknown` if the agent has no such attempt, is no
 *   longer active, or had a credential removed after it was authenticated
 */
export async function completeVerification(
  {
    stores,
    hashKey,
    urls,
    now,
  }: {
    stores: Pick<Stores, 'verificationAttempts' | 'verifications'>
    hashKey: HashKey
    urls: Pick<ServiceUrls, 'endClaim'>
    now: () => Date
  },
  {
    agent,
    code,
    credentialVersion,
    attemptId: requestedId,
    purpose,
  }: {
    agent: { id: AgentId } & Pick<ConfirmedAgent, 'name' | 'registeredAt' | 'appHost'>
    code: string
    attemptId?: string | undefined
  } & (
    | { purpose: 'agent'; credentialVersion: number }
    | { purpose: 'sign-in'; credentialVersion?: undefined }
  ),
): Promise<Result<{ verification: Verification; attemptId: string }, CompletionRefusal>> {
  const { verificationAttempts, verifications } = stores
  const countedTry = await verificationAttempts.countTry(
    { agentId: agent.id, attemptId: requestedId, credentialVersion },
    now(),
  )
  if (!countedTry.ok) return err({ reason: countedTry.error })
  const { attempt, remaining, mayMatch } = countedTry.value
  const enteredHash = hashCode(hashKey, purpose, attempt.id, code)
  if (!mayMatch || !attempt.code || !timingSafeEqualBytes(attempt.code.hash, enteredHash)) {
    if (attempt.tries >= RULES.verificationTries) await verificationAttempts.lockIfSpent(attempt.id)
    return err({ reason: 'wrong', remaining })
  }
  const redeemedAt = now()
  const secret = deriveRevocationSecret(hashKey, attempt.registrationId)
  const redeemed = await verifications.redeem({
    agentId: agent.id,
    attemptId: attempt.id,
    codeHash: enteredHash,
    revocationLinkHash: sha256(secret),
    now: redeemedAt,
    credentialVersion,
    expiresAt: new Date(redeemedAt.getTime() + RULES.verificationMs),
    composeMail: (verification, to) =>
      composeConfirmedMail(verification, {
        to,
        agent: { ...agent, verifiedDomain: getVerifiedDomain(agent.id) },
        url: urls.endClaim(secret),
      }),
  })
  if (!redeemed.ok) return err({ reason: redeemed.error })
  return ok({ verification: redeemed.value, attemptId: attempt.id })
}
