import { DAY_MS, MINUTE_MS } from '@plainpath/domain'
import { newKeyEncryptionKey, parseKeyEncryptionKeys } from '@plainpath/sealing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exampleAgent, exampleHashKey } from '../../test/example-agent.ts'
import { at, exampleAttempt, exampleRedemption, linkMail, mailbag, START } from '../../test/example-claim.ts'
import { type Authority, NO_TOKENS, openAuthority } from '../../test/open-authority.ts'
import { createVerificationAttemptStore } from './postgres-verification-attempt-store.ts'
import { createVerificationStore } from './postgres-verification-store.ts'
import { sweepVerifications } from './sweep-verifications.ts'
import type { NewAttempt } from './verification-attempt-store.ts'

const bag = mailbag()
const code = Buffer.alloc(32, 7)
const hashKey = exampleHashKey()
let authority: Authority
beforeAll(async () => {
  authority = await openAuthority()
})
afterAll(() => authority[Symbol.asyncDispose]())

const deps = () => {
  const { db, sealingKeys, events } = authority
  return { db, sealingKeys, hashKey, addMail: bag.add, events }
}
const claims = (change = {}) => createVerificationStore({ ...deps(), ...NO_TOKENS, ...change })
async function newAgent(): Promise<string> {
  const record = exampleAgent()
  await authority.agents.add(record)
  return record.agent.id
}
let mailboxes = 0
async function redeemed(agentId: string, email = `ana${mailboxes++}@example.org`): Promise<NewAttempt> {
  const attempts = createVerificationAttemptStore(deps())
  const attempt = exampleAttempt(agentId, { email })
  await attempts.begin(attempt, linkMail(attempt))
  await attempts.showCode(attempt.id, code, START)
  expect((await claims().redeem(exampleRedemption(attempt.id, code, START))).ok).toBe(true)
  return attempt
}
const endMails = ({ registrationId: id }: NewAttempt) =>
  bag.mails.filter(({ kind, about }) => kind === 'claim-ended' && about === id)
const endedBy = async ({ registrationId: id }: NewAttempt) => (await claims().find(id))?.endedBy

test('no mail is queued for an end that a restore repeats, nor when a claim expires', async () => {
  const [repeated, expired] = [await redeemed(await newAgent()), await redeemed(await newAgent())]
  expect(await claims().revoke(repeated.registrationId, 'operator', START, { mail: false })).toBe(true)
  await sweepVerifications(authority.db, at(30 * DAY_MS))
  expect(await endedBy(expired)).toBe('expired')
  for (const attempt of [repeated, expired]) expect(endMails(attempt)).toEqual([])
})

test('the earlier address gets the mail when another one confirms the agent, and does not learn that address', async () => {
  const agentId = await newAgent()
  const first = await redeemed(agentId)
  const same = await redeemed(agentId, first.email)
  expect(endMails(first)).toEqual([])
  const other = await redeemed(agentId)
  const [mail] = endMails(same)
  expect(mail?.to).toBe(first.email)
  expect(mail?.text).toContain('An AI agent gave up its access')
  expect(mail?.text).not.toContain(other.email)
})

test('one of three simultaneous ends queues the mail', async () => {
  const attempt = await redeemed(await newAgent())
  const ends = (['person', 'agent', 'operator'] as const).map((by) =>
    claims().revoke(attempt.registrationId, by, at(MINUTE_MS)),
  )
  expect((await Promise.all(ends)).filter(Boolean)).toHaveLength(1)
  expect(endMails(attempt)).toHaveLength(1)
})

test('an address that can no longer be decrypted does not keep its claim from ending', async () => {
  const attempt = await redeemed(await newAgent())
  const without = claims({ sealingKeys: parseKeyEncryptionKeys(newKeyEncryptionKey()) })
  expect(await without.revoke(attempt.registrationId, 'person', START)).toBe(true)
  expect(endMails(attempt)).toEqual([])
  expect(await endedBy(attempt)).toBe('person')
})
