/*
 * What an access token is to its store, and the interface of the stores: `redis-token-store.ts`, or
 * `postgres-token-store.ts` where there is no Redis. A store finds and revokes tokens; it does not decide who may have
 * one, nor notify the APIs of revocations (`revocation/revoker.ts`).
 */
import { AgentId, RegistrationId } from '@plainpath/domain'
import { z } from 'zod'

export const TokenRecord = z.object({
  clientId: AgentId,
  /** The client's generation when it was authenticated. It rises whenever the client loses a credential. */
  generation: z.int(),
  /** The revocation epoch when the token was saved, or an earlier one. */
  epoch: z.int(),
  /** Space separated. */
  scope: z.string(),
  audience: z.string(),
  /** Whole seconds. */
  issuedAt: z.date(),
  expiresAt: z.date(),
  /** The claim that the token depends on, if any: revoking the claim revokes the token. */
  claimId: RegistrationId.optional(),
  /** The thumbprint of the key that the token is bound to (RFC 9449 §6); absent for a bearer token. */
  jkt: z.string().optional(),
})
export type TokenRecord = Readonly<z.infer<typeof TokenRecord>>

/** A token to save. Without `epoch`, the store assigns the current one in the same atomic step. */
export type NewToken = Omit<TokenRecord, 'epoch'> & { readonly epoch?: number }

/** What emergency revocations (the command `stop`) have revoked so far. Both parts only rise. */
export interface TokenStop {
  /** Tokens with a lower epoch are revoked. */
  readonly epoch: number
  /** Tokens issued earlier are revoked; one issued in this very second is not. */
  readonly issuedBefore?: Date | undefined
}

export const isStopped = (
  token: Pick<TokenRecord, 'epoch' | 'issuedAt'>,
  { epoch, issuedBefore }: TokenStop,
): boolean => token.epoch < epoch || (issuedBefore !== undefined && token.issuedAt < issuedBefore)

/**
 * Stores access tokens by their SHA-256, never in clear. Every method throws when the store is unavailable.
 *
 * Each implementation passes `token-store.contract.ts`.
 */
export interface TokenStore {
  /** Saves a token. @returns the stop from which the token got its epoch; undefined for a token that brought its own */
  save(hash: Buffer, token: NewToken): Promise<TokenStop | undefined>
  /**
   * Finds a token, unless it is expired or revoked: itself, by an emergency revocation, with its claim, or because its
   * client has another generation by now.
   */
  find(hash: Buffer): Promise<TokenRecord | undefined>
  /** Revokes one token: no `find` that begins after it returns finds it. An unknown token is no error. */
  revoke(hash: Buffer): Promise<void>
  /**
   * Revokes every token of the subject, including one that is saved later. The caller runs it before the authority
   * commits the change, so an implementation must not read the authority.
   */
  revokeTokensOf(subject: RevokedSubject): Promise<void>
  /** Reads what emergency revocations have revoked. */
  stop(): Promise<TokenStop>
  /** Revokes every token that `stop` covers, including one that is saved later. The caller runs it as `revokeTokensOf`. */
  raiseStop(stop: TokenStop): Promise<void>
  /** Iterates over the stored tokens in batches, each token at least once, revoked ones included: for counting only. */
  all(): AsyncIterable<readonly TokenRecord[]>
}

/** Whose tokens are revoked: those of a client with a lower generation than this one, or those that depend on a claim. */
export type RevokedSubject =
  | { readonly kind: 'client'; readonly id: AgentId; readonly generation: number }
  | { readonly kind: 'claim'; readonly id: RegistrationId }

/** The authority on which tokens are valid: PostgreSQL. The Redis token store caches what it reads here. */
export interface TokenAuthority {
  /** @returns undefined for a client that is unknown or not active */
  findGeneration(id: AgentId): Promise<number | undefined>
  isLiveClaim(id: RegistrationId): Promise<boolean>
  stop(): Promise<TokenStop>
}
