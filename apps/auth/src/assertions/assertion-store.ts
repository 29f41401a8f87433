import type { IdentityAssertion } from './identity-assertion.ts'

/** Which assertions may still be exchanged. Every method throws when the store does not answer. */
export interface AssertionStore {
  /**
   * Keeps one that is about to be signed, unless its claim has ended meanwhile. Of each claim the newest 20 are kept: a
   * client that asks for more ends its oldest.
   *
   * @returns whether the claim stands
   */
  add(assertion: IdentityAssertion): Promise<boolean>
  /**
   * The claim of an assertion that may be exchanged: both stand at `now`.
   *
   * @returns when the claim ends, or undefined
   */
  claimOf(
    assertion: Pick<IdentityAssertion, 'jti' | 'claimId' | 'clientId'>,
    now: Date,
  ): Promise<Date | undefined>
}
