import type { ClaimStore } from './claim-store.ts'

/** @returns false when there is no such claim, or it has ended */
export type EndClaim = (id: string, by: 'person' | 'agent' | 'operator') => Promise<boolean>

/**
 * The one way in which a claim is ended on purpose; when it returns, nothing of the claim is good anywhere (R-LIN,
 * docs/revocation): the store ends its tokens and tells the APIs before it does.
 */
export const endClaim =
  (deps: { claims: Pick<ClaimStore, 'end'>; now: () => Date }): EndClaim =>
  (id, by) =>
    deps.claims.end(id, by, deps.now())
