import type { AgentId } from '@plainpath/domain'
import type { Limiter, WatchedClock } from '@plainpath/http'
import { authenticateClient } from './clients/authenticate-client.ts'
import { gateVoucher } from './clients/gate-voucher.ts'
import { type VerifyAssertion, verifyAssertion } from './clients/verify-assertion.ts'
import type { Config } from './config.ts'
import { FAILED_AUTHENTICATION } from './limits.ts'
import type { openStores } from './wire-stores.ts'

/** What authenticates clients, and the voucher by which oidc-provider knows those with keys. */
export function wireClients(deps: {
  config: Pick<Config, 'origin' | 'hashKey'>
  stores: Pick<Awaited<ReturnType<typeof openStores>>, 'agents' | 'assertions' | 'expiring' | 'store'>
  limiter: Limiter
  /** By a wrong one nothing is said of assertions. */
  clock: Pick<WatchedClock, 'requireSound'>
  now: () => Date
}) {
  const { config, stores, limiter, clock, now } = deps
  const soundly =
    (verify: VerifyAssertion): VerifyAssertion =>
    async (...asked) => {
      clock.requireSound()
      return verify(...asked)
    }
  const vouch = gateVoucher()
  const { assertions, expiring } = stores
  const around = {
    findExpired: (id: AgentId) => expiring.find(id, now()),
    hashKey: config.hashKey,
    verifyAssertion: soundly(verifyAssertion({ issuer: config.origin, assertions, now })),
    recogniseAssertion: soundly(
      verifyAssertion({ issuer: config.origin, assertions: NOTHING_TO_SPEND, now }),
    ),
    vouch,
    limiter,
    failures: FAILED_AUTHENTICATION,
    now,
  }
  return {
    /** By what this process remembers. */
    authenticate: authenticateClient({ ...around, find: stores.agents.find }),
    /** By what is written: for whatever changes an agent, where a secret that has just gone must open nothing. */
    authenticateAnew: authenticateClient({ ...around, find: stores.store.find }),
    vouch,
  }
}

const NOTHING_TO_SPEND = { spend: async () => true }
