import type { AgentId } from '@plainpath/domain'
import { bySoundClock, type Limiter, type WatchedClock } from '@plainpath/http'
import { type AuthenticateClient, authenticateClient } from '../clients/authenticate-client.ts'
import { verifyAssertion } from '../clients/verify-assertion.ts'
import type { Config } from '../config.ts'
import { FAILED_AUTHENTICATION } from '../limits.ts'
import type { openStores } from './wire-stores.ts'

/** What authenticates clients. */
export function wireClients(deps: {
  config: Pick<Config, 'origin' | 'hashKey'>
  stores: Pick<Awaited<ReturnType<typeof openStores>>, 'agents' | 'assertions' | 'expiring' | 'store'>
  limiter: Limiter
  /** By a wrong one nothing is said of assertions, nor of secrets that end. */
  clock: Pick<WatchedClock, 'requireSound'>
  now: () => Date
}) {
  const { config, stores, limiter, clock, now } = deps
  const soundly =
    (authenticate: AuthenticateClient): AuthenticateClient =>
    (...asked) =>
      bySoundClock(clock, () => authenticate(...asked))
  const { assertions, expiring } = stores
  const around = {
    findExpired: (id: AgentId) => expiring.find(id, now()),
    hashKey: config.hashKey,
    verifyAssertion: verifyAssertion({ issuer: config.origin, assertions, now }),
    recogniseAssertion: verifyAssertion({ issuer: config.origin, assertions: NOTHING_TO_SPEND, now }),
    limiter,
    failures: FAILED_AUTHENTICATION,
    now,
  }
  return {
    /** By what this process remembers. */
    authenticate: soundly(authenticateClient({ ...around, find: stores.agents.find })),
    /** By what is written: for whatever changes an agent, where a secret that has just gone must open nothing. */
    authenticateAnew: soundly(authenticateClient({ ...around, find: stores.store.find })),
  }
}

const NOTHING_TO_SPEND = { spend: async () => true }
