import type { ExpiredAgent } from '../agents/agent-expiry.ts'
import type { VerifiedAssertion } from './client-assertion.ts'
import type { JtiOutcome } from './used-jti-store.ts'

/** A client, active or expired, with the credentials that authenticate it. */
export type ClientWithCredentials = Pick<ExpiredAgent, 'id' | 'keys' | 'secrets'>

/** Marks an assertion as used. The assertion authenticates its client only if the outcome is `accepted`. */
export type MarkAssertionUsed = (assertion: VerifiedAssertion) => Promise<{
  readonly outcome: JtiOutcome
  /** The credential version of a new client, which is stored when its assertion is used. */
  readonly credentialVersion?: number
}>
