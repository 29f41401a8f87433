import { err, MAX_CLOCK_SKEW_MS, ok, type Result, RULES } from '@plainpath/domain'
import { MAX_INTROSPECTION_AGE_MS } from '@plainpath/revocation'
import { type HashKey, sha256 } from '@plainpath/sealing'
import { isVerificationLive } from './verification.ts'
import { type ClosedState, canDecline, computeState, isOpen } from './verification-attempt.ts'
import type { VerificationAttemptStore } from './verification-attempt-store.ts'
import { generateCode, hashCode } from './verification-code.ts'
import type { LinkedVerification, VerificationStore } from './verification-store.ts'

/** The content of the page that asks a person to confirm an agent. */
export interface ConfirmationPage {
  readonly agentId: string
  readonly matchPhrase: string
  /** The number of codes that can still be shown. */
  readonly codesLeft: number
  /** True if the page has shown a code before. */
  readonly wasCodeShown: boolean
}
interface ShownCode extends ConfirmationPage {
  readonly code: string
  readonly expiresAt: Date
}
/** Why the link can show no code. */
export interface LinkRefusal {
  readonly reason: ClosedState | 'no-codes-left' | 'unknown'
  readonly canDecline: boolean
}

/**
 * The dependencies of the actions behind the links in mails. There are two kinds: a link to the page that shows the
 * code, whose secret identifies an attempt, and a link that revokes a verification.
 */
export interface VerificationLinkDeps {
  readonly stores: {
    readonly verificationAttempts: Pick<VerificationAttemptStore, 'findByLink' | 'showCode' | 'decline'>
    readonly verifications: Pick<
      VerificationStore,
      | 'revoke'
      | 'revokeAllByAddress'
      | 'republishRevocations'
      | 'findByRevocationLink'
      | 'findByAttempt'
      | 'listByAddress'
    >
  }
  readonly hashKey: HashKey
  readonly now: () => Date
}

/** Finds the attempt of a link, with its current state as the person may see it. */
async function findLinkedAttempt({ stores, now }: VerificationLinkDeps, codePageSecret: string) {
  const requestTime = now()
  const found = await stores.verificationAttempts.findByLink(sha256(codePageSecret), requestTime)
  if (!found) return undefined
  const { attempt, matchPhrase, isBlocked } = found
  return {
    attempt,
    matchPhrase,
    // An attempt for a blocked mailbox looks declined, as in `findClosedState`.
    state: isBlocked ? 'declined' : computeState(attempt, requestTime),
    canDecline: !isBlocked && canDecline(attempt, requestTime),
  }
}

/** Finds the open attempt of a link, or the reason why the link can show no code. */
async function findOpenAttempt(
  deps: VerificationLinkDeps,
  codePageSecret: string,
): Promise<Result<{ id: string; page: ConfirmationPage }, LinkRefusal>> {
  const linkedAttempt = await findLinkedAttempt(deps, codePageSecret)
  if (!linkedAttempt) return err({ reason: 'unknown', canDecline: false })
  const { attempt, matchPhrase, state } = linkedAttempt
  if (!isOpen(state)) return err({ reason: state, canDecline: linkedAttempt.canDecline })
  // An open attempt always has its phrase, because only closing erases it. This check is for the type.
  if (matchPhrase === undefined) return err({ reason: 'expired', canDecline: false })
  return ok({ id: attempt.id, page: createConfirmationPage(attempt.agentId, matchPhrase, attempt.presses) })
}

/** Reads the content of the page behind the link. This changes nothing, because mail scanners also open links. */
export async function readConfirmationPage(
  deps: VerificationLinkDeps,
  codePageSecret: string,
): Promise<Result<ConfirmationPage, LinkRefusal>> {
  const openAttempt = await findOpenAttempt(deps, codePageSecret)
  return openAttempt.ok ? ok(openAttempt.value.page) : openAttempt
}

/** Creates a code, which replaces the previous one. The code cannot be read again, because only its hash is stored. */
export async function showCode(
  deps: VerificationLinkDeps,
  codePageSecret: string,
): Promise<Result<ShownCode, LinkRefusal>> {
  const openAttempt = await findOpenAttempt(deps, codePageSecret)
  if (!openAttempt.ok) return openAttempt
  const { id, page } = openAttempt.value
  const code = generateCode()
  const shown = await deps.stores.verificationAttempts.showCode(
    id,
    hashCode(deps.hashKey, 'agent', id, code),
    deps.now(),
  )
  if (!shown.ok) return err({ reason: shown.error, canDecline: false })
  const { presses, codeExpiresAt: expiresAt } = shown.value
  return ok({ ...createConfirmationPage(page.agentId, page.matchPhrase, presses), code, expiresAt })
}

/**
 * Declines the attempt, and revokes the verification that the agent has for the same address, if any. This works until the link
 * expires, even if the agent closed the attempt before.
 *
 * An earlier call may have revoked the verification and then failed to publish the revocation. The verification can no longer be found by
 * the attempt, so every call that finds none publishes the agent's revocations again.
 */
export async function declineVerification(
  deps: VerificationLinkDeps,
  codePageSecret: string,
): Promise<Result<void, LinkRefusal['reason']>> {
  const linkedAttempt = await findLinkedAttempt(deps, codePageSecret)
  if (!linkedAttempt) return err('unknown')
  const { state } = linkedAttempt
  const { verificationAttempts, verifications } = deps.stores
  const { id, agentId } = linkedAttempt.attempt
  if (!isOpen(state) && !linkedAttempt.canDecline) {
    // If the mailbox was already blocked, the attempt looks declined as soon as the verification is revoked. The page for this
    // state says that the access has ended. The link may also have expired since an earlier call.
    if (state === 'declined' || state === 'expired')
      await verifications.republishRevocations(agentId, deps.now())
    return err(state)
  }
  // This must run before declining, which erases the hash by which the verification is found.
  const liveVerification = await verifications.findByAttempt(id, deps.now())
  if (liveVerification) await verifications.revoke(liveVerification.id, 'person', deps.now())
  else await verifications.republishRevocations(agentId, deps.now())
  return verificationAttempts.decline(id, deps.now())
}

/** Why a link cannot revoke a verification: the link is unknown, or its verification has ended. */
export type RevocationRefusal = 'unknown' | 'already-ended'

/**
 * How long the page of a link offers to repeat a revocation, because publishing it may have failed: as long as an API may still
 * use a cached introspection. The clocks of two instances can differ by as much as `MAX_CLOCK_SKEW_MS` twice.
 */
const REPEATABLE_MS = MAX_INTROSPECTION_AGE_MS + 2 * MAX_CLOCK_SKEW_MS

/**
 * Finds at most 100 live verifications for the address of the linked verification, which comes first. The link can revoke them
 * all.
 *
 * @returns `just-ended` if the person revoked the linked verification so recently that a cached introspection may still be in
 *   use, should publishing the revocation have failed
 */
export async function findLinkedVerifications(
  { stores, now }: VerificationLinkDeps,
  revocationSecret: string,
): Promise<Result<readonly LinkedVerification[], RevocationRefusal | 'just-ended'>> {
  const verification = await stores.verifications.findByRevocationLink(sha256(revocationSecret))
  if (!verification) return err('unknown')
  const { endedAt, endedBy } = verification
  if (endedAt && endedBy === 'person' && now().getTime() < endedAt.getTime() + REPEATABLE_MS)
    return err('just-ended')
  if (!isVerificationLive(verification, now())) return err('already-ended')
  const linkedVerifications = await stores.verifications.listByAddress(verification.id, now())
  // The verification may have ended meanwhile. Its address is then erased, so it is not in the list.
  return linkedVerifications[0]?.verification.id === verification.id
    ? ok(linkedVerifications)
    : err('already-ended')
}

/**
 * Revokes the verification of the link or, with `all`, every live verification for the same address. For a verification that has
 * already ended, this only publishes its revocation again, and with `all` also those of the verifications that ended with it,
 * since an earlier request may have failed to publish them.
 *
 * @returns the secret of a link that revokes a remaining verification; undefined if no verification remains, or if no remaining
 *   one has a secret that can still be derived
 */
export async function revokeLinkedVerifications(
  { stores: { verifications }, now }: VerificationLinkDeps,
  revocationSecret: string,
  { all: shouldRevokeAll }: { all: boolean },
): Promise<Result<{ remainingSecret: string | undefined }, RevocationRefusal>> {
  const verification = await verifications.findByRevocationLink(sha256(revocationSecret))
  if (!verification) return err('unknown')
  const { id } = verification
  if (shouldRevokeAll) {
    const areRevoked = await verifications.revokeAllByAddress(id, now())
    return areRevoked ? ok({ remainingSecret: undefined }) : err('already-ended')
  }
  // This must run before revoking, which erases the address by which the others are found.
  const linkedVerifications = await verifications.listByAddress(id, now())
  if (!(await verifications.revoke(id, 'person', now()))) return err('already-ended')
  const revocableOther = linkedVerifications.find(
    (other) => other.verification.id !== id && other.revocationSecret !== undefined,
  )
  return ok({ remainingSecret: revocableOther?.revocationSecret })
}

const createConfirmationPage = (agentId: string, matchPhrase: string, presses: number): ConfirmationPage => ({
  agentId,
  matchPhrase,
  codesLeft: RULES.verificationCodes - presses,
  wasCodeShown: presses > 0,
})
