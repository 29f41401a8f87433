/*
 * The rules of a sign-in as pure functions: whether another code may be mailed, and which step its page shows.
 */
import { err, ok, type Result, RULES } from '@plainpath/domain'
import {
  type AttemptState,
  computeState,
  type VerificationAttempt,
} from '../verifications/verification-attempt.ts'

/** An attempt of a sign-in. */
export interface SignInAttempt extends VerificationAttempt {
  readonly createdAt: Date
  /** The keyed hash of the canonical address; absent once it has been erased. */
  readonly emailHash?: Buffer | undefined
}

/**
 * Why no code is mailed. `too-soon`: a code that was mailed to this address less than a minute ago is still valid. `ended`: staff
 * disabled the connection while the person signed in.
 */
export type CodeMailRefusal = 'no-codes-left' | 'too-soon' | 'ended'

/**
 * Decides whether a code may be mailed. Another request for the same address within a minute is refused, since it is usually a
 * double click.
 *
 * @param mailedCodeCount how many codes were mailed for this sign-in, to any address
 * @param currentAttempt the open attempt, or else the newest one; undefined before the first code
 * @param emailHash the keyed hash of the address for which a code is requested
 */
export function decideCodeMail(
  mailedCodeCount: number,
  currentAttempt: SignInAttempt | undefined,
  emailHash: Buffer,
  now: Date,
): Result<void, CodeMailRefusal> {
  const isRepeated =
    currentAttempt !== undefined &&
    computeState(currentAttempt, now) === 'code_shown' &&
    currentAttempt.emailHash?.equals(emailHash) === true &&
    now.getTime() - currentAttempt.createdAt.getTime() < RULES.signInResendMs
  if (isRepeated) return err('too-soon')
  return mailedCodeCount >= RULES.signInCodes ? err('no-codes-left') : ok(undefined)
}

/** The step that the page of a sign-in shows. `lastCodeState` is set if the last code no longer works. */
export type SignInStep =
  | { readonly step: 'address'; readonly lastCodeState?: 'expired' | 'locked' }
  | { readonly step: 'code' }
  | { readonly step: 'no-codes-left' }
  | { readonly step: 'allowed' }

/**
 * Computes the step.
 *
 * @param state the state of the open attempt, or else of the newest one; undefined before the first code
 * @param codesLeft how many codes can still be mailed
 */
export function computeSignInStep(
  state: AttemptState | undefined,
  { codesLeft, isAllowed }: { codesLeft: number; isAllowed: boolean },
): SignInStep {
  if (isAllowed) return { step: 'allowed' }
  if (state === 'code_shown') return { step: 'code' }
  if (codesLeft === 0) return { step: 'no-codes-left' }
  return state === 'expired' || state === 'locked'
    ? { step: 'address', lastCodeState: state }
    : { step: 'address' }
}
