import { randomInt } from 'node:crypto'
import { sha256 } from '@plainpath/sealing'
import { expect } from 'vitest'
import { z } from 'zod'
import { loadConfig } from '../src/config.ts'
import { createEvents } from '../src/events.ts'
import { noOpRevocationPublisher } from '../src/revocation/revocation-publisher.ts'
import { createRedisTokenStore } from '../src/tokens/redis-token-store.ts'
import { createVerificationAttemptStore } from '../src/verifications/postgres-verification-attempt-store.ts'
import { createVerificationStore } from '../src/verifications/postgres-verification-store.ts'
import { agentAuthHeader, type RegisteredAgent } from './agent-client.ts'
import { createAttempt, createLinkMail, createRedemption } from './example-claim.ts'
import { send } from './send.ts'
import type { RunningAuth } from './start-auth.ts'

/**
 * Adds an e-mail verification to an agent directly in the stores, without sending mails or loading pages. Adds the address to
 * `auth.confidential`.
 *
 * @param options.lifetimeMs the lifetime of the verification; by default 30 days
 */
export async function addVerification(
  auth: RunningAuth,
  agent: RegisteredAgent,
  options: { email?: string; lifetimeMs?: number } = {},
): Promise<{ registrationId: string; email: string }> {
  const email = options.email ?? `ana.${randomInt(1e9)}@canary.example.org`
  auth.confidential.add(email)
  const { sealer, hashKey } = loadConfig(await auth.testbed.createSettings(auth.origin))
  const deps = {
    db: auth.testbed.db,
    sealer,
    hashKey,
    addMail: async () => undefined,
    events: createEvents(),
  }
  const attempts = createVerificationAttemptStore(deps)
  const now = new Date()
  const attempt = createAttempt(agent.client_id, { email, createdAt: now })
  // Any hash will do, because no person enters the code.
  const codeHash = sha256(email)
  expect(await attempts.begin(attempt, createLinkMail(attempt))).toBe(true)
  expect((await attempts.showCode(attempt.id, codeHash, now)).ok).toBe(true)
  const redemption = createRedemption(attempt, codeHash, now)
  const expiresAt =
    options.lifetimeMs === undefined ? redemption.expiresAt : new Date(now.getTime() + options.lifetimeMs)
  const { redis } = auth.testbed
  const tokens =
    redis &&
    createRedisTokenStore(redis.redis, { prefix: redis.prefix, authority: UNUSED_AUTHORITY, now: () => now })
  const verifications = createVerificationStore({
    ...deps,
    // Without Redis, tokens are in PostgreSQL, where the commit itself revokes them.
    tokens: tokens ?? { revokeTokensOf: async () => undefined },
    revocationPublisher: noOpRevocationPublisher,
  })
  expect((await verifications.redeem({ ...redemption, expiresAt })).ok).toBe(true)
  return { registrationId: attempt.registrationId, email }
}

const rejectLookup = () => Promise.reject(new Error('unexpected call of the token authority'))
/** A token authority whose methods all fail: a redemption only revokes tokens, and must not look anything up. */
const UNUSED_AUTHORITY = {
  findCredentialVersion: rejectLookup,
  isVerificationLive: rejectLookup,
  readCutoff: rejectLookup,
}

const AssertionResponse = z.looseObject({ identity_assertion: z.string(), expires: z.iso.datetime() })

/** Requests an identity assertion. Does not check the response. */
export const requestAssertion = (auth: RunningAuth, agent: RegisteredAgent) =>
  send(auth.url, { method: 'POST', path: '/api/agent/assertion', headers: agentAuthHeader(agent) })

/** Gets an identity assertion for an agent that has a verification. Adds it to `auth.confidential`. */
export async function getAssertion(auth: RunningAuth, agent: RegisteredAgent): Promise<string> {
  const response = await requestAssertion(auth, agent)
  expect(response.status, response.text).toBe(200)
  const { identity_assertion: assertion } = AssertionResponse.parse(JSON.parse(response.text))
  auth.confidential.add(assertion)
  return assertion
}
