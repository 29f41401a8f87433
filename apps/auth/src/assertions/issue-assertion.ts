import { randomUUID } from 'node:crypto'
import { type AgentId, type RenewedAssertion, RULES, Scope, type StandingClaim } from '@plainpath/domain'
import { GRANT_TYPES, type ServiceUrls } from '@plainpath/metadata'
import type { z } from 'zod'
import type { KeyFollower } from '../keys/key-follower.ts'
import type { Stores } from '../stores.ts'
import { signAssertion } from './identity-assertion.ts'

export interface IssueAssertionDeps {
  stores: Pick<Stores, 'identityAssertions'>
  signing: Pick<KeyFollower, 'keys' | 'requireCurrent'>
  /** How long a key stays published after it stopped signing. */
  overlapMs: number
  urls: ServiceUrls
  now: () => Date
}

/**
 * Issues an identity assertion to a client: when its claim is completed, and whenever it requests another. The
 * assertion is valid for 24 h, but no longer than its claim, nor than its signing key stays published.
 *
 * @returns the response body; undefined when the claim has ended meanwhile
 * @throws {Problem} `unavailable` when this instance may not sign; and what the store throws
 */
export async function issueAssertion(
  { stores, signing, overlapMs, urls, now }: IssueAssertionDeps,
  clientId: AgentId,
  claim: StandingClaim,
): Promise<z.input<typeof RenewedAssertion> | undefined> {
  signing.requireCurrent()
  const issuedAt = now()
  const longest = issuedAt.getTime() + Math.min(RULES.identityAssertionMs, overlapMs)
  const expiresAt = new Date(Math.min(longest, claim.expiresAt.getTime()))
  const assertion = { jti: randomUUID(), claimId: claim.id, clientId, issuedAt, expiresAt }
  if (!(await stores.identityAssertions.add(assertion))) return undefined
  return {
    registration_id: claim.id,
    identity_type: 'verified_email',
    identity_assertion: await signAssertion(assertion, signing.keys, urls.origin),
    expires: expiresAt.toISOString(),
    claim_expires_at: claim.expiresAt.toISOString(),
    grant_types: [...GRANT_TYPES],
    scopes: [...Scope.options],
    scope: Scope.options.join(' '),
    token_endpoint: urls.token,
  }
}
