import type { AgentId, StandingClaim } from '@plainpath/domain'
import type { InstanceKeys } from '../keys/signing-key.ts'
import { readAssertion } from './identity-assertion.ts'
import type { IdentityAssertionStore } from './identity-assertion-store.ts'

/** Longer than any assertion that this server signs. */
const MAX_LENGTH = 2_000

/**
 * Verifies an identity assertion (RFC 7521 §5.2, RFC 7523 §3): signed by this server for itself, unexpired, issued to
 * the client that presents it, and neither it nor its claim revoked. It may be used again until it expires.
 *
 * @returns the claim; undefined for any fault, since the client gets the same response for all
 */
export async function exchangeAssertion(
  deps: {
    assertions: Pick<IdentityAssertionStore, 'findClaimExpiry'>
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
  const expiresAt = await deps.assertions.findClaimExpiry(read.value, deps.now)
  return expiresAt && { id: read.value.claimId, expiresAt }
}
