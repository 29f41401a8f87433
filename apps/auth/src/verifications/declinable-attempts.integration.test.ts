import { AgentId, RULES } from '@plainpath/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createExampleAgent, createExampleHashKey } from '../../test/example-agent.ts'
import { at, createAttempt, createLinkMail, START } from '../../test/example-claim.ts'
import { openTestStores, type TestStores } from '../../test/open-test-stores.ts'
import { createVerificationAttemptStore } from './postgres-verification-attempt-store.ts'
import { sweepVerifications } from './sweep-verifications.ts'
import type { NewAttempt, VerificationAttemptStore } from './verification-attempt-store.ts'

let stores: TestStores
let attempts: VerificationAttemptStore
beforeAll(async () => {
  stores = await openTestStores()
  const { db, sealer, events } = stores
  const hashKey = createExampleHashKey()
  attempts = createVerificationAttemptStore({
    db,
    sealer,
    hashKey,
    addMail: async () => undefined,
    events,
  })
})
afterAll(() => stores[Symbol.asyncDispose]())

const codeHash = Buffer.alloc(32, 7)
const refusal = (reason: string) => ({ ok: false, error: reason })
let mailboxCount = 0
const newMailbox = () => `ana${mailboxCount++}@example.org`

/** Begins an attempt of a new agent, unless one is given. */
async function begin(options: { agentId?: string; email?: string } = {}): Promise<NewAttempt> {
  const record = createExampleAgent()
  if (options.agentId === undefined) await stores.agents.add(record)
  const attempt = createAttempt(options.agentId ?? record.agent.id, { email: options.email ?? newMailbox() })
  expect(await attempts.begin(attempt, createLinkMail(attempt))).toBe(true)
  return attempt
}
/** Begins an attempt of a new agent, and shows its code. */
async function beginAndShowCode(email?: string): Promise<NewAttempt> {
  const attempt = await begin(email === undefined ? {} : { email })
  expect((await attempts.showCode(attempt.id, codeHash, START)).ok).toBe(true)
  return attempt
}
const readRow = async (attempt: NewAttempt) => {
  const { rows } = await stores.db.query('select * from claim_attempts where id = $1', [attempt.id])
  return rows[0]
}

/** The ways in which an agent can close its attempt after the mail was sent: a title, the state afterwards, and the action. */
const CLOSINGS_BY_AGENT: readonly [string, string, (attempt: NewAttempt) => Promise<void>][] = [
  ['was superseded', 'superseded', async ({ agentId }) => void (await begin({ agentId }))],
  ['was withdrawn', 'superseded', ({ agentId }) => attempts.withdraw(agentId)],
  [
    'was locked',
    'locked',
    async ({ id, agentId }) => {
      for (let n = 0; n < RULES.verificationTries; n++)
        await attempts.countTry({ agentId, credentialVersion: 1 }, START)
      await attempts.lockIfSpent(id)
    },
  ],
  [
    'had its agent deleted',
    'superseded',
    async ({ agentId }) => {
      const agent = { id: AgentId.parse(agentId), credentialVersion: undefined }
      await stores.agents.deactivate(agent, 'deleted', async () => undefined)
    },
  ],
]

describe.for(CLOSINGS_BY_AGENT)('an attempt that %s', ([_title, state, close]) => {
  test('can be declined before its link expires, which blocks the mailbox and erases the hashes', async () => {
    const email = newMailbox()
    const attempt = await beginAndShowCode(email)
    await close(attempt)
    expect(await readRow(attempt)).toMatchObject({
      state,
      email_sealed: null,
      match_phrase_sealed: null,
      code_hash: null,
      email_hash: expect.any(Buffer),
      mailbox_hash: expect.any(Buffer),
    })
    expect(await attempts.isMailWanted(attempt.id, START)).toBe(false)
    const otherAttempt = await begin({ email })
    expect(await attempts.isMailWanted(otherAttempt.id, START)).toBe(true)
    const beforeExpiry = at(RULES.verificationLinkMs - 1)
    await sweepVerifications(stores.db, beforeExpiry)
    expect(await attempts.decline(attempt.id, beforeExpiry)).toEqual({ ok: true, value: undefined })
    expect(await attempts.isMailWanted(otherAttempt.id, beforeExpiry)).toBe(false)
    const declinedRow = { state: 'declined', email_sealed: null, email_hash: null, mailbox_hash: null }
    expect(await readRow(attempt)).toMatchObject(declinedRow)
    expect(await attempts.decline(attempt.id, beforeExpiry)).toEqual(refusal('declined'))
  })

  test('cannot be declined once its link has expired, and loses its hashes in the next sweep', async () => {
    const attempt = await beginAndShowCode()
    await close(attempt)
    const expiresAt = at(RULES.verificationLinkMs)
    expect(await attempts.decline(attempt.id, expiresAt)).toEqual(refusal(state))
    await sweepVerifications(stores.db, expiresAt)
    expect(await readRow(attempt)).toMatchObject({ state, email_hash: null, mailbox_hash: null })
    expect(await attempts.decline(attempt.id, START)).toEqual(refusal(state))
  })
})

test('an attempt whose mail failed has no hashes, also after it was superseded', async () => {
  const attempt = await begin()
  await stores.db.transaction((tx) => attempts.recordMailOutcome(tx, attempt.id, 'dead'))
  await attempts.withdraw(attempt.agentId)
  expect(await readRow(attempt)).toMatchObject({ state: 'superseded', email_hash: null, mailbox_hash: null })
  expect(await attempts.decline(attempt.id, START)).toEqual(refusal('superseded'))
})
