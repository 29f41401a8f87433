import { randomBytes } from 'node:crypto'
import { MINUTE_MS, RULES } from '@plainpath/domain'
import type { Pool } from '@plainpath/postgres'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createExampleHashKey } from '../../test/example-agent.ts'
import { at, START } from '../../test/example-claim.ts'
import { dumpTables, openTestStores, type TestStores } from '../../test/open-test-stores.ts'
import { createVerificationAttemptStore } from '../verifications/postgres-verification-attempt-store.ts'
import { sweepVerifications } from '../verifications/sweep-verifications.ts'
import { composeSignInCodeMail } from './sign-in-code-mail.ts'
import { createSignInStore, sweepSignIns } from './sign-in-store.ts'

const hashKey = createExampleHashKey()
const statements: string[] = []
let stores: TestStores
beforeAll(async () => {
  stores = await openTestStores()
})
afterAll(() => stores[Symbol.asyncDispose]())
beforeEach(() => void statements.splice(0))

/** Wraps the pool so that the text of each statement is added to `statements`. */
const recordStatements = (db: Pool): Pool => ({
  ...db,
  query: (text, ...values) => {
    statements.push(text)
    return db.query(text, ...values)
  },
  transaction: (work) =>
    db.transaction((tx) =>
      work({
        query: (text, ...values) => {
          statements.push(text)
          return tx.query(text, ...values)
        },
      }),
    ),
})
const createDeps = () => ({
  db: recordStatements(stores.db),
  sealer: stores.sealer,
  hashKey,
  // These tests check what is stored, not what is mailed.
  addMail: async () => undefined,
  events: stores.events,
})
const createRandomId = () => randomBytes(16).toString('base64url')
const APP = { clientId: 'https://claude.ai/client', host: 'claude.ai', name: 'Canary of the app' }

/** Mails a code for the sign-in, with new ids and another hash of a code each time. */
function mailCode(uid: string, email: string, now = START) {
  const id = `cla_${createRandomId()}`
  const attempt = {
    id,
    registrationId: `clm_${createRandomId()}`,
    email,
    canonicalEmail: email,
    mailbox: email,
    createdAt: now,
    code: { hash: randomBytes(32), expiresAt: new Date(now.getTime() + RULES.verificationCodeMs) },
  }
  const mail = composeSignInCodeMail({
    id,
    email,
    code: '123456',
    appHost: APP.host,
    network: '127.0.0.1',
    origin: 'https://plainpath.example',
  })
  const interaction = { uid, app: APP, expiresAt: at(RULES.signInMs) }
  return createSignInStore(createDeps()).mailCode(interaction, { attempt, mail }, now)
}

test('runs the same statements for a known, a blocked and a new address', async () => {
  const [known, blocked, fresh] = ['known@example.org', 'blocked@example.org', 'new@example.org'] as const
  await mailCode(createRandomId(), known)
  // Blocks the mailbox, as when its owner has declined a verification.
  await stores.db.query('insert into claim_blocks values ($1, $2, $3)', [
    hashKey.hash('email-index/claim-mailboxes', blocked),
    hashKey.id,
    at(RULES.verificationBlockMs),
  ])
  const statementsByCase: string[][] = []
  for (const email of [known, blocked, fresh]) {
    const uid = createRandomId()
    statements.splice(0)
    expect((await mailCode(uid, email)).ok).toBe(true)
    const { openAttempt, agentId } = await createSignInStore(createDeps()).find(uid, START)
    await createVerificationAttemptStore(createDeps()).countTry(
      { agentId: agentId ?? '', attemptId: openAttempt?.attemptId, credentialVersion: undefined },
      START,
    )
    statementsByCase.push([...statements])
  }
  // If too few statements were recorded, the comparison would prove little.
  expect(statementsByCase[0]?.length).toBeGreaterThan(8)
  expect(statementsByCase[1]).toEqual(statementsByCase[0])
  expect(statementsByCase[2]).toEqual(statementsByCase[0])
})

test('mails only one code for two simultaneous requests', async () => {
  const uid = createRandomId()
  const results = await Promise.all([mailCode(uid, 'ana@example.org'), mailCode(uid, 'ana@example.org')])
  expect(results.map(({ ok }) => ok).sort()).toEqual([false, true])
  const signIn = await createSignInStore(createDeps()).find(uid, START)
  expect(signIn).toMatchObject({
    currentStep: { step: 'code' },
    codesLeft: 2,
    openAttempt: { email: 'ana@example.org' },
  })
})

test('erases the hashes of the address with the address when a sign-in is withdrawn, because its mail has no link', async () => {
  const uid = createRandomId()
  await mailCode(uid, 'ana@example.org')
  const { agentId = '' } = await createSignInStore(createDeps()).find(uid, START)
  await createVerificationAttemptStore(createDeps()).withdraw(agentId)
  const { rows } = await stores.db.query(
    'select state, email_sealed, email_hash, mailbox_hash from claim_attempts where agent_id = $1',
    [agentId],
  )
  expect(rows).toEqual([{ state: 'superseded', email_sealed: null, email_hash: null, mailbox_hash: null }])
})

test('mails no further code once the connection was disabled', async () => {
  const uid = createRandomId()
  await mailCode(uid, 'ana@example.org')
  const { agentId } = await createSignInStore(createDeps()).find(uid, START)
  await stores.db.query(`update agents set status = 'disabled' where id = $1`, [agentId])
  expect(await mailCode(uid, 'other@example.org')).toEqual({ ok: false, error: 'ended' })
  expect(await mailCode(createRandomId(), 'other@example.org')).toMatchObject({ ok: true })
})

test('stores a sign-in only hashed or encrypted, and the sweep erases the address once the code has expired', async () => {
  const uid = createRandomId()
  const email = 'canary-of-the-address@example.org'
  await mailCode(uid, email)
  const dump = await dumpTables(stores.db)
  for (const canary of [uid, email, APP.name, 'canary-of-the-address']) expect(dump).not.toContain(canary)
  await sweepVerifications(stores.db, at(RULES.verificationCodeMs))
  const { rows } = await stores.db.query('select from claim_attempts where email_sealed is not null')
  expect(rows).toHaveLength(0)
  expect(await createSignInStore(createDeps()).find(uid, at(RULES.verificationCodeMs))).toMatchObject({
    currentStep: { step: 'address', lastCodeState: 'expired' },
  })
})

test('the sweep deletes a sign-in once its interaction has expired', async () => {
  const uid = createRandomId()
  await mailCode(uid, 'ana@example.org', at(MINUTE_MS))
  const countSignIns = async () => (await stores.db.query('select from sign_ins')).rowCount
  await sweepSignIns(stores.db, at(RULES.signInMs - 1))
  expect(await countSignIns()).toBeGreaterThan(0)
  await sweepSignIns(stores.db, at(RULES.signInMs))
  expect(await countSignIns()).toBe(0)
})
