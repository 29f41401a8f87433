import { createMailQueue } from '@plainpath/mail'
import type { Database, Pool } from '@plainpath/postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exampleAgent, exampleHashKey } from '../../test/example-agent.ts'
import { type Authority, NO_TOKENS, openAuthority } from '../../test/open-authority.ts'
import { beginVerification } from './begin-verification.ts'
import { completeVerification } from './complete-verification.ts'
import { createVerificationAttemptStore } from './postgres-verification-attempt-store.ts'
import { createVerificationStore } from './postgres-verification-store.ts'
import { declineVerification, showCode } from './verification-link.ts'

const now = () => new Date('2026-11-20T09:00:00Z')
let authority: Authority
beforeAll(async () => {
  authority = await openAuthority()
})
afterAll(() => authority[Symbol.asyncDispose]())

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
    [Symbol.asyncDispose]: async () => undefined,
  }
  return { pool, statements }
}

async function registerAgent() {
  const record = exampleAgent()
  await authority.agents.add(record)
  return { id: record.agent.id, registeredAt: record.agent.registeredAt }
}

test('begins a verification with the same statements and response members for every address', async () => {
  const { pool, statements } = recordStatements(authority.db)
  const hashKey = exampleHashKey()
  const deps = {
    db: pool,
    sealingKeys: authority.sealingKeys,
    hashKey,
    addMail: createMailQueue({ sealingKeys: authority.sealingKeys, hashKey }).add,
    events: authority.events,
  }
  const stores = {
    verificationAttempts: createVerificationAttemptStore(deps),
    verifications: createVerificationStore({ ...deps, ...NO_TOKENS }),
  }
  let secret = ''
  const linkUrl = (generatedSecret: string) => {
    secret = generatedSecret
    return `https://plainpath.example/claim?attempt=${generatedSecret}`
  }
  const linkDeps = { stores, hashKey, urls: { claimAttempt: linkUrl, endClaim: linkUrl }, now }
  const begin = (request: { agentId: string; email: string }) =>
    beginVerification(linkDeps, { ...request, network: '127.0.0.1' })

  const knownAgent = await registerAgent()
  await begin({ agentId: knownAgent.id, email: 'known@example.org' })
  const shownCode = await showCode(linkDeps, secret)
  if (!shownCode.ok) throw new Error(shownCode.error)
  const completed = await completeVerification(linkDeps, { agent: knownAgent, code: shownCode.value.code })
  expect(completed.ok).toBe(true)

  await begin({ agentId: (await registerAgent()).id, email: 'blocked@example.org' })
  expect((await declineVerification(linkDeps, secret)).ok).toBe(true)

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
  expect(expected.statements.join()).not.toMatch(/claim_blocks|claim_tries|from claims/)
  for (const email of ['known@example.org', 'blocked@example.org', 'capped@example.org', 'FRESH@Example.org'])
    expect(await beginForNewAgent(email)).toEqual(expected)
  expect(await beginAndRecord(knownAgent.id, 'known@example.org')).toEqual(expected)
  expect(await beginAndRecord(knownAgent.id, 'other@example.org')).toEqual(expected)
})

test('begins no verification for an unknown agent', async () => {
  const verificationAttempts = createVerificationAttemptStore({
    db: authority.db,
    sealingKeys: authority.sealingKeys,
    hashKey: exampleHashKey(),
    addMail: createMailQueue({ sealingKeys: authority.sealingKeys, hashKey: exampleHashKey() }).add,
    events: authority.events,
  })
  const linkUrl = (secret: string) => `https://plainpath.example/claim?attempt=${secret}`
  const deps = { stores: { verificationAttempts }, urls: { claimAttempt: linkUrl }, now }
  const request = { agentId: exampleAgent().agent.id, email: 'a@example.org', network: '127.0.0.1' }
  expect(await beginVerification(deps, request)).toBeUndefined()
})
