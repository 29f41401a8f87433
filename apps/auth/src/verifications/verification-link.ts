import { err, ok, type Result, RULES } from '@plainpath/domain'
import { type HashKey, sha256 } from '@plainpath/sealing'
import { isVerificationLive } from './verification.ts'
import { type ClosedState, computeState, isOpen } from './verification-attempt.ts'
import type { VerificationAttemptStore } from './verification-attempt-store.ts'
import { generateCode, hashCode } from './verification-code.ts'
import type { LinkedVerification, VerificationStore } from './verification-store.ts'

/** The content of the page behind a mailed link. */
export interface VerificationQuestion {
  readonly agentId: string
  readonly matchPhrase: string
  /** The number of codes that can still be shown. */
  readonly codesLeft: number
  /** True if a code was shown before. */
  readonly hasShownCode: boolean
}
interface ShownCode extends VerificationQuestion {
  readonly code: string
  readonly expiresAt: Date
}
export type LinkRefusal = ClosedState | 'no-codes-left' | 'unknown'

/** The dependencies of the actions behind the links in mails. */
export interface VerificationLinkDeps {
  readonly stores: {
    readonly verificationAttempts: Pick<VerificationAttemptStore, 'findByLink' | 'showCode' | 'decline'>
    readonly verifications: Pick<
      VerificationStore,
      'revoke' | 'findByRevocationLink' | 'findByAttempt' | 'listByAddress'
    >
  }
  readonly hashKey: HashKey
  readonly now: () => Date
}

async function findOpenAttempt({ stores, now }: VerificationLinkDeps, secret: string) {
  const requestTime = now()
  const linkedAttempt = await stores.verificationAttempts.findByLink(sha256(secret), requestTime)
  if (!linkedAttempt) return err('unknown')
  const { attempt, matchPhrase, isBlocked } = linkedAttempt
  const state = computeState(attempt, requestTime)
  if (!isOpen(state)) return err(state)
  if (matchPhrase === undefined) return err('expired')
  if (isBlocked) return err('declined')
  return ok({ id: attempt.id, question: toQuestion(attempt.agentId, matchPhrase, attempt.presses) })
}

/** Reads the question for the page behind the link. It changes nothing, because mail scanners also open links. */
export async function readQuestion(
  deps: VerificationLinkDeps,
  secret: string,
): Promise<Result<VerificationQuestion, LinkRefusal>> {
  const linkedAttempt = await findOpenAttempt(deps, secret)
  return linkedAttempt.ok ? ok(linkedAttempt.value.question) : linkedAttempt
}

/** Creates a code, which replaces the previous one. The code cannot be read again, because only its hash is stored. */
export async function showCode(
  deps: VerificationLinkDeps,
  secret: string,
): Promise<Result<ShownCode, LinkRefusal>> {
  const linkedAttempt = await findOpenAttempt(deps, secret)
  if (!linkedAttempt.ok) return linkedAttempt
  const { id, question } = linkedAttempt.value
  const code = generateCode()
  const shown = await deps.stores.verificationAttempts.showCode(
    id,
    hashCode(deps.hashKey, 'agent', id, code),
    deps.now(),
  )
  if (!shown.ok) return shown
  const { presses, codeExpiresAt: expiresAt } = shown.value
  return ok({ ...toQuestion(question.agentId, question.matchPhrase, presses), code, expiresAt })
}

/** Declines the attempt, and revokes the verification that the agent has for the same address, if any. */
export async function declineVerification(
  deps: VerificationLinkDeps,
  secret: string,
): Promise<Result<void, LinkRefusal>> {
  const linkedAttempt = await findOpenAttempt(deps, secret)
  if (!linkedAttempt.ok) return linkedAttempt
  const { verificationAttempts, verifications } = deps.stores
  const { id } = linkedAttempt.value
  // This must run before declining, which erases the address by which the verification is found.
  const liveVerification = await verifications.findByAttempt(id, deps.now())
  if (liveVerification) await verifications.revoke(liveVerification.id, 'person', deps.now())
  return verificationAttempts.decline(id, deps.now())
}

/** Why a link cannot revoke a verification: the link is unknown, or its verification has ended. */
export type RevocationRefusal = 'unknown' | 'already-ended'

/**
 * Finds at most 100 live verifications for the address of the linked verification, which comes first. The link can revoke them all.
 */
export async function findLinkedVerifications(
  { stores, now }: VerificationLinkDeps,
  secret: string,
): Promise<Result<readonly LinkedVerification[], RevocationRefusal>> {
  const verification = await stores.verifications.findByRevocationLink(sha256(secret))
  if (!verification) return err('unknown')
  if (!isVerificationLive(verification, now())) return err('already-ended')
  const linkedVerifications = await stores.verifications.listByAddress(verification.id, now())
  // The verification may have ended meanwhile. Its address is then erased, so it is not in the list.
  return linkedVerifications[0]?.verification.id === verification.id
    ? ok(linkedVerifications)
    : err('already-ended')
}

/**
 * Revokes the verification of the link or, with `all`, every verification that `findLinkedVerifications` finds.
 *
 * @returns the secret of a link that revokes a remaining verification; undefined if none remains
 */
export async function revokeLinkedVerifications(
  deps: VerificationLinkDeps,
  secret: string,
  { all: shouldRevokeAll }: { all: boolean },
): Promise<Result<{ left: string | undefined }, RevocationRefusal>> {
  const { verifications } = deps.stores
  const linkedVerifications = await findLinkedVerifications(deps, secret)
  if (!linkedVerifications.ok) {
    // A verification that has ended is revoked again, since an earlier request may have failed to publish the revocation.
    const verification = await verifications.findByRevocationLink(sha256(secret))
    if (verification) await verifications.revoke(verification.id, 'person', deps.now())
    return linkedVerifications
  }
  const [linkedVerification, ...others] = linkedVerifications.value
  if (!shouldRevokeAll) {
    const isRevoked =
      linkedVerification !== undefined &&
      (await verifications.revoke(linkedVerification.verification.id, 'person', deps.now()))
    const remainingSecret = others.find(
      ({ revocationSecret }) => revocationSecret !== undefined,
    )?.revocationSecret
    return isRevoked ? ok({ left: remainingSecret }) : err('already-ended')
  }
  // The linked verification is revoked last: if the request fails midway, the link can still revoke the others.
  for (const { verification } of linkedVerifications.value.toReversed())
    await verifications.revoke(verification.id, 'person', deps.now())
  return ok({ left: undefined })
}

const toQuestion = (agentId: string, matchPhrase: string, presses: number): VerificationQuestion => ({
  agentId,
  matchPhrase,
  codesLeft: RULES.claimCodes - presses,
  hasShownCode: presses > 0,
})
