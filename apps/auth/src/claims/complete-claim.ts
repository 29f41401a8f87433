import { err, ok, type Result, RULES } from '@plainpath/domain'
import { equalBytes, type HashKey, sha256 } from '@plainpath/sealing'
import { newLinkSecret } from './begin-claim.ts'
import type { Claim } from './claim.ts'
import type { TryRefusal } from './claim-attempt.ts'
import { codeHash } from './claim-code.ts'
import { claimConfirmedMail } from './claim-mails.ts'
import type { ClaimAttemptStore } from './postgres-claim-attempts.ts'
import type { ClaimStore } from './postgres-claims.ts'

export type CompletionRefusal =
  | { readonly reason: TryRefusal | 'unknown' }
  | { readonly reason: 'wrong'; readonly remaining: number }

export type CompleteClaim = (request: {
  agent: { id: string; registeredAt: Date }
  /** Six digits. */
  code: string
  attemptId?: string | undefined
}) => Promise<Result<{ claim: Claim; attemptId: string }, CompletionRefusal>>

/**
 * Makes a claim of an attempt whose code is given back. The try is counted, and durable, before anything is compared:
 * no crash, no other process and no failure of ours gives another one.
 */
export const completeClaim =
  (deps: {
    attempts: Pick<ClaimAttemptStore, 'countTry' | 'lockIfSpent'>
    claims: Pick<ClaimStore, 'redeem'>
    hashKey: HashKey
    /** Of the page that ends the claim. */
    endUrl: (secret: string) => string
    now: () => Date
  }): CompleteClaim =>
  async ({ agent, code, attemptId: named }) => {
    const counted = await deps.attempts.countTry({ agentId: agent.id, attemptId: named }, deps.now())
    if (!counted.ok) return err({ reason: counted.error })
    const { attempt, remaining } = counted.value
    const entered = codeHash(deps.hashKey, attempt.id, code)
    if (!attempt.code || !equalBytes(attempt.code.hash, entered)) {
      if (attempt.tries >= RULES.claimTries) await deps.attempts.lockIfSpent(attempt.id)
      return err({ reason: 'wrong', remaining })
    }
    const now = deps.now()
    const secret = newLinkSecret()
    const redeemed = await deps.claims.redeem({
      attemptId: attempt.id,
      codeHash: entered,
      endLinkHash: sha256(secret),
      now,
      expiresAt: new Date(now.getTime() + RULES.claimMs),
      mail: (claim, to) =>
        claimConfirmedMail(claim, { to, agentRegisteredAt: agent.registeredAt, url: deps.endUrl(secret) }),
    })
    return redeemed.ok
      ? ok({ claim: redeemed.value, attemptId: attempt.id })
      : err({ reason: redeemed.error })
  }
