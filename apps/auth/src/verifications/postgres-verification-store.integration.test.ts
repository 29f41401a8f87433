import { type AgentId, DAY_MS, HOUR_MS, MINUTE_MS, RULES } from '@plainpath/domain'
import { isUnavailable } from '@plainpath/postgres'
import { createSealer, generateKeyEncryptionKey } from '@plainpath/sealing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createExampleAgent, createExampleHashKey } from '../../test/example-agent.ts'
import { at, createAttempt, createLinkMail, createRedemption, START } from '../../test/example-claim.ts'
import { createMailRecorder } from '../../test/mail-recorder.ts'
import { dumpTables, NO_OP_TOKEN_DEPS, openTestStores, type TestStores } from '../../test/open-test-stores.ts'
import { createVerificationAttemptStore } from './postgres-verification-attempt-store.ts'
import { createVerificationStore } from './postgres-verification-store.ts'
import { reencryptVerifications } from './reencrypt-verifications.ts'
import { revokeVerificationsOfAgent } from './revoke-verifications.ts'
import { sweepVerifications } from './sweep-verifications.ts'
import type { NewAttempt, VerificationAttemptStore } from './verification-attempt-store.ts'
import type { VerificationStore } from './verification-store.ts'

let stores: TestStores
let attempts: VerificationAttemptStore
let verifications: VerificationStore
const addedMails = createMailRecorder()
/** The verifications whose tokens were revoked. */
const revokedIds: string[] = []
let publishRevocation: (agentId: string) => void = () => undefined
/** The verifications of the `claim-ended` events. */
const emittedIds: string[] = []
beforeAll(async () => {
  stores = await openTestStores()
  const { db, sealer, events } = stores
  const deps = { db, sealer, hashKey: createExampleHashKey(), addMail: addedMails.add, events }
  attempts = createVerificationAttemptStore(deps)
  verifications = createVerificationStore({
    ...deps,
    tokens: { revokeTokensOf: async ({ id }) => void revokedIds.push(id) },
    revocationPublisher: {
      publish: async (revoked) => publishRevocation(revoked.kind === 'client' ? revoked.id : revoked.kind),
    },
  })
  events.on('claim-ended', ({ registration_id: id }) => emittedIds.push(id))
})
afterAll(() => stores[Symbol.asyncDispose]())

const codeHash = Buffer.alloc(32, 7)
const refusal = (reason: string) => ({ ok: false, error: reason })
let mailboxCount = 0
const newMailbox = () => `ana${mailboxCount++}@example.org`

async function registerAgent(): Promise<AgentId> {
  const record = createExampleAgent()
  await stores.agents.add(record)
  return record.agent.id
}
async function begin(agentId: string, overrides: Partial<NewAttempt> = {}): Promise<NewAttempt> {
  const attempt = createAttempt(agentId, { email: newMailbox(), ...overrides })
  expect(await attempts.begin(attempt, createLinkMail(attempt))).toBe(true)
  return attempt
}
/** Begins an attempt and shows its code. */
async function beginAndShowCode(agentId: string, overrides: Partial<NewAttempt> = {}): Promise<NewAttempt> {
  const attempt = await begin(agentId, overrides)
  expect((await attempts.showCode(attempt.id, codeHash, attempt.createdAt)).ok).toBe(true)
  return attempt
}
const countTry = (agentId: string, { attemptId, now = START }: { attemptId?: string; now?: Date } = {}) =>
  attempts.countTry({ agentId, attemptId, credentialVersion: undefined }, now)
const redeem = (attempt: NewAttempt, now = START) =>
  verifications.redeem(createRedemption(attempt, codeHash, now))
const readRow = async (attempt: NewAttempt) => {
  const { rows } = await stores.db.query('select * from claim_attempts where id = $1', [attempt.id])
  return rows[0]
}

/** Returns the results of the calls that succeeded. On a busy machine, a call may fail because it waited too long for a lock. */
async function collectResults<T>(calls: Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(calls)
  for (const result of results)
    if (result.status === 'rejected') expect(isUnavailable(result.reason)).toBe(true)
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
}

describe('an attempt', () => {
  test('becomes a verification only once, with the address of the attempt', async () => {
    const agentId = await registerAgent()
    const attempt = await beginAndShowCode(agentId, { email: 'Ana+1@Example.org' })
    expect((await countTry(agentId)).ok).toBe(true)
    const period = { verifiedAt: START, expiresAt: at(30 * DAY_MS) }
    const verification = { id: attempt.registrationId, agentId, ...period }
    expect(await redeem(attempt)).toMatchObject({ ok: true, value: verification })
    expect(addedMails.mails.at(-1)).toMatchObject({
      kind: 'claim-confirmed',
      about: verification.id,
      to: 'Ana+1@Example.org',
    })
    expect(await verifications.findLive(agentId, START)).toMatchObject(verification)
    expect((await verifications.findPerson(verification.id, START))?.email).toBe('Ana+1@Example.org')
    expect(await redeem(attempt)).toEqual(refusal('completed'))
    expect(await countTry(agentId)).toEqual(refusal('completed'))
    expect(await readRow(attempt)).toMatchObject({
      state: 'completed',
      email_sealed: null,
      mailbox_hash: null,
    })
  })

  test('becomes one verification when it is redeemed twenty times simultaneously and once more later', async () => {
    const attempt = await beginAndShowCode(await registerAgent())
    const results = await collectResults(Array.from({ length: 20 }, () => redeem(attempt)))
    const lateResult = await redeem(attempt)
    expect([...results, lateResult].filter(({ ok }) => ok)).toHaveLength(1)
  })

  test('counts five of twenty simultaneous tries, and is locked after them', async () => {
    const agentId = await registerAgent()
    const attempt = await beginAndShowCode(agentId)
    const tryOnce = () => countTry(agentId)
    const results = await collectResults(Array.from({ length: 20 }, tryOnce))
    for (let n = 0; n < 5; n++) results.push(await tryOnce())
    expect(results.filter(({ ok }) => ok)).toHaveLength(5)
    expect(await readRow(attempt)).toMatchObject({ tries: 5, state: 'code_shown' })
    const lockedIds: string[] = []
    stores.events.on('attempt-locked', ({ claim_attempt_id: id }) => lockedIds.push(id))
    await attempts.lockIfSpent(attempt.id)
    await attempts.lockIfSpent(attempt.id)
    expect(lockedIds).toEqual([attempt.id])
    expect(await redeem(attempt)).toEqual(refusal('locked'))
    expect(await readRow(attempt)).toMatchObject({ state: 'locked', email_sealed: null, code_hash: null })
  })

  test('counts at most ten tries a day for its mailbox, even across agents that were deleted', async () => {
    const email = newMailbox()
    let countedTries = 0
    for (let round = 0; round < 4; round++) {
      const agentId = await registerAgent()
      await beginAndShowCode(agentId, { email })
      for (let n = 0; n < 5; n++) if ((await countTry(agentId)).ok) countedTries++
      await stores.agents.deactivate({ id: agentId, credentialVersion: 1 }, 'deleted', async () => undefined)
    }
    expect(countedTries).toBe(10)
    const agentId = await registerAgent()
    const createdAt = at(DAY_MS + 1)
    await beginAndShowCode(agentId, { email, createdAt })
    expect((await countTry(agentId, { now: createdAt })).ok).toBe(true)
  })

  test('is superseded by the agent’s next attempts, of which only one stays open', async () => {
    const agentId = await registerAgent()
    const firstAttempt = await beginAndShowCode(agentId)
    const others = await Promise.all(Array.from({ length: 8 }, () => begin(agentId)))
    expect(await redeem(firstAttempt)).toEqual(refusal('superseded'))
    const states = await Promise.all(others.map(readRow))
    expect(states.filter((row) => row?.['state'] === 'initiated')).toHaveLength(1)
    expect(await countTry(agentId, { attemptId: firstAttempt.id })).toEqual(refusal('superseded'))
  })

  test('is unknown to another agent', async () => {
    const [owner, other] = [await registerAgent(), await registerAgent()]
    const attempt = await beginAndShowCode(owner)
    expect(await countTry(other)).toEqual(refusal('unknown'))
    expect(await countTry(other, { attemptId: attempt.id })).toEqual(refusal('unknown'))
    expect(await redeem({ ...attempt, agentId: other })).toEqual(refusal('unknown'))
  })

  test('is unknown once its agent is disabled, and cannot be begun by a disabled agent', async () => {
    const agentId = await registerAgent()
    const attempt = await beginAndShowCode(agentId)
    await stores.agents.deactivate({ id: agentId, credentialVersion: 1 }, 'disabled', async () => undefined)
    expect(await redeem(attempt)).toEqual(refusal('unknown'))
    expect(await attempts.begin(createAttempt(agentId), createLinkMail(createAttempt(agentId)))).toBe(false)
  })
})

describe('declining an attempt', () => {
  test('blocks other attempts for the mailbox, except those of an agent that its owner has confirmed', async () => {
    const email = newMailbox()
    const confirmedAgent = await registerAgent()
    const unconfirmedAgent = await registerAgent()
    const declinedAgent = await registerAgent()
    await redeem(await beginAndShowCode(confirmedAgent, { email }))
    const [confirmedAttempt, unconfirmedAttempt, declined] = [
      await beginAndShowCode(confirmedAgent, { email }),
      await beginAndShowCode(unconfirmedAgent, { email }),
      await begin(declinedAgent, { email }),
    ]
    expect(await attempts.decline(declined.id, START)).toEqual({ ok: true, value: undefined })
    expect(await readRow(declined)).toMatchObject({ state: 'declined', email_sealed: null })
    expect(await countTry(unconfirmedAgent)).toEqual(refusal('declined'))
    expect(await redeem(unconfirmedAttempt)).toEqual(refusal('declined'))
    expect(await attempts.showCode(unconfirmedAttempt.id, codeHash, START)).toEqual(refusal('declined'))
    expect((await redeem(confirmedAttempt)).ok).toBe(true)
  })

  test('prevents mails to the mailbox for thirty days', async () => {
    const email = newMailbox()
    const declined = await begin(await registerAgent(), { email })
    expect(await attempts.isMailWanted(declined.id, START)).toBe(true)
    await attempts.decline(declined.id, START)
    expect(await attempts.isMailWanted(declined.id, START)).toBe(false)
    const isMailWantedAfter = async (ms: number) => {
      const attempt = await begin(await registerAgent(), { email, createdAt: at(ms) })
      return attempts.isMailWanted(attempt.id, at(ms))
    }
    expect(await isMailWantedAfter(29 * DAY_MS)).toBe(false)
    expect(await isMailWantedAfter(30 * DAY_MS)).toBe(true)
  })
})

test('stores the outcome of the mail, and erases the personal data of an attempt whose mail failed', async () => {
  const [sent, failed, dropped] = [
    await begin(await registerAgent()),
    await begin(await registerAgent()),
    await begin(await registerAgent()),
  ]
  for (const [attempt, outcome] of [
    [sent, 'sent'],
    [failed, 'dead'],
    [dropped, 'dropped'],
  ] as const) {
    await stores.db.transaction((tx) => attempts.recordMailOutcome(tx, attempt.id, outcome))
  }
  const states = (await Promise.all([sent, failed, dropped].map(readRow))).map((row) => row?.['state'])
  expect(states).toEqual(['sent', 'failed', 'initiated'])
  expect(await readRow(failed)).toMatchObject({ email_sealed: null, email_hash: null, mailbox_hash: null })
  await sweepVerifications(stores.db, at(RULES.verificationLinkMs - 1))
  expect(await readRow(failed)).toMatchObject({ state: 'failed' })
  await sweepVerifications(stores.db, at(RULES.verificationLinkMs))
  expect(await readRow(failed)).toMatchObject({ state: 'expired' })
  expect(await attempts.isMailWanted(sent.id, START)).toBe(false)
})

/** Reads when and by whom a verification was revoked. */
async function readRevocation(id: string) {
  const verification = (await verifications.list(1_000)).find((each) => each.id === id)
  return verification?.endedAt && { at: verification.endedAt, by: verification.endedBy }
}

const findRevocationMails = (id: string) =>
  addedMails.mails.filter(({ kind, about }) => kind === 'claim-ended' && about === id)

describe('a verification', () => {
  test('is revoked once by simultaneous requests, which causes one mail', async () => {
    const agentId = await registerAgent()
    const attempt = await beginAndShowCode(agentId)
    await redeem(attempt)
    const id = attempt.registrationId
    const revocations = await Promise.all(
      (['person', 'agent', 'operator'] as const).map((by) => verifications.revoke(id, by, START)),
    )
    expect(revocations.filter(Boolean)).toHaveLength(1)
    expect(await verifications.findLive(agentId, START)).toBeUndefined()
    expect(await verifications.findPerson(id, START)).toBeUndefined()
    expect(findRevocationMails(id)).toHaveLength(1)
    expect((await readRevocation(id))?.at).toEqual(START)
  })

  test('is superseded by the agent’s next verification, which expires after thirty days', async () => {
    const agentId = await registerAgent()
    const firstAttempt = await beginAndShowCode(agentId)
    await redeem(firstAttempt)
    const secondAttempt = await beginAndShowCode(agentId)
    await redeem(secondAttempt, at(MINUTE_MS))
    expect((await readRevocation(firstAttempt.registrationId))?.by).toBe('superseded')
    const findLiveAfter = (ms: number) => verifications.findLive(agentId, at(MINUTE_MS + ms))
    expect((await findLiveAfter(30 * DAY_MS - 1))?.id).toBe(secondAttempt.registrationId)
    expect(await findLiveAfter(30 * DAY_MS)).toBeUndefined()
    const expiresAt = at(MINUTE_MS + 30 * DAY_MS)
    expect(await verifications.revoke(secondAttempt.registrationId, 'agent', expiresAt)).toBe(false)
  })

  test('is revoked with its agent, whose completed attempt is deleted', async () => {
    const agentId = await registerAgent()
    const attempt = await beginAndShowCode(agentId)
    await redeem(attempt)
    const deps = { sealer: stores.sealer, addMail: addedMails.add }
    const agent = { id: agentId, nameSealed: null, registeredAt: START, appHost: null }
    await stores.db.transaction((tx) => revokeVerificationsOfAgent(tx, deps, agent, START))
    expect(findRevocationMails(attempt.registrationId)).toHaveLength(1)
    expect((await readRevocation(attempt.registrationId))?.by).toBe('agent-deleted')
    expect(await readRow(attempt)).toBeUndefined()
  })
})

describe('sweeping', () => {
  test('erases the data of an unfinished attempt after 24 hours, and deletes it a day later', async () => {
    const attempt = await beginAndShowCode(await registerAgent())
    await sweepVerifications(stores.db, at(RULES.verificationLinkMs - 1))
    expect(await readRow(attempt)).toMatchObject({ state: 'code_shown' })
    await sweepVerifications(stores.db, at(RULES.verificationLinkMs))
    expect(await readRow(attempt)).toMatchObject({ state: 'expired', email_sealed: null, code_hash: null })
    await sweepVerifications(stores.db, at(2 * DAY_MS))
    expect(await readRow(attempt)).toBeUndefined()
  })

  test('erases the address of an expired verification, and deletes it thirty days later', async () => {
    const attempt = await beginAndShowCode(await registerAgent())
    await redeem(attempt)
    const readVerification = async () => {
      const { rows } = await stores.db.query<{ sealed: boolean; ended_by: string }>(
        'select email_sealed is not null as sealed, ended_by from claims where id = $1',
        [attempt.registrationId],
      )
      return rows[0]
    }
    await sweepVerifications(stores.db, at(30 * DAY_MS - 1))
    expect(await readVerification()).toEqual({ sealed: true, ended_by: null })
    await sweepVerifications(stores.db, at(30 * DAY_MS))
    expect(await readVerification()).toEqual({ sealed: false, ended_by: 'expired' })
    await sweepVerifications(stores.db, at(60 * DAY_MS - 1))
    expect(await readVerification()).toBeDefined()
    await sweepVerifications(stores.db, at(60 * DAY_MS))
    expect(await readVerification()).toBeUndefined()
  })

  test('deletes tries after a day, and expired blocks', async () => {
    const agentId = await registerAgent()
    const attempt = await beginAndShowCode(agentId)
    await countTry(agentId)
    await attempts.decline(attempt.id, START)
    const countTriesAndBlocks = async () => {
      const { rows } = await stores.db.query<{ tries: number; blocks: number }>(
        'select (select count(*) from claim_tries) as tries, (select count(*) from claim_blocks) as blocks',
      )
      return rows[0]
    }
    expect((await countTriesAndBlocks())?.tries).toBeGreaterThan(0)
    await sweepVerifications(stores.db, at(2 * DAY_MS + HOUR_MS))
    expect((await countTriesAndBlocks())?.tries).toBe(0)
    expect((await countTriesAndBlocks())?.blocks).toBeGreaterThan(0)
    await sweepVerifications(stores.db, at(61 * DAY_MS))
    expect((await countTriesAndBlocks())?.blocks).toBe(0)
  })
})

test('stores no address and no match phrase in plaintext', async () => {
  const attempt = await beginAndShowCode(await registerAgent(), { email: 'canary@example.org' })
  await redeem(await beginAndShowCode(await registerAgent(), { email: 'canary@example.org' }))
  const dump = await dumpTables(stores.db)
  expect(dump).toContain(attempt.id)
  for (const word of ['canary', 'example.org', 'amber river']) expect(dump).not.toContain(word)
})

test('re-encrypts verifications and attempts, so that they can be read without the old key-encryption key', async () => {
  await using otherAuthority = await openTestStores()
  const [oldKey, newKey] = [generateKeyEncryptionKey(), generateKeyEncryptionKey()]
  const createStores = (kek: string) => {
    const deps = {
      db: otherAuthority.db,
      sealer: createSealer(kek),
      hashKey: createExampleHashKey(),
      addMail: addedMails.add,
      events: otherAuthority.events,
    }
    return {
      attempts: createVerificationAttemptStore(deps),
      verifications: createVerificationStore({ ...deps, ...NO_OP_TOKEN_DEPS }),
    }
  }
  const oldStores = createStores(oldKey)
  const [verifiedAgent, otherAgent] = [createExampleAgent(), createExampleAgent()]
  for (const agent of [verifiedAgent, otherAgent]) await otherAuthority.agents.add(agent)
  const redeemedAttempt = createAttempt(verifiedAgent.agent.id)
  const openAttempt = createAttempt(otherAgent.agent.id)
  for (const attempt of [redeemedAttempt, openAttempt])
    await oldStores.attempts.begin(attempt, createLinkMail(attempt))
  await oldStores.attempts.showCode(redeemedAttempt.id, codeHash, START)
  await oldStores.verifications.redeem(createRedemption(redeemedAttempt, codeHash, START))

  const sealer = createSealer(`${newKey}\n${oldKey}`)
  // The address of the verification, and the address and the match phrase of the open attempt.
  expect(await reencryptVerifications(otherAuthority.db, sealer, { dryRun: true })).toBe(3)
  expect(await reencryptVerifications(otherAuthority.db, sealer, { dryRun: false })).toBe(3)
  expect(await reencryptVerifications(otherAuthority.db, sealer, { dryRun: false })).toBe(0)
  const newStores = createStores(newKey)
  const person = await newStores.verifications.findPerson(redeemedAttempt.registrationId, START)
  expect(person?.email).toBe(redeemedAttempt.email)
  expect((await newStores.attempts.findByLink(openAttempt.linkHash, START))?.matchPhrase).toBe('amber river')
  await newStores.attempts.showCode(openAttempt.id, codeHash, START)
  const redeemed = await newStores.verifications.redeem(createRedemption(openAttempt, codeHash, START))
  expect(redeemed.ok).toBe(true)
})

test('publishes a revocation again when it is repeated after publishing has failed', async () => {
  const agentId = await registerAgent()
  const attempt = await beginAndShowCode(agentId)
  const id = attempt.registrationId
  expect((await redeem(attempt)).ok).toBe(true)
  publishRevocation = () => {
    throw new Error('no Redis')
  }
  await expect(verifications.revoke(id, 'agent', START)).rejects.toThrow('no Redis')
  expect(await verifications.findLive(agentId, START)).toBeUndefined()
  await expect(verifications.revoke(id, 'agent', START)).rejects.toThrow('no Redis')
  const publishedAgentIds: string[] = []
  publishRevocation = (publishedId) => void publishedAgentIds.push(publishedId)
  revokedIds.length = 0
  expect(await verifications.findNewest(agentId)).toMatchObject({ id, endedBy: 'agent' })
  expect(await verifications.revoke(id, 'agent', START)).toBe(false)
  expect(await verifications.revokeByAgent({ id: agentId, credentialVersion: 1 }, START)).toBe(true)
  expect([...revokedIds, ...publishedAgentIds]).toEqual([id, id, agentId, agentId])
  expect(emittedIds.filter((emittedId) => emittedId === id)).toHaveLength(1)
  publishRevocation = () => undefined
})
