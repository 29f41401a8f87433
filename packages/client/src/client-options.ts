import type { AgentKeys } from './agent-key.ts'
import type { Credentials } from './credentials.ts'

export interface PlainpathOptions {
  readonly credentials?: Credentials | undefined
  /**
   * The agent's key pair from `crypto.subtle.generateKey`: ECDSA with P-256, or Ed25519. It replaces the secret. Tokens are bound
   * to it (DPoP), so that a stolen token is useless without the key.
   */
  readonly keys?: AgentKeys | undefined
  /** The time limit of each attempt, in milliseconds; by default 10 s. */
  readonly timeoutMs?: number
}

export interface CallOptions {
  /** Aborts the call. */
  readonly signal?: AbortSignal | undefined
}
