import type { ExpiredAgent } from '../agents/agent-expiry.ts'
import type { VerifiedAssertion } from './client-assertion.ts'
import type { JtiUse } from './used-jti-store.ts'

/** A client, active or expired, with the credentials that authenticate it. */
export type Provable = Pick<ExpiredAgent, 'id' | 'keys' | 'secrets'>

/** Marks an assertion as used. */
export type UseAssertion = (assertion: VerifiedAssertion) => Promise<{
  readonly outcome: JtiUse
  /** The generation of a client that begins by it. */
  readonly generation?: number
}>
