import { err, ok, type Result, RULES } from '@plainpath/domain'
import { type HashKey, sha256 } from '@plainpath/sealing'
import { isLive } from './claim.ts'
import { type ClosedState, isOpen, stateAt } from './claim-attempt.ts'
import { codeHash, generateCode } from './claim-code.ts'
import type { ClaimAttemptStore } from './postgres-claim-attempts.ts'
import type { ClaimStore, LinkedClaim } from './postgres-claims.ts'

/** What the page behind a mailed link shows. */
export interface ClaimQuestion {
  readonly agentId: string
  readonly matchPhrase: string
  /** How many codes can still be shown. */
  readonly codesLeft: number
  /** True when a code was shown before. */
  readonly shown: boolean
}
interface ShownCode extends ClaimQuestion {
  readonly code: string
  readonly expiresAt: Date
}
export type LinkRefusal = ClosedState | 'no-codes-left' | 'unknown'

/** What the links in mails give access to. */
export interface ClaimLinkDeps {
  readonly stores: {
    readonly claimAttempts: Pick<ClaimAttemptStore, 'findByLink' | 'press' | 'decline'>
    readonly claims: Pick<ClaimStore, 'end' | 'findByEndLink' | 'findOfAttempt' | 'listOfAddress'>
  }
  readonly hashKey: HashKey
  readonly now: () => Date
}

async function findOpen({ stores, now }: ClaimLinkDeps, secret: string) {
  const at = now()
  const linked = await stores.claimAttempts.findByLink(sha256(secret), at)
  if (!linked) return err('unknown')
  const { attempt, matchPhrase, blocked } = linked
  const state = stateAt(attempt, at)
  if (matchPhrase === undefined || !isOpen(state)) return err(isOpen(state) ? 'expired' : state)
  if (blocked) return err('declined')
  return ok({ id: attempt.id, question: toQuestion(attempt.agentId, matchPhrase, attempt.presses) })
}

/** Reads what the page asks. Changes nothing, since mail scanners open links too. */
export async function askAboutClaim(
  deps: ClaimLinkDeps,
  secret: string,
): Promise<Result<ClaimQuestion, LinkRefusal>> {
  const found = await findOpen(deps, secret)
  return found.ok ? ok(found.value.question) : found
}

/** Creates a code and returns it, this once. Invalidates the code before it. */
export async function showCode(deps: ClaimLinkDeps, secret: string): Promise<Result<ShownCode, LinkRefusal>> {
  const found = await findOpen(deps, secret)
  if (!found.ok) return found
  const { id, question } = found.value
  const code = generateCode()
  const pressed = await deps.stores.claimAttempts.press(
    id,
    codeHash(deps.hashKey, 'agent', id, code),
    deps.now(),
  )
  if (!pressed.ok) return pressed
  const { presses, codeExpiresAt: expiresAt } = pressed.value
  return ok({ ...toQuestion(question.agentId, question.matchPhrase, presses), code, expiresAt })
}

/** Declines the attempt, and revokes the claim that the agent has for the same address, if any. */
export async function declineClaim(deps: ClaimLinkDeps, secret: string): Promise<Result<void, LinkRefusal>> {
  const found = await findOpen(deps, secret)
  if (!found.ok) return found
  const { claimAttempts, claims } = deps.stores
  const { id } = found.value
  // Before declining, which erases the address that finds the claim.
  const before = await claims.findOfAttempt(id, deps.now())
  if (before) await claims.end(before.id, 'person', deps.now())
  return claimAttempts.decline(id, deps.now())
}

/** Why a link ends no claim: it is none of ours, or its claim has ended. */
export type EndRefusal = 'unknown' | 'already-ended'

/** Finds all live claims for the address of the link's claim: the claim of the link first. The link can revoke each of them. */
export async function findLinkedClaims(
  { stores, now }: ClaimLinkDeps,
  secret: string,
): Promise<Result<readonly LinkedClaim[], EndRefusal>> {
  const claim = await stores.claims.findByEndLink(sha256(secret))
  if (!claim) return err('unknown')
  if (!isLive(claim, now())) return err('already-ended')
  const linked = await stores.claims.listOfAddress(claim.id, now())
  // The claim may have ended meanwhile, and its address with it.
  return linked[0]?.claim.id === claim.id ? ok(linked) : err('already-ended')
}

/**
 * Revokes the claim of the link, or all claims for its address.
 *
 * @returns the secret that ends one that is left, for the page that lists them
 */
export async function endLinkedClaims(
  deps: ClaimLinkDeps,
  secret: string,
  { all }: { all: boolean },
): Promise<Result<{ left: string | undefined }, EndRefusal>> {
  const { claims } = deps.stores
  const linked = await findLinkedClaims(deps, secret)
  if (!linked.ok) {
    // Also a claim that has ended: an earlier request may have failed before it was published.
    const claim = await claims.findByEndLink(sha256(secret))
    if (claim) await claims.end(claim.id, 'person', deps.now())
    return linked
  }
  const [first, ...others] = linked.value
  if (!all) {
    const isEnded = first !== undefined && (await claims.end(first.claim.id, 'person', deps.now()))
    const left = others.find(({ endSecret }) => endSecret !== undefined)?.endSecret
    return isEnded ? ok({ left }) : err('already-ended')
  }
  // The claim of the link last: while it lives, the link can end what is left if a request fails midway.
  for (const { claim } of linked.value.toReversed()) await claims.end(claim.id, 'person', deps.now())
  return ok({ left: undefined })
}

const toQuestion = (agentId: string, matchPhrase: string, presses: number): ClaimQuestion => ({
  agentId,
  matchPhrase,
  codesLeft: RULES.claimCodes - presses,
  shown: presses > 0,
})
