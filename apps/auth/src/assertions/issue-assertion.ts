import { randomUUID } from 'node:crypto'
import { type AgentId, RULES, type StandingClaim } from '@plainpath/domain'
import type { InstanceKeys } from '../keys/signing-key.ts'
import type { AssertionStore } from './assertion-store.ts'
import { signAssertion } from './identity-assertion.ts'

interface IssuedAssertion {
  /** A JWT, `typ: identity-assertion+jwt`. */
  readonly assertion: string
  readonly expiresAt: Date
}

/** @returns undefined when the claim has ended meanwhile */
export type IssueAssertion = (clientId: AgentId, claim: StandingClaim) => Promise<IssuedAssertion | undefined>

/**
 * Signs a statement for one client. It lasts 24 h, but neither longer than its claim nor longer than the
 * key that signs it stays published once it has stopped signing.
 *
 * @param deps.overlapMs how long that is
 * @throws {Problem} `unavailable` when this instance may not sign; and what the store throws
 */
export const issueAssertion =
  (deps: {
    assertions: Pick<AssertionStore, 'add'>
    keys: () => InstanceKeys
    requireCurrent: () => void
    issuer: string
    overlapMs: number
    now: () => Date
  }): IssueAssertion =>
  async (clientId, claim) => {
    deps.requireCurrent()
    const issuedAt = deps.now()
    const expiresAt = new Date(
      Math.min(
        issuedAt.getTime() + Math.min(RULES.identityAssertionMs, deps.overlapMs),
        claim.expiresAt.getTime(),
      ),
    )
    const assertion = { jti: randomUUID(), claimId: claim.id, clientId, issuedAt, expiresAt }
    if (!(await deps.assertions.add(assertion))) return undefined
    return { assertion: await signAssertion(assertion, deps.keys(), deps.issuer), expiresAt }
  }
