import { err, ok, type Result, RULES } from '@plainpath/domain'
import { equalBytes } from '@plainpath/sealing'

/** Codes entered for one mailbox within `RULES.mailboxTriesMs`, over all agents and attempts. */
const TRIES_OF_MAILBOX = 10

export const OPEN_STATES = ['initiated', 'sent', 'code_shown'] as const
export const CLOSED_STATES = ['completed', 'locked', 'declined', 'expired', 'superseded', 'failed'] as const
export type OpenState = (typeof OPEN_STATES)[number]
export type ClosedState = (typeof CLOSED_STATES)[number]
export type AttemptState = OpenState | ClosedState

/** A code as it is kept: `hash` is keyed and bound to the attempt. */
interface KeptCode {
  readonly hash: Buffer
  readonly expiresAt: Date
}

export interface ClaimAttempt {
  readonly id: string
  /** The id of the claim it may become. */
  readonly registrationId: string
  readonly agentId: string
  /** As it is stored; `stateAt` says what it is at a time. */
  readonly state: AttemptState
  readonly linkExpiresAt: Date
  /** How many codes were made, and how many were entered. */
  readonly presses: number
  readonly tries: number
  /** In state `code_shown` only. */
  readonly code: KeptCode | undefined
}

/** What is known of the mailbox beside the attempt. */
export interface MailboxFacts {
  /** Its owner said no within 30 days, and has not confirmed this agent before. */
  readonly blocked: boolean
  /** Codes entered for it within 24 hours that were not the right one. */
  readonly tries: number
}

export const isOpen = (state: AttemptState): state is OpenState =>
  (OPEN_STATES as readonly string[]).includes(state)

/** What the attempt is at `now`: time and tries close it, whether or not anybody has written so. */
export function stateAt<State extends AttemptState>(
  attempt: ClaimAttempt & { readonly state: State },
  now: Date,
): State | 'locked' | 'expired' {
  if (!isOpen(attempt.state)) return attempt.state
  if (attempt.tries >= RULES.claimTries) return 'locked'
  return now >= attempt.linkExpiresAt ? 'expired' : attempt.state
}

/** @returns nothing while it is open, and else why it is not; a mailbox that is blocked has declined. */
function closedAt(
  attempt: ClaimAttempt,
  { blocked }: { blocked: boolean },
  now: Date,
): ClosedState | undefined {
  const state = stateAt(attempt, now)
  if (!isOpen(state)) return state
  return blocked ? 'declined' : undefined
}

/** The person says yes: a code is made, and the one before it is dead. It lasts 10 minutes, and no longer than the link. */
export function press(
  attempt: ClaimAttempt,
  mailbox: Pick<MailboxFacts, 'blocked'>,
  now: Date,
): Result<{ presses: number; codeExpiresAt: Date }, ClosedState | 'no-codes-left'> {
  const closed = closedAt(attempt, mailbox, now)
  if (closed) return err(closed)
  if (attempt.presses >= RULES.claimCodes) return err('no-codes-left')
  const expiresAt = Math.min(now.getTime() + RULES.claimCodeMs, attempt.linkExpiresAt.getTime())
  return ok({ presses: attempt.presses + 1, codeExpiresAt: new Date(expiresAt) })
}

/** The person says no. @returns until when agents that they have not confirmed do not reach the mailbox */
export function decline(attempt: ClaimAttempt, now: Date): Result<{ blockedUntil: Date }, ClosedState> {
  const state = stateAt(attempt, now)
  return isOpen(state) ? ok({ blockedUntil: new Date(now.getTime() + RULES.claimBlockMs) }) : err(state)
}

/** What an agent learns of an attempt: never that its mail failed, which would tell whether the mailbox exists. */
export type TryRefusal = Exclude<ClosedState, 'failed'> | 'code-not-shown' | 'code-expired'

type SeenAttempt = ClaimAttempt & { readonly state: Exclude<AttemptState, 'failed'> }

/** The attempt as its agent sees it: one whose mail failed waits for the person, as if the mail had been taken. */
const asAgentSees = ({ state, ...attempt }: ClaimAttempt): SeenAttempt => ({
  ...attempt,
  state: state === 'failed' ? 'sent' : state,
})

/**
 * Whether a code that is entered may be compared. If so, this try counts before it is. Until a code was shown, an agent
 * learns nothing of the mailbox: not whether it is blocked, nor whether it exists.
 */
export function countTry(
  stored: ClaimAttempt,
  mailbox: MailboxFacts,
  now: Date,
): Result<{ tries: number; remaining: number }, TryRefusal> {
  const attempt = asAgentSees(stored)
  const state = stateAt(attempt, now)
  if (!isOpen(state)) return err(state)
  if (attempt.state !== 'code_shown' || !attempt.code) return err('code-not-shown')
  if (mailbox.blocked) return err('declined')
  if (now >= attempt.code.expiresAt) return err('code-expired')
  if (mailbox.tries >= TRIES_OF_MAILBOX) return err('locked')
  const tries = attempt.tries + 1
  const remaining = Math.min(RULES.claimTries - tries, TRIES_OF_MAILBOX - mailbox.tries - 1)
  return ok({ tries, remaining })
}

/**
 * Whether an attempt for which the right code was entered becomes a claim: asked again, of the row as it is by now.
 * Its own last try has been counted, so the last try does not lock it here.
 */
export function redeem(
  stored: ClaimAttempt,
  entered: { hash: Buffer; blocked: boolean },
  now: Date,
): Result<void, TryRefusal> {
  const attempt = asAgentSees(stored)
  if (!isOpen(attempt.state)) return err(attempt.state)
  if (now >= attempt.linkExpiresAt) return err('expired')
  if (entered.blocked) return err('declined')
  if (attempt.state !== 'code_shown' || !attempt.code) return err('code-not-shown')
  const isNewest = equalBytes(attempt.code.hash, entered.hash)
  return isNewest && now < attempt.code.expiresAt ? ok(undefined) : err('code-expired')
}

/** What the fate of its mail makes of an attempt; undefined for no change. A mail that is not wanted any more tells nothing. */
export function afterMail(
  state: AttemptState,
  outcome: 'sent' | 'dropped' | 'dead',
): AttemptState | undefined {
  if (state !== 'initiated' || outcome === 'dropped') return undefined
  return outcome === 'sent' ? 'sent' : 'failed'
}
