import type { AgentId, Result } from '@plainpath/domain'
import type { AgentSecret } from './agent-store.ts'

export const MAX_SECRETS = 2

/** `ended`: the agent is not active any more. */
export type AddSecretRefusal = 'ended' | 'has-keys' | 'too-many'

/** What became of a secret that was to go; `unknown`: it had gone, or never was. */
export type EndedSecret =
  | { readonly outcome: 'gone' | 'unknown'; readonly generation: number }
  | { readonly outcome: 'last' | 'ended' }

/** The secrets of an agent that has no keys: always one without an end, and for a while an older one beside it. */
export interface AgentSecretStore {
  /** Adds a secret without an end; the one before it ends at `oldEndsAt`. Atomic. @returns all that are accepted now */
  addSecret(
    id: AgentId,
    secret: AgentSecret,
    oldEndsAt: Date,
  ): Promise<Result<readonly AgentSecret[], AddSecretRefusal>>
  /**
   * Ends a secret, unless it is the last; the other one has no end any more. Raises the generation, since nobody knows
   * which tokens were got with which secret. `announce` runs before the change becomes visible; if it throws, nothing
   * changed.
   */
  endSecret(
    id: AgentId,
    secretId: string,
    now: Date,
    announce: (generation: number) => Promise<void>,
  ): Promise<EndedSecret>
}
