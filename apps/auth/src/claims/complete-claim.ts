import { type AgentId, err, ok, type Result, RULES, verifiedDomain } from '@plainpath/domain'
import type { ServiceUrls } from '@plainpath/metadata'
import { equalBytes, type HashKey, sha256 } from '@plainpath/sealing'
import type { Stores } from '../stores.ts'
import type { Claim, ConfirmedAgent } from './claim.ts'
import type { TryRefusal } from './claim-attempt.ts'
import { type CodePurpose, codeHash } from './claim-code.ts'
import { claimConfirmedMail } from './claim-mails.ts'
import { endLinkSecret } from './end-link.ts'

/** Why an entered code does not complete a claim. `remaining` is how many tries are left. */
export type CompletionRefusal =
  | { readonly reason: TryRefusal | 'unknown' }
  | { readonly reason: 'wrong'; readonly remaining: number }

/**
 * Completes a claim: turns an attempt into a claim if the entered code is right. The try is counted durably before the
 * code is compared, so neither a crash nor a concurrent request grants an extra try.
 *
 * @param request.code six digits
 * @param request.purpose what the code must be for; a code for anything else is wrong
 */
export async function completeClaim(
  {
    stores,
    hashKey,
    urls,
    now,
  }: {
    stores: Pick<Stores, 'claimAttempts' | 'claims'>
    hashKey: HashKey
    urls: Pick<ServiceUrls, 'endClaim'>
    now: () => Date
  },
  {
    agent,
    code,
    attemptId: requestedId,
    purpose = 'agent',
  }: {
    agent: { id: AgentId } & Pick<ConfirmedAgent, 'name' | 'registeredAt' | 'appHost'>
    code: string
    attemptId?: string | undefined
    purpose?: CodePurpose
  },
): Promise<Result<{ claim: Claim; attemptId: string }, CompletionRefusal>> {
  const { claimAttempts, claims } = stores
  const counted = await claimAttempts.countTry({ agentId: agent.id, attemptId: requestedId }, now())
  if (!counted.ok) return err({ reason: counted.error })
  const { attempt, remaining, mayMatch } = counted.value
  const entered = codeHash(hashKey, purpose, attempt.id, code)
  if (!mayMatch || !attempt.code || !equalBytes(attempt.code.hash, entered)) {
    if (attempt.tries >= RULES.claimTries) await claimAttempts.lockIfSpent(attempt.id)
    return err({ reason: 'wrong', remaining })
  }
  const redeemedAt = now()
  const secret = endLinkSecret(hashKey, attempt.registrationId)
  const redeemed = await claims.redeem({
    attemptId: attempt.id,
    codeHash: entered,
    endLinkHash: sha256(secret),
    now: redeemedAt,
    expiresAt: new Date(redeemedAt.getTime() + RULES.claimMs),
    mail: (claim, to) =>
      claimConfirmedMail(claim, {
        to,
        agent: { ...agent, verifiedDomain: verifiedDomain(agent.id) },
        url: urls.endClaim(secret),
      }),
  })
  if (!redeemed.ok) return err({ reason: redeemed.error })
  return ok({ claim: redeemed.value, attemptId: attempt.id })
}
