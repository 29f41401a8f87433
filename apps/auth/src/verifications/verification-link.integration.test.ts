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
    stores: { verificationAttempts: attempts, verifications, revocationPublisher },
    hashKey,
    now: () => START,
  }
})
afterAll(() => stores[Symbol.asyncDispose]())
beforeEach(() => {
  isPublishingBroken = false
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
  const { id, registrationId } = await begin(agentId, email)
  await attempts.showCode(id, codeHash, START)
  const redemption = {
    ...createRedemption(id, codeHash, START),
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

test('revoking all access again publishes what the first request failed to publish, although it is no longer listed', async () => {
  const email = createEmail()
  const agentId = await registerAgent()
  const linkedId = await confirm(agentId, email)
  const otherId = await confirm(await registerAgent(), email)
  const revokeAll = () => revokeLinkedVerifications(linkDeps, linkedId, { all: true })
  await failToPublish(revokeAll)
  expect((await verifications.find(otherId))?.endedBy).toBe('person')
  expect((await verifications.find(linkedId))?.endedBy).toBeUndefined()
  expect(await revokeAll()).toEqual({ ok: true, value: { remainingSecret: undefined } })
  expect(published).toEqual([{ kind: 'everything' }, clientRevocation(agentId)])
})

test('revoking all access can be repeated until every revocation was published', async () => {
  const email = createEmail()
  const agentId = await registerAgent()
  const linkedId = await confirm(agentId, email)
  await confirm(await registerAgent(), email)
  const revokeAll = () => revokeLinkedVerifications(linkDeps, linkedId, { all: true })
  // The second request has no verification to revoke but the linked one, and fails before it revokes that.
  await failToPublish(revokeAll)
  await failToPublish(revokeAll)
  expect((await verifications.find(linkedId))?.endedBy).toBeUndefined()
  expect((await revokeAll()).ok).toBe(true)
  expect(published).toEqual([{ kind: 'everything' }, clientRevocation(agentId)])
})
