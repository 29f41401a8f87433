/** SHA-256 of a token: all that a store ever sees of it. */
export type TokenHash = Buffer

export interface TokenRecord {
  readonly clientId: string
  /** The client's generation as the issuing process knew it. */
  readonly generation: number
  /** Space separated. */
  readonly scope: string
  readonly audience: string
  readonly issuedAt: Date
  readonly expiresAt: Date
}

/**
 * Where access tokens live. Every method throws when the store does not answer.
 *
 * `contract` suite: `token-store.contract.ts`.
 */
export interface TokenStore {
  save(hash: TokenHash, token: TokenRecord): Promise<void>
  /** The token, unless it expired, was revoked, or its client's generation is another than the one it carries. */
  find(hash: TokenHash): Promise<TokenRecord | undefined>
  /** When it returns, no `find` that begins later gives the token. Unknown tokens are no error. */
  revoke(hash: TokenHash): Promise<void>
  /**
   * Ends every token of the client that carries a lower generation, also one that is saved later. It runs before
   * the authority's own change commits, so the number must not be looked up there.
   */
  raiseGeneration(clientId: string, generation: number): Promise<void>
}

/** The authority on generations: undefined for a client that is unknown or not active. */
export type GenerationOf = (clientId: string) => Promise<number | undefined>
