import { err, ok, type Result, RULES } from '@plainpath/domain'
import { type HashKey, sha256 } from '@plainpath/sealing'
import { type Claim, isLive } from './claim.ts'
import { type ClosedState, isOpen, stateAt } from './claim-attempt.ts'
import { codeHash, newCode } from './claim-code.ts'
import type { ClaimAttemptStore } from './postgres-claim-attempts.ts'
import type { ClaimStore } from './postgres-claims.ts'

/** What the page behind a mailed link asks. */
export interface ClaimQuestion {
  readonly agentId: string
  readonly matchPhrase: string
  /** How many codes it can still show. */
  readonly codesLeft: number
  /** Whether it has shown one. */
  readonly shown: boolean
}
interface ShownCode extends ClaimQuestion {
  readonly code: string
  readonly expiresAt: Date
}
export type LinkRefusal = ClosedState | 'no-codes-left' | 'unknown'

/** What a person can do with the links of our mails. Looking changes nothing. */
export interface ClaimLink {
  ask(secret: string): Promise<Result<ClaimQuestion, LinkRefusal>>
  /** Makes a code and tells it, this once; the one before it is dead. */
  showCode(secret: string): Promise<Result<ShownCode, LinkRefusal>>
  /** Also ends what the agent may do since the same address confirmed it before. */
  decline(secret: string): Promise<Result<void, LinkRefusal>>
  /** @returns the claim that the link can end; undefined when it has ended, or there is none */
  findClaim(secret: string): Promise<Claim | undefined>
  /** @returns false when it had ended, or there is none */
  end(secret: string): Promise<boolean>
}

export function claimLink(deps: {
  attempts: Pick<ClaimAttemptStore, 'findByLink' | 'press' | 'decline'>
  claims: Pick<ClaimStore, 'end' | 'findByEndLink' | 'findOfAttempt'>
  hashKey: HashKey
  now: () => Date
}): ClaimLink {
  const { attempts, claims, now } = deps

  async function find(secret: string) {
    const at = now()
    const linked = await attempts.findByLink(sha256(secret), at)
    if (!linked) return err('unknown')
    const { attempt, matchPhrase, blocked } = linked
    const state = stateAt(attempt, at)
    if (matchPhrase === undefined || !isOpen(state)) return err(isOpen(state) ? 'expired' : state)
    if (blocked) return err('declined')
    const codesLeft = RULES.claimCodes - attempt.presses
    return ok({ attempt, question: questionOf(attempt.agentId, matchPhrase, codesLeft) })
  }

  async function findClaim(secret: string): Promise<Claim | undefined> {
    const claim = await claims.findByEndLink(sha256(secret))
    return claim && isLive(claim, now()) ? claim : undefined
  }

  return {
    async ask(secret) {
      const found = await find(secret)
      return found.ok ? ok(found.value.question) : found
    },
    async showCode(secret) {
      const found = await find(secret)
      if (!found.ok) return found
      const { attempt, question } = found.value
      const code = newCode()
      const pressed = await attempts.press(attempt.id, codeHash(deps.hashKey, attempt.id, code), now())
      if (!pressed.ok) return pressed
      const { presses, codeExpiresAt: expiresAt } = pressed.value
      return ok({
        ...questionOf(question.agentId, question.matchPhrase, RULES.claimCodes - presses),
        code,
        expiresAt,
      })
    },
    async decline(secret) {
      const found = await find(secret)
      if (!found.ok) return found
      const { id } = found.value.attempt
      // First, since an attempt that was declined has no address to find it by.
      const before = await claims.findOfAttempt(id, now())
      if (before) await claims.end(before.id, 'person', now())
      return attempts.decline(id, now())
    },
    findClaim,
    async end(secret) {
      const claim = await claims.findByEndLink(sha256(secret))
      return claim ? claims.end(claim.id, 'person', now()) : false
    },
  }
}

const questionOf = (agentId: string, matchPhrase: string, codesLeft: number): ClaimQuestion => ({
  agentId,
  matchPhrase,
  codesLeft,
  shown: codesLeft < RULES.claimCodes,
})
