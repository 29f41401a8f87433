import { randomUUID } from 'node:crypto'
import {
  type LiveVerification,
  ok,
  type RenewedAssertion,
  type Result,
  RULES,
  Scope,
} from '@plainpath/domain'
import { AGENT_GRANT_TYPES, type ServiceUrls } from '@plainpath/metadata'
import type { z } from 'zod'
import type { AuthenticatedAgent } from '../clients/credential-version.ts'
import type { KeyFollower } from '../keys/key-follower.ts'
import type { Stores } from '../stores.ts'
import { signAssertion } from './identity-assertion.ts'
import type { AddAssertionRefusal } from './identity-assertion-store.ts'

export interface IssueAssertionDeps {
  stores: Pick<Stores, 'identityAssertions'>
  keyFollower: Pick<KeyFollower, 'keys' | 'requireLease'>
  /** How long a key stays published after it has stopped signing. */
  overlapMs: number
  urls: ServiceUrls
  now: () => Date
}

/**
 * Issues an identity assertion to a client with a completed verification. The assertion is valid for 24 h, but not
 * longer than its verification, and not after its signing key stops being published.
 *
 * @returns the response body, or why the assertion was not stored
 * @throws {Problem} `unavailable` if this instance's key lease has expired
 */
export async function issueAssertion(
  { stores, keyFollower, overlapMs, urls, now }: IssueAssertionDeps,
  agent: AuthenticatedAgent,
  verification: LiveVerification,
): Promise<Result<z.input<typeof RenewedAssertion>, AddAssertionRefusal>> {
  keyFollower.requireLease()
  const issuedAt = now()
  // The key may stop signing right after this, and stays published for `overlapMs` from then.
  const latestExpiry = issuedAt.getTime() + Math.min(RULES.identityAssertionMs, overlapMs)
  const expiresAt = new Date(Math.min(latestExpiry, verification.expiresAt.getTime()))
  const assertion = {
    jti: randomUUID(),
    verificationId: verification.id,
    clientId: agent.id,
    issuedAt,
    expiresAt,
  }
  const added = await stores.identityAssertions.add(assertion, agent.credentialVersion)
  if (!added.ok) return added
  return ok({
    registration_id: verification.id,
    identity_type: 'verified_email',
    identity_assertion: await signAssertion(assertion, keyFollower.keys, urls.origin),
    expires: expiresAt.toISOString(),
    claim_expires_at: verification.expiresAt.toISOString(),
    grant_types: [...AGENT_GRANT_TYPES],
    scopes: [...Scope.options],
    scope: Scope.options.join(' '),
    token_endpoint: urls.token,
  })
}
