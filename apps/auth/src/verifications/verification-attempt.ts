/*
 * The rules of a verification attempt, as pure functions. They decide which state an attempt has, whether a code may be shown,
 * whether a try counts, and whether the attempt becomes a verification. The stores lock a row before they change it accordingly.
 */
import { err, ok, type Result, RULES } from '@plainpath/domain'
import { timingSafeEqualBytes } from '@plainpath/sealing'
import type { CodePurpose } from './verification-code.ts'

/**
 * The limit of wrong codes for one mailbox within `RULES.mailboxTriesMs`: ten for the verifications of all agents together, and ten
 * for the sign-ins with all apps together.
 */
const MAX_MAILBOX_TRIES = 10

/**
 * The states of an attempt that can still become a verification. `initiated`: its mail is queued, or was dropped. `sent`: its
 * mail was sent. `code_shown`: a code was shown on the page, or the attempt is a sign-in, whose mail contains the code.
 */
export const OPEN_STATES = ['initiated', 'sent', 'code_shown'] as const
/**
 * The states of a closed attempt. `completed`: it became a verification. `locked`: no tries are left. `declined`: the person
 * declined. `expired`: its link expired. `superseded`: it was withdrawn, the agent began another one, or the agent was deleted or
 * expired. `failed`: its mail could not be delivered.
 */
export const CLOSED_STATES = ['completed', 'locked', 'declined', 'expired', 'superseded', 'failed'] as const
export type OpenState = (typeof OPEN_STATES)[number]
export type ClosedState = (typeof CLOSED_STATES)[number]
export type AttemptState = OpenState | ClosedState

/** The stored form of a code. `hash` is keyed and bound to the attempt. */
export interface StoredCode {
  readonly hash: Buffer
  readonly expiresAt: Date
}

export interface VerificationAttempt {
  readonly id: string
  /** The id of the verification that the attempt may become. */
  readonly registrationId: string
  readonly agentId: string
  readonly purpose: CodePurpose
  /** The stored state; `computeState` computes the state at a given time. */
  readonly state: AttemptState
  readonly linkExpiresAt: Date
  /** The number of codes that were shown on the page, or mailed for a sign-in. */
  readonly presses: number
  /** The number of codes that were entered. */
  readonly tries: number
  /** Present only in the state `code_shown`. */
  readonly code: StoredCode | undefined
  /** True while the hash of the mailbox is stored. It is stored until the link expires, unless the person answers before. */
  readonly hasMailboxHash: boolean
}

/** Facts about the mailbox, from all attempts for it. */
export interface MailboxFacts {
  /** True if its owner declined an attempt within 30 days and has not confirmed this agent. Always false for a sign-in. */
  readonly isBlocked: boolean
  /**
   * The number of codes that were entered for it within 24 hours, in attempts of the same purpose, and were wrong or are still being
   * compared.
   */
  readonly tries: number
}

export const isOpen = (state: AttemptState): state is OpenState =>
  (OPEN_STATES as readonly string[]).includes(state)

/** Computes the state at `now`. An attempt can be closed by time or tries before its stored state changes. */
export function computeState<State extends AttemptState>(
  attempt: VerificationAttempt & { readonly state: State },
  now: Date,
): State | 'locked' | 'expired' {
  if (!isOpen(attempt.state)) return attempt.state
  if (attempt.tries >= RULES.verificationTries) return 'locked'
  return now >= attempt.linkExpiresAt ? 'expired' : attempt.state
}

/** Returns the state of a closed attempt; undefined for an open one. An attempt for a blocked mailbox counts as declined. */
function findClosedState(
  attempt: VerificationAttempt,
  { isBlocked }: Pick<MailboxFacts, 'isBlocked'>,
  now: Date,
): ClosedState | undefined {
  const state = computeState(attempt, now)
  if (!isOpen(state)) return state
  return isBlocked ? 'declined' : undefined
}

/**
 * Decides whether a new code may be shown. It replaces the previous code, and is valid for 10 minutes, but no longer than the
 * link.
 */
export function decideShowingCode(
  attempt: VerificationAttempt,
  mailbox: Pick<MailboxFacts, 'isBlocked'>,
  now: Date,
): Result<{ presses: number; codeExpiresAt: Date }, ClosedState | 'no-codes-left'> {
  const closedState = findClosedState(attempt, mailbox, now)
  if (closedState) return err(closedState)
  if (attempt.presses >= RULES.verificationCodes) return err('no-codes-left')
  const expiresAt = Math.min(now.getTime() + RULES.verificationCodeMs, attempt.linkExpiresAt.getTime())
  return ok({ presses: attempt.presses + 1, codeExpiresAt: new Date(expiresAt) })
}

/**
 * Returns whether the person can decline. They can until the link expires, even if the agent withdrew the attempt, sent too many
 * wrong codes or was deleted. Otherwise an agent could evade the block.
 */
export const canDecline = (attempt: VerificationAttempt, now: Date): boolean =>
  attempt.hasMailboxHash && now < attempt.linkExpiresAt

/**
 * Decides whether the attempt can still be declined.
 *
 * @returns the time until which the mailbox is blocked: no agent can send verification mails to it, except agents that its owner
 *   has confirmed
 */
export function decideDeclining(
  attempt: VerificationAttempt,
  now: Date,
): Result<{ blockedUntil: Date }, ClosedState> {
  const state = computeState(attempt, now)
  return isOpen(state) || canDecline(attempt, now)
    ? ok({ blockedUntil: new Date(now.getTime() + RULES.verificationBlockMs) })
    : err(state)
}

/** Why a try is refused. Agents never see that a mail failed, since that would reveal whether the mailbox exists. */
export type TryRefusal = Exclude<ClosedState, 'failed'> | 'code-not-shown' | 'code-expired'

type VisibleAttempt = VerificationAttempt & { readonly state: Exclude<AttemptState, 'failed'> }

/** Returns the attempt as its agent may see it. If its mail failed, the attempt looks as if the mail had been sent. */
const toVisibleAttempt = ({ state, ...attempt }: VerificationAttempt): VisibleAttempt => ({
  ...attempt,
  state: state === 'failed' ? 'sent' : state,
})

/** The result of counting a try. */
export interface CountedTry {
  readonly tries: number
  readonly remaining: number
  /** False if too many wrong codes were entered for the mailbox. Every code then counts as wrong. */
  readonly mayMatch: boolean
}

/**
 * Decides whether an entered code may be compared, and counts the try. Until a code was shown, the agent learns neither whether
 * the mailbox is blocked nor whether it exists. The sign-in page reveals nothing about the mailbox either: once too many wrong
 * codes were entered for the mailbox, every code is wrong there.
 */
export function decideTry(
  storedAttempt: VerificationAttempt,
  mailbox: MailboxFacts,
  now: Date,
): Result<CountedTry, TryRefusal> {
  const attempt = toVisibleAttempt(storedAttempt)
  const state = computeState(attempt, now)
  if (!isOpen(state)) return err(state)
  if (attempt.state !== 'code_shown' || !attempt.code) return err('code-not-shown')
  if (mailbox.isBlocked) return err('declined')
  if (now >= attempt.code.expiresAt) return err('code-expired')
  const mayMatch = mailbox.tries < MAX_MAILBOX_TRIES
  const tries = attempt.tries + 1
  const remaining = RULES.verificationTries - tries
  if (attempt.purpose === 'sign-in') return ok({ tries, remaining, mayMatch })
  if (!mayMatch) return err('locked')
  return ok({ tries, remaining: Math.min(remaining, MAX_MAILBOX_TRIES - mailbox.tries - 1), mayMatch })
}

/**
 * Decides from the current row whether an attempt becomes a verification, after the entered code was found correct. The try has
 * already been counted, so the number of tries is not checked again.
 */
export function decideRedemption(
  storedAttempt: VerificationAttempt,
  enteredCode: { hash: Buffer; isBlocked: boolean },
  now: Date,
): Result<void, TryRefusal> {
  const attempt = toVisibleAttempt(storedAttempt)
  if (!isOpen(attempt.state)) return err(attempt.state)
  if (now >= attempt.linkExpiresAt) return err('expired')
  if (enteredCode.isBlocked) return err('declined')
  if (attempt.state !== 'code_shown' || !attempt.code) return err('code-not-shown')
  const isNewestCode = timingSafeEqualBytes(attempt.code.hash, enteredCode.hash)
  return isNewestCode && now < attempt.code.expiresAt ? ok(undefined) : err('code-expired')
}

/**
 * Computes the state after the mail was sent, dropped or given up.
 *
 * @returns undefined if the state does not change, as after a dropped mail
 */
export function computeStateAfterMail(
  state: AttemptState,
  outcome: 'sent' | 'dropped' | 'dead',
): AttemptState | undefined {
  if (state !== 'initiated' || outcome === 'dropped') return undefined
  return outcome === 'sent' ? 'sent' : 'failed'
}
