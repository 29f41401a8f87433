import { DAY_MS, MINUTE_MS } from '@plainpath/domain'
import { waitForBlockedSessions } from '@plainpath/postgres/testing'
import { createSealer, generateKeyEncryptionKey } from '@plainpath/sealing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createExampleAgent, createExampleHashKey } from '../../test/example-agent.ts'
import { at, createAttempt, createLinkMail, createRedemption, START } from '../../test/example-claim.ts'
import { createMailRecorder } from '../../test/mail-recorder.ts'
import { NO_OP_TOKEN_DEPS, openTestStores, type TestStores } from '../../test/open-test-stores.ts'
import { createVerificationAttemptStore } from './postgres-verification-attempt-store.ts'
import { createVerificationStore } from './postgres-verification-store.ts'
import { sweepVerifications } from './sweep-verifications.ts'
import type { NewAttempt } from './verification-attempt-store.ts'

const addedMails = createMailRecorder()
const codeHash = Buffer.alloc(32, 7)
const hashKey = createExampleHashKey()
let stores: TestStores
beforeAll(async () => {
  stores = await openTestStores()
})
afterAll(() => stores[Symbol.asyncDispose]())

const createDeps = () => {
  const { db, sealer, events } = stores
  return { db, sealer, hashKey, addMail: addedMails.add, events }
}
const createVerifications = (change = {}) =>
  createVerificationStore({ ...createDeps(), ...NO_OP_TOKEN_DEPS, ...change })
async function registerAgent(): Promise<string> {
  const record = createExampleAgent()
  await stores.agents.add(record)
  return record.agent.id
}
let mailboxCount = 0
/** Begins an attempt of the agent, and shows its code. */
async function beginAndShowCode(agentId: string, email: string): Promise<NewAttempt> {
  const attempts = createVerificationAttemptStore(createDeps())
  const attempt = createAttempt(agentId, { email })
  await attempts.begin(attempt, createLinkMail(attempt))
  await attempts.showCode(attempt.id, codeHash, START)
  return attempt
}
/** Begins an attempt of the agent and redeems it, so that it becomes a verification. */
async function verify(agentId: string, email = `ana${mailboxCount++}@example.org`): Promise<NewAttempt> {
  const attempt = await beginAndShowCode(agentId, email)
  expect((await createVerifications().redeem(createRedemption(attempt, codeHash, START))).ok).toBe(true)
  return attempt
}
const findRevocationMails = ({ registrationId: id }: NewAttempt) =>
  addedMails.mails.filter(({ kind, about }) => kind === 'claim-ended' && about === id)
const readEndedBy = async ({ registrationId: id }: NewAttempt) =>
  (await createVerifications().find(id))?.endedBy

test('queues no mail for an expiry, or for a revocation with mail: false', async () => {
  const silentlyRevoked = await verify(await registerAgent())
  const expired = await verify(await registerAgent())
  const options = { mail: false }
  expect(await createVerifications().revoke(silentlyRevoked.registrationId, 'operator', START, options)).toBe(
    true,
  )
  await sweepVerifications(stores.db, at(30 * DAY_MS))
  expect(await readEndedBy(expired)).toBe('expired')
  for (const attempt of [silentlyRevoked, expired]) expect(findRevocationMails(attempt)).toEqual([])
})

test('mails the earlier address when another address confirms the agent, and does not reveal the other address', async () => {
  const agentId = await registerAgent()
  const firstAttempt = await verify(agentId)
  const sameAddressAttempt = await verify(agentId, firstAttempt.email)
  expect(findRevocationMails(firstAttempt)).toEqual([])
  const otherAddressAttempt = await verify(agentId)
  const [mail] = findRevocationMails(sameAddressAttempt)
  expect(mail?.to).toBe(firstAttempt.email)
  expect(mail?.text).toContain('An AI agent gave up its access')
  expect(mail?.text).not.toContain(otherAddressAttempt.email)
})

test('queues one mail for three simultaneous revocations', async () => {
  const attempt = await verify(await registerAgent())
  const revocations = (['person', 'agent', 'operator'] as const).map((by) =>
    createVerifications().revoke(attempt.registrationId, by, at(MINUTE_MS)),
  )
  expect((await Promise.all(revocations)).filter(Boolean)).toHaveLength(1)
  expect(findRevocationMails(attempt)).toHaveLength(1)
})

test('revokes a verification without a mail if its address can no longer be decrypted', async () => {
  const attempt = await verify(await registerAgent())
  const storeWithOtherKeys = createVerifications({
    sealer: createSealer(generateKeyEncryptionKey()),
  })
  expect(await storeWithOtherKeys.revoke(attempt.registrationId, 'person', START)).toBe(true)
  expect(findRevocationMails(attempt)).toEqual([])
  expect(await readEndedBy(attempt)).toBe('person')
})

describe('all verifications for an address are revoked, also one that is being renewed,', () => {
  test.for(['renewed', 'other'] as const)('with the link of the %s verification', async (link) => {
    const agentId = await registerAgent()
    const renewed = await verify(agentId)
    const { email } = renewed
    const other = await verify(await registerAgent(), email)
    const stranger = await verify(await registerAgent())
    const renewal = await beginAndShowCode(agentId, email)
    const mayCommit = Promise.withResolvers<void>()
    const isInserted = Promise.withResolvers<void>()
    const slowVerifications = createVerifications({
      addMail: async () => {
        isInserted.resolve()
        await mayCommit.promise
      },
    })
    const renewing = slowVerifications.redeem(createRedemption(renewal, codeHash, START))
    await isInserted.promise
    const { registrationId } = { renewed, other }[link]
    const revoking = createVerifications().revokeAllByAddress(registrationId, at(MINUTE_MS))
    await waitForBlockedSessions(stores.db, 1)
    mayCommit.resolve()
    expect((await renewing).ok).toBe(true)
    expect(await revoking).toBe(true)
    expect(await Promise.all([renewed, renewal, other, stranger].map(readEndedBy))).toEqual([
      'superseded',
      'person',
      'person',
      undefined,
    ])
  })
})
