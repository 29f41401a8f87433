import type { Result } from '@plainpath/domain'
import type { Database, Pool } from '@plainpath/postgres'
import type { HashKey, Sealer } from '@plainpath/sealing'
import type { AuthEvents } from '../events.ts'
import type {
  ClosedState,
  CountedTry,
  StoredCode,
  TryRefusal,
  VerificationAttempt,
} from './verification-attempt.ts'

/** A mail to queue in the caller's transaction. */
export interface VerificationMail {
  /** Selects the handler (`createVerificationMailHandlers`). *Claim* is the older name of a verification. */
  readonly kind: 'claim-link' | 'claim-confirmed' | 'claim-ended' | 'sign-in-code'
  /** The id of the attempt or verification that the mail is about. */
  readonly about: string
  readonly to: string
  readonly subject: string
  readonly text: string
  /** The network of the agent, or of the browser, that requested the mail. */
  readonly requesterNetwork?: string
  /** True if a person is known to have requested the mail, as in `Mail`. */
  readonly isRequestedByPerson?: boolean
}
export type AddMail = (tx: Database, mail: VerificationMail, now: Date) => Promise<unknown>

/** The dependencies that the stores of attempts and verifications share. */
export interface VerificationStoreBaseDeps {
  readonly db: Pool
  readonly sealer: Sealer
  readonly hashKey: HashKey
  readonly addMail: AddMail
  readonly events: AuthEvents
}

interface NewAttemptBase {
  readonly id: string
  /** The id of the verification that the attempt may become. */
  readonly registrationId: string
  readonly agentId: string
  /** The address as it was typed. Mail is sent to this spelling. */
  readonly email: string
  readonly canonicalEmail: string
  /** The mailbox of the address, for counting and blocking. */
  readonly mailbox: string
  readonly createdAt: Date
  /** See `ChangedAgent`. */
  readonly credentialVersion: number | undefined
}

/** An attempt that an agent begins. Its mail contains a link to the page that shows the code. */
export interface NewAttempt extends NewAttemptBase {
  readonly matchPhrase: string
  /** The SHA-256 of the secret in the link. */
  readonly linkHash: Buffer
  readonly linkExpiresAt: Date
}

/**
 * An attempt of a person who signs in, which `SignInStore` stores. Its mail contains the code, and it expires together with the
 * code.
 */
export interface NewSignInAttempt extends NewAttemptBase {
  readonly code: StoredCode
}

/** An attempt, as its page shows it. */
interface LinkedAttempt {
  readonly attempt: VerificationAttempt
  /** Undefined once the attempt is closed, which erases the phrase. */
  readonly matchPhrase: string | undefined
  /** True if the owner has blocked the mailbox, and has not confirmed this agent. */
  readonly isBlocked: boolean
}

/** A counted try with its attempt, or the reason why the try was refused. */
export type TriedAttempt = Result<
  { attempt: VerificationAttempt } & Omit<CountedTry, 'tries'>,
  TryRefusal | 'unknown'
>

/** The attempt for which a code was entered. */
export interface TryTarget {
  readonly agentId: string
  readonly attemptId?: string | undefined
  /** See `ChangedAgent`. */
  readonly credentialVersion: number | undefined
}

/** Stores attempts. The functions of `verification-attempt.ts` decide what happens to an attempt. */
export interface VerificationAttemptStore {
  /**
   * Stores an attempt and queues its mail. The attempt replaces an open attempt of the agent, which becomes `superseded`. The
   * statements are the same for every address, so the response time reveals nothing about the address.
   *
   * @returns false if the agent is not active, or one of its credentials was removed after it was authenticated
   */
  begin(attempt: NewAttempt, mail: VerificationMail): Promise<boolean>
  /** Finds the attempt of a link, whether it is open or closed. */
  findByLink(linkHash: Buffer, now: Date): Promise<LinkedAttempt | undefined>
  /** Finds the attempt that became, or may become, the verification with this id. */
  findByRegistration(registrationId: string): Promise<VerificationAttempt | undefined>
  /**
   * Stores a new code, if the attempt may show one.
   *
   * @param codeHash the hash of the code, from `hashCode`
   */
  showCode(
    id: string,
    codeHash: Buffer,
    now: Date,
  ): Promise<Result<{ presses: number; codeExpiresAt: Date }, ClosedState | 'no-codes-left'>>
  /** Declines the attempt and blocks its mailbox, if `decideDeclining` permits it. */
  decline(id: string, now: Date): Promise<Result<void, ClosedState>>
  /**
   * Counts a try for the attempt `attemptId` or, without one, for the agent's open attempt, or else its newest. The count is
   * durable when this returns.
   *
   * @returns `unknown` if the agent has no such attempt, or is refused as in `AuthenticatedAgent`; nothing is counted then
   */
  countTry(target: TryTarget, now: Date): Promise<TriedAttempt>
  /** Locks the attempt if no tries are left. */
  lockIfSpent(id: string): Promise<void>
  /** Withdraws the agent's open attempt. Its state becomes `superseded`. The person can still decline it. */
  withdraw(agentId: string): Promise<void>
  /** Returns whether the mail of the attempt should still be sent. */
  isMailWanted(id: string, now: Date): Promise<boolean>
  /** Restarts the lifetime of the link when its mail is sent late. The link never outlives the attempt. */
  renewLink(id: string, now: Date): Promise<void>
  /** Updates the state of the attempt after its mail was sent, or was given up (`dead`). A dropped mail changes nothing. */
  recordMailOutcome(tx: Database, id: string, outcome: 'sent' | 'dropped' | 'dead'): Promise<void>
}
