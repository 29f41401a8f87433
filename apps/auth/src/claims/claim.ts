import { z } from 'zod'

/** That a person who controls a mailbox confirmed an agent. The address is not in it: whoever needs it asks the store. */
export const Claim = z.object({
  /** Also the `registration_id` that the agent is told. */
  id: z.string(),
  agentId: z.string(),
  verifiedAt: z.date(),
  expiresAt: z.date(),
  /** Both absent until it ends. */
  endedAt: z.date().optional(),
  endedBy: z.enum(['person', 'agent', 'operator', 'superseded', 'agent-deleted', 'expired']).optional(),
})
export type Claim = Readonly<z.infer<typeof Claim>>

export const isLive = (claim: Claim, now: Date): boolean => !claim.endedAt && now < claim.expiresAt

/** Whether neither the person nor an operator took back what was confirmed. */
export const isUnrevoked = ({ endedBy }: Pick<Claim, 'endedBy'>): boolean =>
  endedBy !== 'person' && endedBy !== 'operator'
