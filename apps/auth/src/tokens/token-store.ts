import type { RegistrationId } from '@plainpath/domain'

/** SHA-256 of a token: all that a store ever sees of it. */
export type TokenHash = Buffer

export interface TokenRecord {
  readonly clientId: string
  /** The client's generation as the issuing process knew it. */
  readonly generation: number
  /** The epoch as it stood when the token was saved, or before. */
  readonly epoch: number
  /** Space separated. */
  readonly scope: string
  readonly audience: string
  /** Whole seconds. */
  readonly issuedAt: Date
  readonly expiresAt: Date
  /** The claim that it was got under, if any: it ends with it. */
  readonly claimId?: RegistrationId | undefined
}

/** A token that is to be saved: without an epoch it gets the one that stands at that moment, in one step. */
export type NewToken = Omit<TokenRecord, 'epoch'> & { readonly epoch?: number }

/** What the emergency stop has ended so far. Both parts only rise. */
export interface TokenStop {
  /** Tokens of a lower epoch are over. */
  readonly epoch: number
  /** Tokens issued before are over; one that was issued in that very second lives. */
  readonly issuedBefore: Date | undefined
}

export const isStopped = (
  token: Pick<TokenRecord, 'epoch' | 'issuedAt'>,
  { epoch, issuedBefore }: TokenStop,
): boolean => token.epoch < epoch || (issuedBefore !== undefined && token.issuedAt < issuedBefore)

/**
 * Where access tokens live. Every method throws when the store does not answer.
 *
 * `contract` suite: `token-store.contract.ts`.
 */
export interface TokenStore {
  /** @returns what has been stopped, as it stood when the token got its epoch; undefined for one that came with it */
  save(hash: TokenHash, token: NewToken): Promise<TokenStop | undefined>
  /**
   * The token, unless it expired, was revoked or stopped, or its client's generation is another than the one it
   * carries.
   */
  find(hash: TokenHash): Promise<TokenRecord | undefined>
  /** When it returns, no `find` that begins later gives the token. Unknown tokens are no error. */
  revoke(hash: TokenHash): Promise<void>
  /**
   * Ends every token of the client or claim that carries a lower generation, also one that is saved later. It runs
   * before the authority's own change commits, so the number must not be looked up there.
   */
  raiseGeneration(id: string, generation: number): Promise<void>
  /** What has been stopped. */
  stop(): Promise<TokenStop>
  /** Ends every token that was stopped, also one that is saved later. Runs as `raiseGeneration` does. */
  raiseStop(stop: TokenStop): Promise<void>
  /** Every token that is kept, in batches, each at least once; for counting, not for deciding. */
  all(): AsyncIterable<readonly TokenRecord[]>
}

/** The only generation of a claim in which tokens are issued; the next one says that it has ended. */
export const STANDING = 1

/** The authority on generations: undefined for a client or claim that is unknown or has ended. */
export type GenerationOf = (id: string) => Promise<number | undefined>

/** The authority on what was stopped. */
export type StopOf = () => Promise<TokenStop>
