import type { Result } from '@plainpath/domain'
import type { Database, Pool } from '@plainpath/postgres'
import type { HashKey, SealingKeys } from '@plainpath/sealing'
import type { AuthEvents } from '../events.ts'
import type {
  ClosedState,
  CountedTry,
  StoredCode,
  TryRefusal,
  VerificationAttempt,
} from './verification-attempt.ts'

/** A mail to queue in the caller's transaction. `about` is the id of its attempt or verification. */
export interface VerificationMail {
  readonly kind: 'claim-link' | 'claim-confirmed' | 'claim-ended' | 'sign-in-code'
  readonly about: string
  readonly to: string
  readonly subject: string
  readonly text: string
  /** The network of the agent, or of the browser, that requested the mail. */
  readonly sender?: string
  /** True if a person is known to have requested the mail, as in `Mail`. */
  readonly askedFor?: boolean
}
export type AddMail = (tx: Database, mail: VerificationMail, now: Date) => Promise<unknown>

/** The dependencies that the stores of attempts and verifications share. */
export interface VerificationStoreBaseDeps {
  readonly db: Pool
  readonly sealingKeys: SealingKeys
  readonly hashKey: HashKey
  readonly addMail: AddMail
  readonly events: AuthEvents
}

interface NewAttemptBase {
  readonly id: string
  readonly registrationId: string
  readonly agentId: string
  /** The address as it was typed. Mail is sent to this spelling. */
  readonly email: string
  readonly canonicalEmail: string
  /** The mailbox of the address, for counting and blocking. */
  readonly mailbox: string
  readonly createdAt: Date
}

/** An attempt that an agent begins. Its mail contains a link to the page that shows the code. */
export interface NewAttempt extends NewAttemptBase {
  readonly matchPhrase: string
  /** The SHA-256 of the secret in the link. */
  readonly linkHash: Buffer
  readonly linkExpiresAt: Date
}

/** An attempt of a person who signs in. Its mail contains the code, and it expires together with the code. */
export interface NewSignInAttempt extends NewAttemptBase {
  readonly code: StoredCode
}

/** An attempt, as its page shows it. The match phrase is present only while the attempt is open. */
interface LinkedAttempt {
  readonly attempt: VerificationAttempt
  readonly matchPhrase: string | undefined
  /** True if the owner of the mailbox has blocked it: see `isBlocked`. */
  readonly blocked: boolean
}

export type TriedAttempt = Result<
  { attempt: VerificationAttempt } & Omit<CountedTry, 'tries'>,
  TryRefusal | 'unknown'
>

/** Stores attempts. The functions of `verification-attempt.ts` decide each change, on the locked row. */
export interface VerificationAttemptStore {
  /**
   * Stores an attempt and queues its mail; an open attempt of the agent is superseded. The statements are the same for every
   * address, so the response time reveals nothing about it.
   *
   * @returns false if the agent is not active
   */
  begin(attempt: NewAttempt, mail: VerificationMail): Promise<boolean>
  findByLink(linkHash: Buffer, now: Date): Promise<LinkedAttempt | undefined>
  /** Finds the attempt that became, or may become, the verification with this id. */
  findByRegistration(registrationId: string): Promise<VerificationAttempt | undefined>
  /**
   * Stores a new code.
   *
   * @param codeHash the hash of the code, bound to the attempt
   */
  showCode(
    id: string,
    codeHash: Buffer,
    now: Date,
  ): Promise<Result<{ presses: number; codeExpiresAt: Date }, ClosedState | 'no-codes-left'>>
  /** Declines the attempt and blocks its mailbox. */
  decline(id: string, now: Date): Promise<Result<void, ClosedState>>
  /**
   * Counts a try for an agent's newest attempt, or for the named one. The count is durable when this returns.
   *
   * @returns `unknown` if the agent has no such attempt
   */
  countTry(target: { agentId: string; attemptId?: string | undefined }, now: Date): Promise<TriedAttempt>
  /** Locks the attempt if no tries are left. */
  lockIfSpent(id: string): Promise<void>
  /** Withdraws the agent's open attempt. Its state becomes `superseded`. */
  withdraw(agentId: string): Promise<void>
  /** Returns whether the mail of the attempt should still be sent. */
  wantsMail(id: string, now: Date): Promise<boolean>
  /** Restarts the lifetime of the link, because its mail is sent late. The attempt is not retained longer. */
  renewLink(id: string, now: Date): Promise<void>
  /** Stores the state of the attempt after its mail was sent, dropped or given up. */
  recordMailOutcome(tx: Database, id: string, outcome: 'sent' | 'dropped' | 'dead'): Promise<void>
}
