import type { AgentId, StandingClaim } from '@plainpath/domain'
import type { InstanceKeys } from '../keys/signing-key.ts'
import { readAssertion } from './identity-assertion.ts'
import type { IdentityAssertionStore } from './identity-assertion-store.ts'

/** No assertion of ours is longer. */
const MAX_LENGTH = 2_000

/**
 * Checks an identity assertion (RFC 7521 §5.2, RFC 7523 §3): signed by us, for us, in time, for the very client that sends
 * it, and neither it nor its claim has ended. It may be used again until it expires.
 *
 * @returns the claim; undefined whatever is wrong, since the client is told the same
 */
export async function exchangeAssertion(
  deps: {
    assertions: Pick<IdentityAssertionStore, 'claimOf'>
    keys: InstanceKeys
    issuer: string
    now: Date
  },
  assertion: string,
  clientId: AgentId,
): Promise<StandingClaim | undefined> {
  if (assertion.length > MAX_LENGTH) return undefined
  const read = await readAssertion(assertion, deps.keys, deps)
  if (!read.ok || read.value.clientId !== clientId) return undefined
  const expiresAt = await deps.assertions.claimOf(read.value, deps.now)
  return expiresAt && { id: read.value.claimId, expiresAt }
}
