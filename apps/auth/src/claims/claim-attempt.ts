/*
 * The rules of a claim attempt as pure functions: from the request of an agent, over the mail, the person's answer and
 * the code, to a claim. `postgres-claim-attempts.ts` applies them to locked rows.
 */
import { err, ok, type Result, RULES } from '@plainpath/domain'
import { equalBytes } from '@plainpath/sealing'
import type { CodePurpose } from './claim-code.ts'

/** The most wrong codes for one mailbox within `RULES.mailboxTriesMs`, over all agents and attempts. */
const TRIES_OF_MAILBOX = 10

export const OPEN_STATES = ['initiated', 'sent', 'code_shown'] as const
export const CLOSED_STATES = ['completed', 'locked', 'declined', 'expired', 'superseded', 'failed'] as const
export type OpenState = (typeof OPEN_STATES)[number]
export type ClosedState = (typeof CLOSED_STATES)[number]
export type AttemptState = OpenState | ClosedState

/** A code as it is stored: `hash` is keyed and bound to the attempt. */
export interface StoredCode {
  readonly hash: Buffer
  readonly expiresAt: Date
}

export interface ClaimAttempt {
  readonly id: string
  /** The id of the claim it may become. */
  readonly registrationId: string
  readonly agentId: string
  readonly purpose: CodePurpose
  /** The stored state; `stateAt` computes the state at a given time. */
  readonly state: AttemptState
  readonly linkExpiresAt: Date
  /** How many codes were shown, and how many were entered. */
  readonly presses: number
  readonly tries: number
  /** In state `code_shown` only. */
  readonly code: StoredCode | undefined
}

/** Facts about the mailbox, from all attempts. */
export interface MailboxFacts {
  /** Its owner declined an attempt within 30 days, and has not confirmed this agent. */
  readonly blocked: boolean
  /** Wrong codes entered for it within 24 hours. */
  readonly tries: number
}

export const isOpen = (state: AttemptState): state is OpenState =>
  (OPEN_STATES as readonly string[]).includes(state)

/** Computes the state at `now`: time and tries close an attempt even before the stored state says so. */
export function stateAt<State extends AttemptState>(
  attempt: ClaimAttempt & { readonly state: State },
  now: Date,
): State | 'locked' | 'expired' {
  if (!isOpen(attempt.state)) return attempt.state
  if (attempt.tries >= RULES.claimTries) return 'locked'
  return now >= attempt.linkExpiresAt ? 'expired' : attempt.state
}

/** Computes why an attempt is closed; undefined while it is open. An attempt for a blocked mailbox counts as declined. */
function closedAt(
  attempt: ClaimAttempt,
  { blocked }: { blocked: boolean },
  now: Date,
): ClosedState | undefined {
  const state = stateAt(attempt, now)
  if (!isOpen(state)) return state
  return blocked ? 'declined' : undefined
}

/** Decides whether a new code may be shown, which invalidates the one before. It lasts 10 minutes, at most as long as the link. */
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

/** Declines the attempt. @returns until when agents without a live claim send no mail to the mailbox */
export function decline(attempt: ClaimAttempt, now: Date): Result<{ blockedUntil: Date }, ClosedState> {
  const state = stateAt(attempt, now)
  return isOpen(state) ? ok({ blockedUntil: new Date(now.getTime() + RULES.claimBlockMs) }) : err(state)
}

/** Why a try is refused. An agent never learns that the mail failed, which would reveal whether the mailbox exists. */
export type TryRefusal = Exclude<ClosedState, 'failed'> | 'code-not-shown' | 'code-expired'

type SeenAttempt = ClaimAttempt & { readonly state: Exclude<AttemptState, 'failed'> }

/** Returns the attempt as its agent may see it: if its mail failed, it seems to wait for the person, as if the mail had been sent. */
const asAgentSees = ({ state, ...attempt }: ClaimAttempt): SeenAttempt => ({
  ...attempt,
  state: state === 'failed' ? 'sent' : state,
})

/** A try that is counted. */
export interface CountedTry {
  readonly tries: number
  readonly remaining: number
  /** False when the mailbox had too many wrong codes: the code then counts as wrong, whatever it is. */
  readonly mayMatch: boolean
}

/**
 * Decides whether an entered code may be compared; if so, the try is counted first. Until a code was shown, the agent
 * learns nothing about the mailbox: neither whether it is blocked nor whether it exists. Whoever types a code into the
 * page of a sign-in never learns anything about the mailbox, so there a code is wrong once the mailbox is locked.
 */
export function countTry(
  stored: ClaimAttempt,
  mailbox: MailboxFacts,
  now: Date,
): Result<CountedTry, TryRefusal> {
  const attempt = asAgentSees(stored)
  const state = stateAt(attempt, now)
  if (!isOpen(state)) return err(state)
  if (attempt.state !== 'code_shown' || !attempt.code) return err('code-not-shown')
  if (mailbox.blocked) return err('declined')
  if (now >= attempt.code.expiresAt) return err('code-expired')
  const mayMatch = mailbox.tries < TRIES_OF_MAILBOX
  const tries = attempt.tries + 1
  const left = RULES.claimTries - tries
  if (attempt.purpose === 'sign-in') return ok({ tries, remaining: left, mayMatch })
  if (!mayMatch) return err('locked')
  return ok({ tries, remaining: Math.min(left, TRIES_OF_MAILBOX - mailbox.tries - 1), mayMatch })
}

/**
 * Decides whether an attempt becomes a claim after the right code was entered, on the row as it is now. The try itself
 * has been counted already, so the number of tries is not checked again.
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

/** Computes the state after the mail was sent or failed for good; undefined for no change, also when the mail was dropped. */
export function afterMail(
  state: AttemptState,
  outcome: 'sent' | 'dropped' | 'dead',
): AttemptState | undefined {
  if (state !== 'initiated' || outcome === 'dropped') return undefined
  return outcome === 'sent' ? 'sent' : 'failed'
}
