import type { AgentId, AgentKey } from '@plainpath/domain'

/** Why an agent expired. `flood`: too many that never got a token, and it was among the oldest. */
export type ExpiryCause = 'never-used' | 'idle' | 'flood'

/** What is left of an agent that was not used: enough to recognise whoever holds its secret or key, and nobody else. */
export interface ExpiredAgent {
  readonly id: AgentId
  readonly cause: ExpiryCause
  readonly secrets: readonly { readonly digest: Buffer; readonly keyId: string }[]
  readonly keys: readonly AgentKey[]
  readonly expiredAt: Date
}

export interface ExpiryBounds {
  /** So many agents that never got a token may live at once, beside those younger than an hour. */
  readonly neverUsed: number
  /** What is left of so many is kept. */
  readonly expired: number
}

export interface EndedAgent {
  readonly id: AgentId
  /** Above that of every token that it may have had. */
  readonly generation: number
}

export interface ExpiringAgents {
  /**
   * Removes a batch of agents that are due, with their claims and all that hangs on those. One that gets a token
   * meanwhile stays; two processes that do it at once never remove more than one would. `announce` runs before anybody
   * can see it; if it throws, nothing changed.
   */
  expire(
    now: Date,
    bounds: Pick<ExpiryBounds, 'neverUsed'>,
    announce: (ended: readonly EndedAgent[]) => Promise<void>,
  ): Promise<readonly EndedAgent[]>
  find(id: AgentId, now: Date): Promise<ExpiredAgent | undefined>
  /** Forgets a batch of those that are left too long, or are too many: the oldest. @returns how many went */
  forget(now: Date, bounds: Pick<ExpiryBounds, 'expired'>): Promise<number>
}
