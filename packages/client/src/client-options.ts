import type { AgentKeys } from './agent-key.ts'
import type { Credentials } from './credentials.ts'

export interface PlainpathOptions {
  readonly credentials?: Credentials | undefined
  /**
   * The agent's key pair, ECDSA with P-256 or Ed25519, as `crypto.subtle.generateKey` makes it. It takes the place of a secret, and
   * tokens are bound to it (DPoP): without the key, a stolen token is useless.
   */
  readonly keys?: AgentKeys | undefined
  /** For each attempt of a request; 10 s unless given. */
  readonly timeoutMs?: number
}

export interface CallOptions {
  /** Ends the call. */
  readonly signal?: AbortSignal | undefined
}
