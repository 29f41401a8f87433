import type { Result } from '@plainpath/domain'
import type { Database } from '@plainpath/postgres'
import type { Claim, EndedBy } from './claim.ts'
import type { ClaimAttempt, ClosedState, TryRefusal } from './claim-attempt.ts'

/** A mail that is kept, with the job that sends it, in the transaction it is given; `about` is the id it is about. */
export interface ClaimMail {
  readonly kind: 'claim-link' | 'claim-confirmed'
  readonly about: string
  readonly to: string
  readonly subject: string
  readonly text: string
}
export type AddMail = (tx: Database, mail: ClaimMail, now: Date) => Promise<unknown>

export interface NewAttempt {
  readonly id: string
  readonly registrationId: string
  readonly agentId: string
  /** As typed: mail goes to this spelling. */
  readonly email: string
  readonly canonicalEmail: string
  /** What the address reaches, for counting and blocking. */
  readonly mailbox: string
  readonly matchPhrase: string
  /** SHA-256 of the link's secret. */
  readonly linkHash: Buffer
  readonly linkExpiresAt: Date
  readonly createdAt: Date
}

/** An attempt as its page shows it; the phrase only while it is open. */
interface LinkedAttempt {
  readonly attempt: ClaimAttempt
  readonly matchPhrase: string | undefined
  readonly blocked: boolean
}

export interface ClaimAttemptStore {
  /**
   * Keeps an attempt and its mail; the agent's other open one is superseded. The statements are the same for every
   * address.
   *
   * @returns false when the agent has ended meanwhile
   */
  begin(attempt: NewAttempt, mail: ClaimMail): Promise<boolean>
  findByLink(linkHash: Buffer, now: Date): Promise<LinkedAttempt | undefined>
  /** @param codeHash of the new code, bound to the attempt */
  press(
    id: string,
    codeHash: Buffer,
    now: Date,
  ): Promise<Result<{ presses: number; codeExpiresAt: Date }, ClosedState | 'no-codes-left'>>
  /** Ends the attempt and blocks its mailbox. */
  decline(id: string, now: Date): Promise<Result<void, ClosedState>>
  /**
   * Counts a try of an agent's newest attempt, or of the one named. What is counted is durable when this returns.
   *
   * @returns `unknown` when the agent has no such attempt
   */
  countTry(
    of: { agentId: string; attemptId?: string | undefined },
    now: Date,
  ): Promise<Result<{ attempt: ClaimAttempt; remaining: number }, TryRefusal | 'unknown'>>
  /** After a wrong code: the fifth locks the attempt. */
  lockIfSpent(id: string): Promise<void>
  /** The agent takes its open attempt back: it is superseded by none. */
  withdraw(agentId: string): Promise<void>
  /** Whether the mail of an attempt should still go. */
  wantsMail(id: string, now: Date): Promise<boolean>
  mailSettled(tx: Database, id: string, outcome: 'sent' | 'dropped' | 'dead'): Promise<void>
}

export interface NewClaim {
  readonly attemptId: string
  /** Of the code that was entered. */
  readonly codeHash: Buffer
  /** SHA-256 of the secret in the link that ends it. */
  readonly endLinkHash: Buffer
  readonly now: Date
  readonly expiresAt: Date
  mail(claim: Claim, to: string): ClaimMail
}

export interface ClaimStore {
  /**
   * Makes the claim of an attempt, ends the agent's earlier one, and keeps the mail that says so: all or nothing.
   *
   * @returns `unknown` when the attempt or its agent is gone
   */
  redeem(claim: NewClaim): Promise<Result<Claim, TryRefusal | 'unknown'>>
  find(id: string): Promise<Claim | undefined>
  findByEndLink(linkHash: Buffer): Promise<Claim | undefined>
  /** The live claim that the agent of an open attempt has for the same address. */
  findOfAttempt(attemptId: string, now: Date): Promise<Claim | undefined>
  /** The last claim of an agent, also one that has ended. */
  newest(agentId: string): Promise<Claim | undefined>
  /** The claim an agent has now. Tokens and assertions of a claim are good only while this, or `find`, says that it lives. */
  live(agentId: string, now: Date): Promise<Claim | undefined>
  /** The address of a live claim, as typed. */
  emailOf(id: string, now: Date): Promise<string | undefined>
  /**
   * Ends a live claim and erases its address; durable when it returns. Of one that had ended, which is false, everybody
   * is told again: that may be what failed the first time.
   */
  end(id: string, by: Extract<EndedBy, 'person' | 'agent' | 'operator'>, now: Date): Promise<boolean>
  /** Newest first. @param limit 1 to 1000 */
  list(limit: number, only?: { liveAt?: Date }): Promise<readonly Claim[]>
}
