import type { AgentId } from '@plainpath/domain'
import { z } from 'zod'
import { Actor } from '../audit/audit-chain.ts'
import type { TokenStop } from './token-store.ts'

/** Which tokens are to end. */
export type StopScope =
  | { readonly kind: 'all-tokens' }
  | { readonly kind: 'issued-before'; readonly at: Date }
  | { readonly kind: 'client'; readonly clientId: AgentId }

/** What the tokens' store must be told. */
export type Stopped =
  | { readonly kind: 'stop'; readonly stop: TokenStop }
  | { readonly kind: 'client'; readonly clientId: AgentId; readonly generation: number }

/** One stop, as it is hashed. */
export const StopEntry = z.strictObject({
  at: z.iso.datetime(),
  by: Actor,
  scope: z.enum(['all-tokens', 'issued-before', 'client']),
  reason: z.string(),
  epoch: z.int().optional(),
  issued_before: z.iso.datetime().optional(),
  client_id: z.string().optional(),
  generation: z.int().optional(),
})
export type StopEntry = z.infer<typeof StopEntry>

/** The answer for what cannot be stopped, in a sentence. */
export type StopRefusal = string

export interface AppliedStop {
  /** What had been stopped before. */
  readonly before: TokenStop
  readonly stopped: Stopped
  /** Head of the audit afterwards; undefined for a trial. */
  readonly head: string | undefined
}
