import type { AgentId, LiveVerification } from '@plainpath/domain'
import type { InstanceKeys } from '../keys/signing-key.ts'
import { verifyAssertion } from './identity-assertion.ts'
import type { IdentityAssertionStore } from './identity-assertion-store.ts'

/** In characters. Every assertion that this server signs is shorter. */
const MAX_ASSERTION_LENGTH = 2_000

/**
 * Verifies an identity assertion that a client presents to get a token (RFC 7521 §5.2, RFC 7523 §3). This server must
 * have signed the assertion, must be its audience, and must have issued it to this client. The assertion and its e-mail
 * verification must be neither expired nor revoked. A client can present an assertion several times.
 *
 * @returns the e-mail verification; undefined for every fault, because the client gets the same response to each
 */
export async function verifyPresentedAssertion(
  {
    assertions,
    keys,
    issuer,
  }: {
    assertions: Pick<IdentityAssertionStore, 'findVerificationExpiry'>
    keys: InstanceKeys
    issuer: string
  },
  assertion: string,
  clientId: AgentId,
  now: Date,
): Promise<LiveVerification | undefined> {
  if (assertion.length > MAX_ASSERTION_LENGTH) return undefined
  const verified = await verifyAssertion(assertion, keys, { issuer, now })
  if (!verified.ok || verified.value.clientId !== clientId) return undefined
  const expiresAt = await assertions.findVerificationExpiry(verified.value, now)
  return expiresAt && { id: verified.value.verificationId, expiresAt }
}
