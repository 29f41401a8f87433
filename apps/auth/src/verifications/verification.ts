import { z } from 'zod'

/** An e-mail verification: a person who controls a mailbox confirmed an agent. The address is not part of this object. */
export const Verification = z.object({
  /** The `registration_id` that the agent receives. */
  id: z.string(),
  agentId: z.string(),
  verifiedAt: z.date(),
  expiresAt: z.date(),
  /** When the verification was revoked or expired. Absent for an expired verification until a sweep closes it. */
  endedAt: z.date().optional(),
  /**
   * Why the verification ended. `superseded`: the agent got a newer one. `reused`: an authorization code or refresh
   * token of the connection was used twice.
   */
  endedBy: z
    .enum(['person', 'agent', 'operator', 'superseded', 'agent-deleted', 'expired', 'reused'])
    .optional(),
})
export type Verification = Readonly<z.infer<typeof Verification>>

/** The agent that a person confirmed, as described in e-mails to that person. */
export interface ConfirmedAgent {
  /** The name that the agent gave itself. Nobody verified it. */
  readonly name?: string | undefined
  /** The host that the agent has proven that it controls. */
  readonly verifiedDomain: string | undefined
  /**
   * The destination of the sign-in of a connected app, as `formatAppHost` formats it. Absent if the agent is not a connected app.
   */
  readonly appHost?: string | undefined
  readonly registeredAt: Date
  readonly verifiedAt: Date
  readonly expiresAt: Date
}

export const isVerificationLive = (verification: Verification, now: Date): boolean =>
  !verification.endedAt && now < verification.expiresAt
