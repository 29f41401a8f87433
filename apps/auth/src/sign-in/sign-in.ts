/*
 * The rules of a sign-in as pure functions: when another code may be mailed, and where a sign-in stands.
 */
import { err, ok, type Result, RULES } from '@plainpath/domain'
import { type AttemptState, type ClaimAttempt, stateAt } from '../claims/claim-attempt.ts'

/** The newest attempt of a sign-in. */
export interface SignInAttempt extends ClaimAttempt {
  readonly createdAt: Date
  readonly emailHash?: Buffer | undefined
}

/** Why no code is mailed. `too-soon`: the address got one within a minute, and it still works. */
export type NoCode = 'no-codes-left' | 'too-soon'

/**
 * Decides whether a code may be mailed. A code within a minute of another to the same address is most often a second click
 * on the same button.
 *
 * @param sent how many were mailed for this sign-in, to whichever address
 */
export function mayMailCode(
  sent: number,
  newest: SignInAttempt | undefined,
  emailHash: Buffer,
  now: Date,
): Result<void, NoCode> {
  const isRepeated =
    newest !== undefined &&
    stateAt(newest, now) === 'code_shown' &&
    newest.emailHash?.equals(emailHash) === true &&
    now.getTime() - newest.createdAt.getTime() < RULES.signInResendMs
  if (isRepeated) return err('too-soon')
  return sent >= RULES.signInCodes ? err('no-codes-left') : ok(undefined)
}

/** Where a sign-in stands: what its page shows. */
export type SignInStep =
  | { readonly step: 'address'; readonly lastCode?: 'expired' | 'locked' }
  | { readonly step: 'code' }
  | { readonly step: 'no-codes-left' }
  | { readonly step: 'allowed' }

/** @param codesLeft how many codes can still be mailed */
export function signInStep(
  state: AttemptState | undefined,
  { codesLeft, isAllowed }: { codesLeft: number; isAllowed: boolean },
): SignInStep {
  if (isAllowed) return { step: 'allowed' }
  if (state === 'code_shown') return { step: 'code' }
  if (codesLeft === 0) return { step: 'no-codes-left' }
  return state === 'expired' || state === 'locked'
    ? { step: 'address', lastCode: state }
    : { step: 'address' }
}
