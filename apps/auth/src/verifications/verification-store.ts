import type { Result } from '@plainpath/domain'
import type { AuthenticatedAgent } from '../clients/credential-version.ts'
import type { ConfirmedPerson } from './confirmed-person.ts'
import type { Verification } from './verification.ts'
import type { TryRefusal } from './verification-attempt.ts'
import type { VerificationMail } from './verification-attempt-store.ts'

/** The e-mail verification of a connection, with its app. A connection is one person's sign-in with an app. */
export interface AppGrant {
  readonly verification: Verification
  /** The destination of the app's sign-in, as `formatAppHost` formats it. */
  readonly appHost: string
  readonly appClientId: string
}

/**
 * A verification with the secret of the link that revokes it. The secret is absent if an earlier release or an earlier hash key
 * created the link.
 */
export interface LinkedVerification {
  readonly verification: Verification
  readonly revocationSecret: string | undefined
}

export interface NewVerification {
  /** The agent of the attempt. */
  readonly agentId: string
  readonly attemptId: string
  /** The hash of the code that was entered. */
  readonly codeHash: Buffer
  /** The SHA-256 of the secret in the link that revokes the verification. */
  readonly revocationLinkHash: Buffer
  readonly now: Date
  readonly expiresAt: Date
  /** See `ChangedAgent`. */
  readonly credentialVersion: number | undefined
  /** Composes the confirmation mail. The store calls it within the transaction of `redeem`, with the person's address as `to`. */
  composeMail(verification: Verification, to: string): VerificationMail
}

/**
 * Stores e-mail verifications. An address is encrypted. It is erased when its verification is revoked, or in a sweep after the
 * verification has expired.
 *
 * A revocation also revokes the tokens of the verification, before the commit and again after it, and is then published to the
 * APIs, as `agents/change-and-revoke.ts` does for agents. That file gives the reasons. If the first step fails, the verification stays live. The same transaction queues
 * the mail to the person, so simultaneous requests send only one.
 */
export interface VerificationStore {
  /**
   * Turns an attempt into a verification, revokes the agent's earlier one, and queues the confirmation mail, in one transaction.
   *
   * @returns `unknown` if the agent has no such attempt, or is not active, or a credential of the agent was removed after it was
   *   authenticated
   */
  redeem(verification: NewVerification): Promise<Result<Verification, TryRefusal | 'unknown'>>
  /** Finds a verification, live or ended. */
  find(id: string): Promise<Verification | undefined>
  /** Finds a verification by the `revocationLinkHash` with which it was created, live or ended. */
  findByRevocationLink(linkHash: Buffer): Promise<Verification | undefined>
  /** Finds the live verification that the agent of an open attempt has for the same address. */
  findByAttempt(attemptId: string, now: Date): Promise<Verification | undefined>
  /** Finds an agent's newest verification, live or ended. */
  findNewest(agentId: string): Promise<Verification | undefined>
  /** Finds an agent's live verification. Tokens and assertions of a verification are valid only while it is live. */
  findLive(agentId: string, now: Date): Promise<Verification | undefined>
  /** Returns whether the agent has a live verification for an e-mail address. */
  isConfirmedBy(agentId: string, email: string, now: Date): Promise<boolean>
  /** Returns the given agents that have a live verification. */
  findConfirmed(agentIds: readonly string[], now: Date): Promise<ReadonlySet<string>>
  /** Finds the person of a live verification. */
  findPerson(id: string, now: Date): Promise<ConfirmedPerson | undefined>
  /**
   * Lists at most 100 live verifications for the address of a live verification: the given one first, the others newest first.
   */
  listByAddress(id: string, now: Date): Promise<readonly LinkedVerification[]>
  /**
   * Lists verifications, newest first.
   *
   * @param limit 1 to 1000
   */
  list(limit: number, filter?: { liveAt?: Date }): Promise<readonly Verification[]>
  /**
   * Revokes a live verification and erases its address. When it returns, no server accepts a token or assertion of the
   * verification. For an ended verification, the revocation is published again, since an earlier call may have failed to
   * publish it.
   *
   * @param options.mail false if the person has already received the mail, as when a restore repeats the revocation
   * @returns false if there is no such verification, or it had already ended
   */
  revoke(
    id: string,
    by: 'person' | 'agent' | 'operator' | 'reused',
    now: Date,
    options?: { mail?: boolean },
  ): Promise<boolean>
  /**
   * Revokes all live verifications for the address of a live verification, that one included, for the person, in one
   * transaction. If it had already ended, the revocations of all that ended at the same time are published again, since an
   * earlier call may have failed to publish them. They are not published if no token of them can be valid any more.
   *
   * An earlier revocation of another verification for the address is not published again, because its address has been erased.
   * The page of that verification's own link offers this.
   *
   * @returns false if there is no such verification, or it had already ended
   */
  revokeAllByAddress(id: string, now: Date): Promise<boolean>
  /**
   * Withdraws the open attempt of an agent that requests this, and revokes its live verification as `revoke` does. If it has
   * none, `republishRevocations` runs, because the request may be a retry.
   *
   * @returns false if the agent is not active, or one of its credentials was removed after it was authenticated
   */
  revokeByAgent(agent: AuthenticatedAgent, now: Date): Promise<boolean>
  /**
   * Publishes the revocations of an agent's verifications again, since an earlier call may have failed to publish them. Changes no
   * verification. Publishes nothing if none of them ended so recently that a token of it could be valid.
   */
  republishRevocations(agentId: string, now: Date): Promise<void>
  /**
   * Lists the verifications of connections, newest first.
   *
   * @param limit 1 to 1000
   */
  listGrants(limit: number, filter?: { liveAt?: Date; appHost?: string }): Promise<readonly AppGrant[]>
  /** Finds the verification of a connection, live or ended. */
  findGrant(id: string): Promise<AppGrant | undefined>
  /** Counts the live verifications of connections with apps at a host. */
  countGrants(appHost: string, now: Date): Promise<number>
}
