import type { Agent, AgentId, AgentKey } from '@plainpath/domain'

/** A secret as it is kept: `digest` is HMAC-SHA-256 under the hash key named `keyId`. */
export interface AgentSecret {
  readonly id: string
  readonly digest: Buffer
  readonly keyId: string
  readonly createdAt: Date
  /** From then on the secret is not accepted; undefined for one that stays. */
  readonly endsAt: Date | undefined
}

export const isAccepted = ({ endsAt }: Pick<AgentSecret, 'endsAt'>, now: Date): boolean =>
  endsAt === undefined || endsAt > now

export interface AgentRecord {
  readonly agent: Agent
  /** Empty for a deleted agent, and for one with keys. */
  readonly secrets: readonly AgentSecret[]
}

/** What registration, client authentication and operators need from storage. */
export interface AgentStore {
  /** Stores the agent with its first secret, or with its keys. Atomic. */
  add(record: AgentRecord): Promise<void>
  find(id: AgentId): Promise<AgentRecord | undefined>
  /**
   * Disables or deletes: raises the generation and, for a deletion, erases name, secrets and keys. `announce` runs before
   * the change becomes visible; if it throws, nothing changed.
   *
   * @returns the new generation, or undefined when there is no such agent or it is deleted already
   */
  end(
    id: AgentId,
    status: 'disabled' | 'deleted',
    announce: (generation: number) => Promise<void>,
  ): Promise<number | undefined>
  /** Replaces the keys of an active agent and ends its secrets. Atomic. @returns the agent, or undefined for another */
  replaceKeys(id: AgentId, keys: readonly AgentKey[]): Promise<Agent | undefined>
  /** Counts as use: it does not expire at once. @returns false unless the agent was disabled */
  enable(id: AgentId, now: Date): Promise<boolean>
  /** Writes down that the agent is used. Durable when it returns. @returns false unless the agent is active */
  markUsed(id: AgentId, now: Date): Promise<boolean>
  /** Newest first. @param limit 1 to 1000 */
  list(limit: number): Promise<readonly Agent[]>
}
