/*
 * The record of an access token, and the interface of the token stores: `redis-token-store.ts`, or `postgres-token-store.ts` for
 * an installation without Redis. A store finds and revokes tokens. It does not decide who may have a token, and does not publish
 * revocations to the APIs (`revocation/revocation-publisher.ts`).
 */
import { AgentId, RegistrationId } from '@plainpath/domain'
import { z } from 'zod'

export const TokenRecord = z.object({
  clientId: AgentId,
  /** The credential version under which the token was issued. Auth raises the client's version to revoke the client's tokens. */
  credentialVersion: z.int(),
  /** The revocation epoch when the token was saved, or an earlier one. */
  epoch: z.int(),
  /** The scopes, separated by spaces. */
  scope: z.string(),
  /** The resource identifier for which the token is valid, or `CANARY_AUDIENCE`. */
  audience: z.string(),
  /** The time of issue in whole seconds. */
  issuedAt: z.date(),
  expiresAt: z.date(),
  /** The verification on which the token depends, if any: revoking the verification revokes the token. */
  verificationId: RegistrationId.optional(),
  /** The thumbprint of the key that the token is bound to (RFC 9449 §6); absent for a bearer token. */
  jkt: z.string().optional(),
})
export type TokenRecord = Readonly<z.infer<typeof TokenRecord>>

/** The audience of a canary, a token with which a command checks the instances. No API has this audience. */
export const CANARY_AUDIENCE = 'urn:plainpath:canary'

/** A token to save. Without `epoch`, the store assigns the epoch of the cutoff that it reads while saving. */
export type NewToken = Omit<TokenRecord, 'epoch'> & { readonly epoch?: number }

/** The cutoff of emergency revocations (the command `stop`): all tokens below it are revoked. Both values only rise. */
export interface TokenCutoff {
  /** Tokens with a lower epoch are revoked. */
  readonly epoch: number
  /** Tokens that were issued before this second are revoked. */
  readonly issuedBefore?: Date | undefined
}

/** Returns whether an emergency revocation has revoked the token. */
export const isBelowCutoff = (
  token: Pick<TokenRecord, 'epoch' | 'issuedAt'>,
  { epoch, issuedBefore }: TokenCutoff,
): boolean => token.epoch < epoch || (issuedBefore !== undefined && token.issuedAt < issuedBefore)

/**
 * Stores access tokens, by their SHA-256 only. A method throws if a store that it needs is unavailable. Each implementation must
 * pass the tests in `*.contract.ts`.
 */
export interface TokenStore {
  /**
   * Saves a token.
   *
   * @returns the cutoff whose epoch was assigned; undefined for a token with its own epoch
   */
  save(hash: Buffer, token: NewToken): Promise<TokenCutoff | undefined>
  /**
   * Finds a token, unless it has expired or was revoked. A token is revoked alone, in an emergency revocation, with its
   * verification, or because its client is inactive or has another credential version.
   */
  find(hash: Buffer): Promise<TokenRecord | undefined>
  /** Revokes one token. No `find` that begins after this returns can find it. An unknown token is not an error. */
  revoke(hash: Buffer): Promise<void>
  /**
   * Revokes the tokens of the subject, including tokens that are saved later. The caller runs this before the authority commits
   * the change, so an implementation must not read the authority.
   */
  revokeTokensOf(subject: RevokedSubject): Promise<void>
  readCutoff(): Promise<TokenCutoff>
  /**
   * Revokes every token below `cutoff`, including tokens that are saved later. The caller runs this before the commit, like
   * `revokeTokensOf`.
   */
  raiseCutoff(cutoff: TokenCutoff): Promise<void>
  /**
   * Iterates over the stored tokens in batches, for counting only. It may yield a token twice, and it also yields tokens that are
   * no longer valid but not yet deleted.
   */
  iterateAll(): AsyncIterable<readonly TokenRecord[]>
}

/** The tokens to revoke: a client's tokens of a lower credential version, or the tokens that depend on a verification. */
export type RevokedSubject =
  | { readonly kind: 'client'; readonly id: AgentId; readonly credentialVersion: number }
  | { readonly kind: 'verification'; readonly id: RegistrationId }

/** The authority that decides which tokens are valid: PostgreSQL. The Redis token store caches these values. */
export interface TokenAuthority {
  /** Finds the credential version of a client; undefined if the client is unknown or not active. */
  findCredentialVersion(id: AgentId): Promise<number | undefined>
  isVerificationLive(id: RegistrationId): Promise<boolean>
  readCutoff(): Promise<TokenCutoff>
}
