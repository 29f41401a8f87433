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

/** The same database, which keeps the text of every statement. */
function recording(db: Pool) {
  const statements: string[] = []
  const noting = (inner: Database): Database => ({
    query(text, values) {
      statements.push(text)
      return inner.query(text, values)
    },
  })
  const pool: Pool = {
    ...noting(db),
    transaction: (work) => db.transaction((tx) => work(noting(tx))),
    usage: db.usage,
    [Symbol.asyncDispose]: async () => undefined,
  }
  return { pool, statements }
}

async function newAgent() {
  const record = exampleAgent()
  await authority.agents.add(record)
  return { id: record.agent.id, registeredAt: record.agent.registeredAt }
}

test('begins a claim with the same statements and the same response for every address', async () => {
  const { pool, statements } = recording(authority.db)
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
  const linkUrl = (made: string) => {
    secret = made
    return `https://plainpath.example/claim?attempt=${made}`
  }
  const link = { stores, hashKey, urls: { claimAttempt: linkUrl, endClaim: linkUrl }, now }
  const begin = (request: { agentId: string; email: string }) =>
    beginVerification(link, { ...request, network: '127.0.0.1' })

  const known = await newAgent()
  await begin({ agentId: known.id, email: 'known@example.org' })
  const shown = await showCode(link, secret)
  if (!shown.ok) throw new Error(shown.error)
  expect((await completeVerification(link, { agent: known, code: shown.value.code })).ok).toBe(true)

  await begin({ agentId: (await newAgent()).id, email: 'blocked@example.org' })
  expect((await declineVerification(link, secret)).ok).toBe(true)

  for (let n = 0; n < 12; n++) await begin({ agentId: (await newAgent()).id, email: 'capped@example.org' })

  const beginClaimFor = async (agentId: string, email: string) => {
    statements.length = 0
    const begun = await begin({ agentId, email })
    return { statements: [...statements], shape: Object.keys(begun ?? {}) }
  }
  const stranger = async (email: string) => beginClaimFor((await newAgent()).id, email)
  const fresh = await stranger('fresh@example.org')
  expect(fresh.statements.length).toBeGreaterThan(3)
  expect(fresh.statements.join()).not.toMatch(/claim_blocks|claim_tries|from claims/)
  for (const email of ['known@example.org', 'blocked@example.org', 'capped@example.org', 'FRESH@Example.org'])
    expect(await stranger(email)).toEqual(fresh)
  expect(await beginClaimFor(known.id, 'known@example.org')).toEqual(fresh)
  expect(await beginClaimFor(known.id, 'other@example.org')).toEqual(fresh)
})

test('begins no claim for an agent that does not exist any more', async () => {
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
