import { randomBytes } from 'node:crypto'
import { MINUTE_MS, RULES } from '@plainpath/domain'
import type { Pool } from '@plainpath/postgres'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { exampleHashKey } from '../../test/example-agent.ts'
import { at, START } from '../../test/example-claim.ts'
import { type Authority, dumpTables, openAuthority } from '../../test/open-authority.ts'
import { createVerificationAttemptStore } from '../verifications/postgres-verification-attempt-store.ts'
import { sweepVerifications } from '../verifications/sweep-verifications.ts'
import { composeSignInCodeMail } from './sign-in-code-mail.ts'
import { createSignInStore, sweepSignIns } from './sign-in-store.ts'

const hashKey = exampleHashKey()
const statements: string[] = []
let authority: Authority
beforeAll(async () => {
  authority = await openAuthority()
})
afterAll(() => authority[Symbol.asyncDispose]())
beforeEach(() => void statements.splice(0))

/** The database, with every statement noted. */
const noted = (db: Pool): Pool => ({
  ...db,
  query: (text, ...rest) => {
    statements.push(text)
    return db.query(text, ...rest)
  },
  transaction: (work) =>
    db.transaction((tx) =>
      work({
        query: (text, ...rest) => {
          statements.push(text)
          return tx.query(text, ...rest)
        },
      }),
    ),
})
const deps = () => ({
  db: noted(authority.db),
  sealingKeys: authority.sealingKeys,
  hashKey,
  addMail: async () => undefined,
  events: authority.events,
})
const random = () => randomBytes(16).toString('base64url')
const APP = { clientId: 'https://claude.ai/client', host: 'claude.ai', name: 'Canary of the app' }

function mailCode(uid: string, email: string, now = START) {
  const id = `cla_${random()}`
  const attempt = {
    ...{
      id,
      registrationId: `clm_${random()}`,
      email,
      canonicalEmail: email,
      mailbox: email,
      createdAt: now,
    },
    code: { hash: randomBytes(32), expiresAt: new Date(now.getTime() + RULES.claimCodeMs) },
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
  return createSignInStore(deps()).mailCode(interaction, { attempt, mail }, now)
}

test('the statements are the same for an address that is known, blocked or new', async () => {
  const [known, blocked, fresh] = ['known@example.org', 'blocked@example.org', 'new@example.org'] as const
  await mailCode(random(), known)
  await authority.db.query('insert into claim_blocks values ($1, $2, $3)', [
    hashKey.hash('email-index/claim-mailboxes', blocked),
    hashKey.id,
    at(RULES.claimBlockMs),
  ])
  const statementsByCase: string[][] = []
  for (const email of [known, blocked, fresh]) {
    const uid = random()
    statements.splice(0)
    expect((await mailCode(uid, email)).ok).toBe(true)
    const { open } = await createSignInStore(deps()).find(uid, START)
    const { agentId } = await createSignInStore(deps()).find(uid, START)
    await createVerificationAttemptStore(deps()).countTry(
      { agentId: agentId ?? '', attemptId: open?.attemptId },
      START,
    )
    statementsByCase.push([...statements])
  }
  expect(statementsByCase[0]?.length).toBeGreaterThan(8)
  expect(statementsByCase[1]).toEqual(statementsByCase[0])
  expect(statementsByCase[2]).toEqual(statementsByCase[0])
})

test('two requests at once mail one code, and make one connection', async () => {
  const uid = random()
  const results = await Promise.all([mailCode(uid, 'ana@example.org'), mailCode(uid, 'ana@example.org')])
  expect(results.map(({ ok }) => ok).sort()).toEqual([false, true])
  const found = await createSignInStore(deps()).find(uid, START)
  expect(found).toMatchObject({ at: { step: 'code' }, codesLeft: 2, open: { email: 'ana@example.org' } })
})

test('nothing is in clear, and the address goes with the code', async () => {
  const uid = random()
  const email = 'canary-of-the-address@example.org'
  await mailCode(uid, email)
  const dumped = await dumpTables(authority.db)
  for (const canary of [uid, email, APP.name, 'canary-of-the-address']) expect(dumped).not.toContain(canary)
  await sweepVerifications(authority.db, at(RULES.claimCodeMs))
  const { rows } = await authority.db.query('select from claim_attempts where email_sealed is not null')
  expect(rows).toHaveLength(0)
  expect(await createSignInStore(deps()).find(uid, at(RULES.claimCodeMs))).toMatchObject({
    at: { step: 'address', lastCode: 'expired' },
  })
})

test('a sign-in is deleted when its interaction is over', async () => {
  const uid = random()
  await mailCode(uid, 'ana@example.org', at(MINUTE_MS))
  const left = () => authority.db.query('select from sign_ins')
  await sweepSignIns(authority.db, at(RULES.signInMs - 1))
  expect((await left()).rowCount).toBeGreaterThan(0)
  await sweepSignIns(authority.db, at(RULES.signInMs))
  expect((await left()).rowCount).toBe(0)
})
