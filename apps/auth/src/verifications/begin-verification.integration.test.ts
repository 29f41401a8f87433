import { createMailQueue } from '@plainpath/mail'
import type { Database, Pool } from '@plainpath/postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createExampleAgent, createExampleHashKey } from '../../test/example-agent.ts'
import { NO_OP_TOKEN_DEPS, openTestStores, type TestStores } from '../../test/open-test-stores.ts'
import { beginVerification } from './begin-verification.ts'
import { completeVerification } from './complete-verification.ts'
import { createVerificationAttemptStore } from './postgres-verification-attempt-store.ts'
import { createVerificationStore } from './postgres-verification-store.ts'
import { declineVerification, showCode } from './verification-link.ts'

const now = () => new Date('2026-11-20T09:00:00Z')
let stores: TestStores
beforeAll(async () => {
  stores = await openTestStores()
})
afterAll(() => stores[Symbol.asyncDispose]())

/** Wraps a pool and records the text of every statement. */
function recordStatements(db: Pool) {
  const statements: string[] = []
  const wrap = (inner: Database): Database => ({
    query(text, values) {
      statements.push(text)
      return inner.query(text, values)
    },
  })
  const pool: Pool = {
    ...wrap(db),
    transaction: (work) => db.transaction((tx) => work(wrap(tx))),
    getUsage: db.getUsage,
    // `stores` closes the pool.
    [Symbol.asyncDispose]: async () => undefined,
  }
  return { pool, statements }
}

async function registerAgent() {
  const record = createExampleAgent()
  await stores.agents.add(record)
  return { id: record.agent.id, registeredAt: record.agent.registeredAt }
}

test('begins a verification with the same statements and response members for every address', async () => {
  const { pool, statements } = recordStatements(stores.db)
  const hashKey = createExampleHashKey()
  const deps = {
    db: pool,
    sealer: stores.sealer,
    hashKey,
    addMail: createMailQueue({ sealer: stores.sealer, hashKey }).add,
    events: stores.events,
  }
  const verificationStores = {
    verificationAttempts: createVerificationAttemptStore(deps),
    verifications: createVerificationStore({ ...deps, ...NO_OP_TOKEN_DEPS }),
  }
  let secret = ''
  // Captures the secret that the mailed link contains.
  const linkUrl = (generatedSecret: string) => {
    secret = generatedSecret
    return `https://plainpath.example/claim?attempt=${generatedSecret}`
  }
  const linkDeps = {
    stores: { ...verificationStores, revocationPublisher: NO_OP_TOKEN_DEPS.revocationPublisher },
    hashKey,
    urls: { claimAttempt: linkUrl, endClaim: linkUrl },
    now,
  }
  const begin = (request: { agentId: string; email: string }) =>
    beginVerification(linkDeps, { ...request, network: '127.0.0.1', credentialVersion: 1 })

  const knownAgent = await registerAgent()
  await begin({ agentId: knownAgent.id, email: 'known@example.org' })
  const shownCode = await showCode(linkDeps, secret)
  if (!shownCode.ok) throw new Error(shownCode.error.reason)
  const completed = await completeVerification(linkDeps, {
    agent: knownAgent,
    code: shownCode.value.code,
    purpose: 'agent',
    credentialVersion: 1,
  })
  expect(completed.ok).toBe(true)

  await begin({ agentId: (await registerAgent()).id, email: 'blocked@example.org' })
  expect((await declineVerification(linkDeps, secret)).ok).toBe(true)

  // More mails than a mailbox may get in a day.
  for (let n = 0; n < 12; n++) {
    const agent = await registerAgent()
    await begin({ agentId: agent.id, email: 'capped@example.org' })
  }

  const beginAndRecord = async (agentId: string, email: string) => {
    statements.length = 0
    const attempt = await begin({ agentId, email })
    return { statements: [...statements], members: Object.keys(attempt ?? {}) }
  }
  const beginForNewAgent = async (email: string) => beginAndRecord((await registerAgent()).id, email)
  const expected = await beginForNewAgent('fresh@example.org')
  expect(expected.statements.length).toBeGreaterThan(3)
  // Beginning looks up no blocks, tries or verifications, so its duration reveals nothing about the address.
  expect(expected.statements.join()).not.toMatch(/claim_blocks|claim_tries|from claims/)
  for (const email of ['known@example.org', 'blocked@example.org', 'capped@example.org', 'FRESH@Example.org'])
    expect(await beginForNewAgent(email)).toEqual(expected)
  expect(await beginAndRecord(knownAgent.id, 'known@example.org')).toEqual(expected)
  expect(await beginAndRecord(knownAgent.id, 'other@example.org')).toEqual(expected)
})

test('begins no verification for an unknown agent', async () => {
  const verificationAttempts = createVerificationAttemptStore({
    db: stores.db,
    sealer: stores.sealer,
    hashKey: createExampleHashKey(),
    addMail: createMailQueue({ sealer: stores.sealer, hashKey: createExampleHashKey() }).add,
    events: stores.events,
  })
  const linkUrl = (secret: string) => `https://plainpath.example/claim?attempt=${secret}`
  const deps = { stores: { verificationAttempts }, urls: { claimAttempt: linkUrl }, now }
  const request = {
    agentId: createExampleAgent().agent.id,
    email: 'a@example.org',
    network: '127.0.0.1',
    credentialVersion: 1,
  }
  expect(await beginVerification(deps, request)).toBeUndefined()
})
