import { z } from 'zod'

/** An e-mail verification: a person who controls a mailbox confirmed an agent. It does not hold the address; the store does. */
export const Claim = z.object({
  /** The `registration_id` that the agent receives. */
  id: z.string(),
  agentId: z.string(),
  verifiedAt: z.date(),
  expiresAt: z.date(),
  /** Both absent until it ends. */
  endedAt: z.date().optional(),
  /** `reused`: a code or refresh token of its connection was used twice. */
  endedBy: z
    .enum(['person', 'agent', 'operator', 'superseded', 'agent-deleted', 'expired', 'reused'])
    .optional(),
})
export type Claim = Readonly<z.infer<typeof Claim>>

/** What a mail to the person says about the agent that they confirmed. */
export interface ConfirmedAgent {
  /** The agent's own word; nobody checked it. */
  readonly name?: string | undefined
  /** The host that the agent has proven to control. */
  readonly verifiedDomain: string | undefined
  /** For a connection, where its app is: see `appHostOf`. Absent for an agent. */
  readonly appHost?: string | undefined
  readonly registeredAt: Date
  readonly verifiedAt: Date
  readonly expiresAt: Date
}

export const isLive = (claim: Claim, now: Date): boolean => !claim.endedAt && now < claim.expiresAt

/** True unless the person or an operator revoked the claim. */
export const isUnrevoked = ({ endedBy }: Pick<Claim, 'endedBy'>): boolean =>
  endedBy !== 'person' && endedBy !== 'operator'
