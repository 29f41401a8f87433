import { sha256 } from '@plainpath/sealing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createExampleAgent, createExampleHashKey } from '../../test/example-agent.ts'
import { createAttempt, createLinkMail, createRedemption, START } from '../../test/example-claim.ts'
import { NO_OP_TOKEN_DEPS, openTestStores, type TestStores } from '../../test/open-test-stores.ts'
import { createVerificationAttemptStore } from './postgres-verification-attempt-store.ts'
import { createVerificationStore } from './postgres-verification-store.ts'
import { revokeLinkedVerifications } from './verification-link.ts'

let stores: TestStores
beforeAll(async () => {
  stores = await openTestStores()
})
afterAll(() => stores[Symbol.asyncDispose]())

test('revoking all access leaves none, even if more verifications have the address than a page lists', async () => {
  const { db, sealer, events } = stores
  const hashKey = createExampleHashKey()
  const deps = { db, sealer, hashKey, addMail: async () => undefined, events }
  const attempts = createVerificationAttemptStore(deps)
  const verifications = createVerificationStore({ ...deps, ...NO_OP_TOKEN_DEPS })
  const codeHash = sha256('code')
  // A page lists 100. All these attempts have the same address, the default of `createAttempt`.
  for (let count = 0; count < 103; count++) {
    const agent = createExampleAgent()
    await stores.agents.add(agent)
    const attempt = createAttempt(agent.agent.id)
    await attempts.begin(attempt, createLinkMail(attempt))
    await attempts.showCode(attempt.id, codeHash, START)
    const redemption = createRedemption(attempt.id, codeHash, START)
    const revocationLinkHash = count === 0 ? sha256('secret') : redemption.revocationLinkHash
    expect((await verifications.redeem({ ...redemption, revocationLinkHash })).ok).toBe(true)
  }
  const linkDeps = { stores: { verificationAttempts: attempts, verifications }, hashKey, now: () => START }
  expect((await revokeLinkedVerifications(linkDeps, 'secret', { all: true })).ok).toBe(true)
  expect(await verifications.list(1_000, { liveAt: START })).toEqual([])
})
