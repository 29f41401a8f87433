import { AgentId, RegistrationId } from '@plainpath/domain'
import { z } from 'zod'

export const TokenRecord = z.object({
  clientId: AgentId,
  /** The client's generation as the issuing process knew it. */
  generation: z.int(),
  /** The epoch as it stood when the token was saved, or before. */
  epoch: z.int(),
  /** Space separated. */
  scope: z.string(),
  audience: z.string(),
  /** Whole seconds. */
  issuedAt: z.date(),
  expiresAt: z.date(),
  /** The claim that it was got under, if any: it ends with it. */
  claimId: RegistrationId.optional(),
})
export type TokenRecord = Readonly<z.infer<typeof TokenRecord>>

/** A token that is to be saved: without an epoch it gets the one that stands at that moment, in one step. */
export type NewToken = Omit<TokenRecord, 'epoch'> & { readonly epoch?: number }

/** What the emergency stop has ended so far. Both parts only rise. */
export interface TokenStop {
  /** Tokens of a lower epoch are over. */
  readonly epoch: number
  /** Tokens issued before are over; one that was issued in that very second lives. */
  readonly issuedBefore?: Date | undefined
}

export const isStopped = (
  token: Pick<TokenRecord, 'epoch' | 'issuedAt'>,
  { epoch, issuedBefore }: TokenStop,
): boolean => token.epoch < epoch || (issuedBefore !== undefined && token.issuedAt < issuedBefore)

/**
 * Where access tokens live; of a token a store sees only its SHA-256. Every method throws when the store does not answer.
 *
 * `contract` suite: `token-store.contract.ts`.
 */
export interface TokenStore {
  /** @returns what has been stopped, as it stood when the token got its epoch; undefined for one that came with it */
  save(hash: Buffer, token: NewToken): Promise<TokenStop | undefined>
  /**
   * The token, unless it expired, was revoked or stopped, or its client's generation is another than the one it
   * carries.
   */
  find(hash: Buffer): Promise<TokenRecord | undefined>
  /** When it returns, no `find` that begins later gives the token. Unknown tokens are no error. */
  revoke(hash: Buffer): Promise<void>
  /**
   * Ends every token of the subject, also one that is saved later. It runs before the authority's own change commits, so
   * the authority must not be asked.
   */
  endTokensOf(subject: EndedSubject): Promise<void>
  /** What has been stopped. */
  stop(): Promise<TokenStop>
  /** Ends every token that was stopped, also one that is saved later. Runs as `endTokensOf` does. */
  raiseStop(stop: TokenStop): Promise<void>
  /** Every token that is kept, in batches, each at least once; for counting, not for deciding. */
  all(): AsyncIterable<readonly TokenRecord[]>
}

/** Whose tokens end: those of a client with a generation below this one, or all that were got under a claim. */
export type EndedSubject =
  | { readonly kind: 'client'; readonly id: AgentId; readonly generation: number }
  | { readonly kind: 'claim'; readonly id: RegistrationId }

/** Where it is decided which tokens are good; a token store keeps copies of these answers. */
export interface TokenAuthority {
  /** Undefined for a client that is unknown or not active. */
  generationOf(id: AgentId): Promise<number | undefined>
  isLiveClaim(id: RegistrationId): Promise<boolean>
  stop(): Promise<TokenStop>
}
