import { randomInt } from 'node:crypto'
import { sha256 } from '@plainpath/sealing'
import { expect } from 'vitest'
import { z } from 'zod'
import { postgresClaimAttempts } from '../src/claims/postgres-claim-attempts.ts'
import { postgresClaims } from '../src/claims/postgres-claims.ts'
import { loadConfig } from '../src/config.ts'
import { createEvents } from '../src/events.ts'
import { noOpRevoker } from '../src/revocation/revoker.ts'
import { redisTokenStore } from '../src/tokens/redis-token-store.ts'
import { asAgent, type Registered } from './agent-client.ts'
import { exampleAttempt, exampleRedemption, linkMail } from './example-claim.ts'
import { send } from './send.ts'
import type { RunningAuth } from './start-auth.ts'

/**
 * Gives an agent a claim as if the person had done their part, without their mail and pages.
 *
 * @param options.forMs how long the claim stands; 30 days when absent
 */
export async function claimMailbox(
  auth: RunningAuth,
  agent: Registered,
  options: { email?: string; forMs?: number } = {},
): Promise<{ registrationId: string; email: string }> {
  const email = options.email ?? `ana.${randomInt(1e9)}@canary.example.org`
  auth.confidential.add(email)
  const { sealingKeys, hashKey } = loadConfig(await auth.stores.settingsFor(auth.origin))
  const deps = {
    db: auth.stores.db,
    sealingKeys,
    hashKey,
    addMail: async () => undefined,
    events: createEvents(),
  }
  const attempts = postgresClaimAttempts(deps)
  const now = new Date()
  const attempt = exampleAttempt(agent.client_id, { email, createdAt: now })
  const code = sha256(email)
  expect(await attempts.begin(attempt, linkMail(attempt))).toBe(true)
  expect((await attempts.press(attempt.id, code, now)).ok).toBe(true)
  const redemption = exampleRedemption(attempt.id, code, now)
  const expiresAt =
    options.forMs === undefined ? redemption.expiresAt : new Date(now.getTime() + options.forMs)
  const { redis } = auth.stores
  const tokens =
    redis && redisTokenStore(redis.redis, { prefix: redis.prefix, authority: NEVER_CALLED, now: () => now })
  const claims = postgresClaims({
    ...deps,
    tokens: tokens ?? { revokeTokensOf: async () => undefined },
    revoker: noOpRevoker,
  })
  expect((await claims.redeem({ ...redemption, expiresAt })).ok).toBe(true)
  return { registrationId: attempt.registrationId, email }
}

const never = () => Promise.reject(new Error('nothing is looked up here'))
const NEVER_CALLED = { findGeneration: never, isLiveClaim: never, stop: never }

const Issued = z.looseObject({ identity_assertion: z.string(), expires: z.iso.datetime() })

export const requestAssertion = (auth: RunningAuth, agent: Registered) =>
  send(auth.url, { method: 'POST', path: '/api/agent/assertion', headers: asAgent(agent) })

export async function getAssertion(auth: RunningAuth, agent: Registered): Promise<string> {
  const response = await requestAssertion(auth, agent)
  expect(response.status, response.text).toBe(200)
  const { identity_assertion: assertion } = Issued.parse(JSON.parse(response.text))
  auth.confidential.add(assertion)
  return assertion
}
