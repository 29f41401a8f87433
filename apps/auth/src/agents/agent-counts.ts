/** Active agents that are not used. */
export interface UnusedAgents {
  /** That never got a token. */
  readonly neverUsed: number
  /** That got none for 30 days. */
  readonly idle: number
}

/** Every agent that is written down, by what it is; some are several. */
export interface AgentCounts extends UnusedAgents {
  readonly active: number
  readonly disabled: number
  readonly deleted: number
  /** That left something. */
  readonly expired: number
  readonly withKeys: number
  /** By a person. */
  readonly confirmed: number
}
