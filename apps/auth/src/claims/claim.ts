export const ENDED_BY = ['person', 'agent', 'operator', 'superseded', 'agent-deleted', 'expired'] as const
export type EndedBy = (typeof ENDED_BY)[number]

/** That a person who controls a mailbox confirmed an agent. The address is not in it: whoever needs it asks the store. */
export interface Claim {
  /** Also the `registration_id` that the agent is told. */
  readonly id: string
  readonly agentId: string
  readonly verifiedAt: Date
  readonly expiresAt: Date
  readonly ended: { readonly at: Date; readonly by: EndedBy } | undefined
}

export const isLive = (claim: Claim, now: Date): boolean => !claim.ended && now < claim.expiresAt
