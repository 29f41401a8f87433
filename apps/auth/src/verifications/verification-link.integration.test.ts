import { RULES } from '@plainpath/domain'
import type { Revocation } from '@plainpath/revocation'
import { sha256 } from '@plainpath/sealing'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createExampleAgent, createExampleHashKey } from '../../test/example-agent.ts'
import { createAttempt, createLinkMail, createRedemption, START } from '../../test/example-claim.ts'
import { openTestStores, type TestStores } from '../../test/open-test-stores.ts'
import { createVerificationAttemptStore } from './postgres-verification-attempt-store.ts'
import { createVerificationStore } from './postgres-verification-store.ts'
import type { NewAttempt, VerificationAttemptStore } from './verification-attempt-store.ts'
import {
  declineVerification,
  readConfirmationPage,
  revokeLinkedVerifications,
  type VerificationLinkDeps,
} from './verification-link.ts'
import type { VerificationStore } from './verification-store.ts'

let stores: TestStores
/** Differs between tests, because verifications that ended at the same time are published together. */
let now = START
let attempts: VerificationAttemptStore
let verifications: VerificationStore
let linkDeps: VerificationLinkDeps
/** What was published, in order, and the verifications whose tokens were revoked. */
const published: Revocation[] = []
const revokedIds: string[] = []
/** While it is true, the commit succeeds and publishing fails. */
let isPublishingBroken = false
beforeAll(async () => {
  stores = await openTestStores()
  const { db, sealer, events } = stores
  const hashKey = createExampleHashKey()
  const deps = { db, sealer, hashKey, addMail: async () => undefined, events }
  const revocationPublisher = {
    async publish(revocation: Revocation) {
      if (isPublishingBroken) throw new Error('no Redis')
      published.push(revocation)
    },
  }
  attempts = createVerificationAttemptStore(deps)
  verifications = createVerificationStore({
    ...deps,
    tokens: { revokeTokensOf: async ({ id }) => void revokedIds.push(id) },
    revocationPublisher,
  })
  linkDeps = {
    stores: { verificationAttempts: attempts, verifications },
    hashKey,
    now: () => now,
  }
})
afterAll(() => stores[Symbol.asyncDispose]())
beforeEach(() => {
  isPublishingBroken = false
  now = new Date(now.getTime() + 1)
  clearRecords()
})

const codeHash = sha256('code')
const clearRecords = () => {
  published.length = 0
  revokedIds.length = 0
}
const clientRevocation = (id: string): Revocation => ({ kind: 'client', id })
let addressCount = 0
const createEmail = () => `ana${addressCount++}@example.org`

async function registerAgent(): Promise<string> {
  const record = createExampleAgent()
  await stores.agents.add(record)
  return record.agent.id
}
/** Begins an attempt. The secret of its link is the id of the attempt. */
async function begin(agentId: string, email: string): Promise<NewAttempt> {
  const attempt = createAttempt(agentId, { email })
  const linkedAttempt = { ...attempt, linkHash: sha256(attempt.id) }
  expect(await attempts.begin(linkedAttempt, createLinkMail(linkedAttempt))).toBe(true)
  return linkedAttempt
}
/** Confirms an agent. The secret of the link that revokes the verification is the id of the verification. */
async function confirm(agentId: string, email: string): Promise<string> {
  const attempt = await begin(agentId, email)
  const { registrationId } = attempt
  await attempts.showCode(attempt.id, codeHash, START)
  const redemption = {
    ...createRedemption(attempt, codeHash, START),
    revocationLinkHash: sha256(registrationId),
  }
  expect((await verifications.redeem(redemption)).ok).toBe(true)
  return registrationId
}
/** Calls `action` while publishing fails. */
async function failToPublish(action: () => Promise<unknown>): Promise<void> {
  isPublishingBroken = true
  await expect(action()).rejects.toThrow('no Redis')
  isPublishingBroken = false
  expect(published).toEqual([])
  revokedIds.length = 0
}

test('revoking all access leaves none, even if more verifications have the address than a page lists', async () => {
  const email = createEmail()
  const ids: string[] = []
  // A page lists 100.
  for (let count = 0; count < 103; count++) ids.push(await confirm(await registerAgent(), email))
  expect((await revokeLinkedVerifications(linkDeps, ids[0]!, { all: true })).ok).toBe(true)
  const liveVerifications = await verifications.list(1_000, { liveAt: START })
  expect(liveVerifications.filter(({ id }) => ids.includes(id))).toEqual([])
})

test('declining publishes a revocation once, and nothing if the agent had no access', async () => {
  const email = createEmail()
  const agentId = await registerAgent()
  const verificationId = await confirm(agentId, email)
  const attempt = await begin(agentId, email)
  expect((await declineVerification(linkDeps, attempt.id)).ok).toBe(true)
  expect(published).toEqual([clientRevocation(agentId)])
  expect((await verifications.find(verificationId))?.endedBy).toBe('person')
  clearRecords()
  const strangersAttempt = await begin(await registerAgent(), createEmail())
  expect((await declineVerification(linkDeps, strangersAttempt.id)).ok).toBe(true)
  expect(published).toEqual([])
})

test('declining again publishes the revocation that the first request failed to publish', async () => {
  const email = createEmail()
  const agentId = await registerAgent()
  const verificationId = await confirm(agentId, email)
  const attempt = await begin(agentId, email)
  await failToPublish(() => declineVerification(linkDeps, attempt.id))
  expect((await verifications.find(verificationId))?.endedBy).toBe('person')
  expect((await declineVerification(linkDeps, attempt.id)).ok).toBe(true)
  expect([published, revokedIds]).toEqual([[clientRevocation(agentId)], [verificationId]])
})

test('declining again publishes the revocation even if the mailbox was already blocked', async () => {
  const email = createEmail()
  const agentId = await registerAgent()
  const verificationId = await confirm(agentId, email)
  // The block does not apply to the confirmed agent, until its verification is revoked.
  const strangersAttempt = await begin(await registerAgent(), email)
  expect((await declineVerification(linkDeps, strangersAttempt.id)).ok).toBe(true)
  const attempt = await begin(agentId, email)
  expect((await readConfirmationPage(linkDeps, attempt.id)).ok).toBe(true)
  clearRecords()
  await failToPublish(() => declineVerification(linkDeps, attempt.id))
  expect(await declineVerification(linkDeps, attempt.id)).toEqual({ ok: false, error: 'declined' })
  expect([published, revokedIds]).toEqual([[clientRevocation(agentId)], [verificationId]])
})

test('declining leaves the access that a person gave with another address, and publishes nothing', async () => {
  const agentId = await registerAgent()
  const verificationId = await confirm(agentId, createEmail())
  const attempt = await begin(agentId, createEmail())
  expect((await declineVerification(linkDeps, attempt.id)).ok).toBe(true)
  expect((await verifications.find(verificationId))?.endedBy).toBeUndefined()
  expect([published, revokedIds]).toEqual([[], []])
})

test('revoking all access publishes the revocation of each of the agents, and of no other agent', async () => {
  const email = createEmail()
  const agentIds = [await registerAgent(), await registerAgent()]
  const linkedId = await confirm(agentIds[0]!, email)
  await confirm(agentIds[1]!, email)
  const strangersId = await confirm(await registerAgent(), createEmail())
  expect(await revokeLinkedVerifications(linkDeps, linkedId, { all: true })).toEqual({
    ok: true,
    value: { remainingSecret: undefined },
  })
  expect(published).toEqual(expect.arrayContaining(agentIds.map(clientRevocation)))
  expect(published).toHaveLength(2)
  expect((await verifications.find(strangersId))?.endedBy).toBeUndefined()
})

test('revoking all access again publishes every revocation of the first request, which failed to publish them', async () => {
  const email = createEmail()
  const agentIds = [await registerAgent(), await registerAgent()]
  const ids = [await confirm(agentIds[0]!, email), await confirm(agentIds[1]!, email)]
  const revokeAll = () => revokeLinkedVerifications(linkDeps, ids[0]!, { all: true })
  // Ended earlier, so it is not published again.
  await verifications.revoke(await confirm(await registerAgent(), email), 'person', START)
  clearRecords()
  await failToPublish(revokeAll)
  for (const id of ids) expect((await verifications.find(id))?.endedBy).toBe('person')
  for (const _repetition of [1, 2]) {
    clearRecords()
    expect(await revokeAll()).toEqual({ ok: false, error: 'already-ended' })
    expect(published).toEqual(expect.arrayContaining(agentIds.map(clientRevocation)))
    expect(published).toHaveLength(2)
    expect(revokedIds.toSorted()).toEqual(ids.toSorted())
  }
})

test('revoking all access again publishes nothing once no token of the verifications can be valid', async () => {
  const linkedId = await confirm(await registerAgent(), createEmail())
  const revokeAll = () => revokeLinkedVerifications(linkDeps, linkedId, { all: true })
  await failToPublish(revokeAll)
  now = new Date(now.getTime() + RULES.appTokenMs)
  expect(await revokeAll()).toEqual({ ok: false, error: 'already-ended' })
  expect(published).toEqual([])
})

test('two simultaneous requests with different links revoke all access once, and both publish it', async () => {
  const email = createEmail()
  const agentIds: string[] = []
  const ids: string[] = []
  for (let count = 0; count < 20; count++) {
    agentIds.push(await registerAgent())
    ids.push(await confirm(agentIds[count]!, email))
  }
  clearRecords()
  const results = await Promise.all(
    [ids[0]!, ids[19]!].map((id) => revokeLinkedVerifications(linkDeps, id, { all: true })),
  )
  expect(results.filter(({ ok }) => ok)).toHaveLength(1)
  expect(published).toHaveLength(40)
})
