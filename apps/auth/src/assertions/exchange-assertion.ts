import { type AgentId, err, ok, type Result, type StandingClaim } from '@plainpath/domain'
import type { InstanceKeys } from '../keys/signing-key.ts'
import type { AssertionStore } from './assertion-store.ts'
import { readAssertion } from './identity-assertion.ts'

/** What an assertion is worth for the client that sends it; whatever is wrong with it, the client is told the same. */
export type ExchangeAssertion = (
  assertion: string,
  clientId: AgentId,
) => Promise<Result<StandingClaim, 'invalid-grant'>>

/** No assertion of ours is longer. */
const MAX_LENGTH = 2_000

/**
 * Checks an identity assertion (RFC 7521 §5.2, RFC 7523 §3): signed by us, for us, in time, for this very client, and
 * neither it nor its claim has ended. It may be used again until it expires.
 */
export const exchangeAssertion =
  (deps: {
    assertions: Pick<AssertionStore, 'claimOf'>
    keys: () => InstanceKeys
    issuer: string
    now: () => Date
  }): ExchangeAssertion =>
  async (assertion, clientId) => {
    if (assertion.length > MAX_LENGTH) return err('invalid-grant')
    const now = deps.now()
    const read = await readAssertion(assertion, deps.keys(), { issuer: deps.issuer, now })
    if (!read.ok || read.value.clientId !== clientId) return err('invalid-grant')
    const expiresAt = await deps.assertions.claimOf(read.value, now)
    return expiresAt ? ok({ id: read.value.claimId, expiresAt }) : err('invalid-grant')
  }
