import { DAY_MS, HOUR_MS, MINUTE_MS, RULES } from '@plainpath/domain'
import { isUnavailable } from '@plainpath/postgres'
import { newKeyEncryptionKey, parseKeyEncryptionKeys } from '@plainpath/sealing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exampleAgent, exampleHashKey } from '../../test/example-agent.ts'
import { at, exampleAttempt, exampleRedemption, linkMail, mailbag, START } from '../../test/example-claim.ts'
import { type Authority, dumpTables, NO_TOKENS, openAuthority } from '../../test/open-authority.ts'
import { createVerificationAttemptStore } from './postgres-verification-attempt-store.ts'
import { createVerificationStore } from './postgres-verification-store.ts'
import { reencryptVerifications } from './reencrypt-verifications.ts'
import { revokeVerificationsOfAgent } from './revoke-verifications.ts'
import { sweepVerifications } from './sweep-verifications.ts'
import type { NewAttempt } from './verification-attempt-store.ts'

let authority: Authority
let attempts: ReturnType<typeof createVerificationAttemptStore>
let claims: ReturnType<typeof createVerificationStore>
const bag = mailbag()
const announced: string[] = []
let publishRevocation: (agentId: string) => void = () => undefined
/** The events of ended claims. */
const kept: string[] = []
beforeAll(async () => {
  authority = await openAuthority()
  const { db, sealingKeys, events } = authority
  const deps = { db, sealingKeys, hashKey: exampleHashKey(), addMail: bag.add, events }
  attempts = createVerificationAttemptStore(deps)
  claims = createVerificationStore({
    ...deps,
    tokens: { revokeTokensOf: async ({ id }) => void announced.push(id) },
    revocationPublisher: {
      publish: async (ended) => publishRevocation(ended.kind === 'client' ? ended.id : ended.kind),
    },
  })
  events.on('claim-ended', ({ registration_id: id }) => kept.push(id))
})
afterAll(() => authority[Symbol.asyncDispose]())

const code = Buffer.alloc(32, 7)
const error = (reason: string) => ({ ok: false, error: reason })
let mailboxes = 0
const newMailbox = () => `ana${mailboxes++}@example.org`

async function newAgent(): Promise<string> {
  const record = exampleAgent()
  await authority.agents.add(record)
  return record.agent.id
}
async function begin(agentId: string, change: Partial<NewAttempt> = {}): Promise<NewAttempt> {
  const attempt = exampleAttempt(agentId, { email: newMailbox(), ...change })
  expect(await attempts.begin(attempt, linkMail(attempt))).toBe(true)
  return attempt
}
async function shown(agentId: string, change: Partial<NewAttempt> = {}): Promise<NewAttempt> {
  const attempt = await begin(agentId, change)
  expect((await attempts.showCode(attempt.id, code, attempt.createdAt)).ok).toBe(true)
  return attempt
}
const redeem = (attempt: NewAttempt, now = START) => claims.redeem(exampleRedemption(attempt.id, code, now))
const stored = async (attempt: NewAttempt) => {
  const { rows } = await authority.db.query('select * from claim_attempts where id = $1', [attempt.id])
  return rows[0]
}

/** The results of the attempts that were not given up: on a busy machine some wait too long for a lock or a connection. */
async function settled<T>(calls: Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(calls)
  for (const result of results)
    if (result.status === 'rejected') expect(isUnavailable(result.reason)).toBe(true)
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
}

describe('an attempt', () => {
  test('becomes a claim once, whose address opens for it alone', async () => {
    const agentId = await newAgent()
    const attempt = await shown(agentId, { email: 'Ana+1@Example.org' })
    expect((await attempts.countTry({ agentId }, START)).ok).toBe(true)
    const claim = { id: attempt.registrationId, agentId, verifiedAt: START, expiresAt: at(30 * DAY_MS) }
    expect(await redeem(attempt)).toMatchObject({ ok: true, value: claim })
    expect(bag.mails.at(-1)).toMatchObject({
      kind: 'claim-confirmed',
      about: claim.id,
      to: 'Ana+1@Example.org',
    })
    expect(await claims.findLive(agentId, START)).toMatchObject(claim)
    expect((await claims.findPerson(claim.id, START))?.email).toBe('Ana+1@Example.org')
    expect(await redeem(attempt)).toEqual(error('completed'))
    expect(await attempts.countTry({ agentId }, START)).toEqual(error('completed'))
    expect(await stored(attempt)).toMatchObject({
      state: 'completed',
      email_sealed: null,
      mailbox_hash: null,
    })
  })

  test('becomes one claim when twenty redeem it at once, and none after that', async () => {
    const attempt = await shown(await newAgent())
    const results = await settled(Array.from({ length: 20 }, () => redeem(attempt)))
    const last = await redeem(attempt)
    expect([...results, last].filter(({ ok }) => ok)).toHaveLength(1)
  })

  test('counts five tries of twenty at once, whatever their outcome', async () => {
    const agentId = await newAgent()
    const attempt = await shown(agentId)
    const tryOnce = () => attempts.countTry({ agentId }, START)
    const results = await settled(Array.from({ length: 20 }, tryOnce))
    for (let n = 0; n < 5; n++) results.push(await tryOnce())
    expect(results.filter(({ ok }) => ok)).toHaveLength(5)
    expect(await stored(attempt)).toMatchObject({ tries: 5, state: 'code_shown' })
    const locked: string[] = []
    authority.events.on('attempt-locked', ({ claim_attempt_id: id }) => locked.push(id))
    await attempts.lockIfSpent(attempt.id)
    await attempts.lockIfSpent(attempt.id)
    expect(locked).toEqual([attempt.id])
    expect(await redeem(attempt)).toEqual(error('locked'))
    expect(await stored(attempt)).toMatchObject({ state: 'locked', email_sealed: null, code_hash: null })
  })

  test('tries stay counted for the mailbox when attempt and agent are others', async () => {
    const email = newMailbox()
    let counted = 0
    for (let round = 0; round < 4; round++) {
      const agentId = await newAgent()
      await shown(agentId, { email })
      for (let n = 0; n < 5; n++) if ((await attempts.countTry({ agentId }, START)).ok) counted++
      await authority.agents.deactivate(agentId as never, 'deleted', async () => undefined)
    }
    expect(counted).toBe(10)
    const agentId = await newAgent()
    const createdAt = at(DAY_MS + 1)
    await shown(agentId, { email, createdAt })
    expect((await attempts.countTry({ agentId }, createdAt)).ok).toBe(true)
  })

  test('is superseded by the next of its agent, of any number at once', async () => {
    const agentId = await newAgent()
    const first = await shown(agentId)
    const others = await Promise.all(Array.from({ length: 8 }, () => begin(agentId)))
    expect(await redeem(first)).toEqual(error('superseded'))
    const states = await Promise.all(others.map(stored))
    expect(states.filter((row) => row?.['state'] === 'initiated')).toHaveLength(1)
    expect(await attempts.countTry({ agentId, attemptId: first.id }, START)).toEqual(error('superseded'))
  })

  test('is nobody’s but its agent’s', async () => {
    const [owner, other] = [await newAgent(), await newAgent()]
    const attempt = await shown(owner)
    expect(await attempts.countTry({ agentId: other }, START)).toEqual(error('unknown'))
    expect(await attempts.countTry({ agentId: other, attemptId: attempt.id }, START)).toEqual(
      error('unknown'),
    )
  })

  test('is not begun for an agent that has ended, and is gone with it', async () => {
    const agentId = await newAgent()
    const attempt = await shown(agentId)
    await authority.agents.deactivate(agentId as never, 'disabled', async () => undefined)
    expect(await redeem(attempt)).toEqual(error('unknown'))
    expect(await attempts.begin(exampleAttempt(agentId), linkMail(exampleAttempt(agentId)))).toBe(false)
  })
})

describe('no', () => {
  test('ends every attempt for the mailbox, of agents that it has not confirmed', async () => {
    const email = newMailbox()
    const [known, stranger, second] = [await newAgent(), await newAgent(), await newAgent()]
    await redeem(await shown(known, { email }))
    const [again, pressed, declined] = [
      await shown(known, { email }),
      await shown(stranger, { email }),
      await begin(second, { email }),
    ]
    expect(await attempts.decline(declined.id, START)).toEqual({ ok: true, value: undefined })
    expect(await stored(declined)).toMatchObject({ state: 'declined', email_sealed: null })
    expect(await attempts.countTry({ agentId: stranger }, START)).toEqual(error('declined'))
    expect(await redeem(pressed)).toEqual(error('declined'))
    expect(await attempts.showCode(pressed.id, code, START)).toEqual(error('declined'))
    expect((await redeem(again)).ok).toBe(true)
  })

  test('is stored for thirty days, and no mail is sent', async () => {
    const email = newMailbox()
    const declined = await begin(await newAgent(), { email })
    expect(await attempts.wantsMail(declined.id, START)).toBe(true)
    await attempts.decline(declined.id, START)
    expect(await attempts.wantsMail(declined.id, START)).toBe(false)
    const later = async (ms: number) => {
      const attempt = await begin(await newAgent(), { email, createdAt: at(ms) })
      return attempts.wantsMail(attempt.id, at(ms))
    }
    expect(await later(29 * DAY_MS)).toBe(false)
    expect(await later(30 * DAY_MS)).toBe(true)
  })
})

test('stores the outcome of the mail; a failed attempt holds nothing personal and expires with its link', async () => {
  const [sent, failed, dropped] = [
    await begin(await newAgent()),
    await begin(await newAgent()),
    await begin(await newAgent()),
  ]
  for (const [attempt, outcome] of [
    [sent, 'sent'],
    [failed, 'dead'],
    [dropped, 'dropped'],
  ] as const) {
    await authority.db.transaction((tx) => attempts.recordMailOutcome(tx, attempt.id, outcome))
  }
  const states = (await Promise.all([sent, failed, dropped].map(stored))).map((row) => row?.['state'])
  expect(states).toEqual(['sent', 'failed', 'initiated'])
  expect(await stored(failed)).toMatchObject({ email_sealed: null, email_hash: null, mailbox_hash: null })
  await sweepVerifications(authority.db, at(RULES.claimLinkMs - 1))
  expect(await stored(failed)).toMatchObject({ state: 'failed' })
  await sweepVerifications(authority.db, at(RULES.claimLinkMs))
  expect(await stored(failed)).toMatchObject({ state: 'expired' })
  expect(await attempts.wantsMail(sent.id, START)).toBe(false)
})

/** Reads when a claim ended, and who ended it. */
async function endOf(id: string) {
  const claim = (await claims.list(1_000)).find((each) => each.id === id)
  return claim?.endedAt && { at: claim.endedAt, by: claim.endedBy }
}

const endMails = (id: string) => bag.mails.filter(({ kind, about }) => kind === 'claim-ended' && about === id)

describe('a claim', () => {
  test('ends once when several end it, and its address is erased', async () => {
    const agentId = await newAgent()
    const attempt = await shown(agentId)
    await redeem(attempt)
    const id = attempt.registrationId
    const ends = await Promise.all(
      (['person', 'agent', 'operator'] as const).map((by) => claims.revoke(id, by, START)),
    )
    expect(ends.filter(Boolean)).toHaveLength(1)
    expect(await claims.findLive(agentId, START)).toBeUndefined()
    expect(await claims.findPerson(id, START)).toBeUndefined()
    expect(endMails(id)).toHaveLength(1)
    expect((await endOf(id))?.at).toEqual(START)
  })

  test('is superseded by the agent’s next, and is over after thirty days', async () => {
    const agentId = await newAgent()
    const first = await shown(agentId)
    await redeem(first)
    const second = await shown(agentId)
    await redeem(second, at(MINUTE_MS))
    expect((await endOf(first.registrationId))?.by).toBe('superseded')
    const liveAfter = (ms: number) => claims.findLive(agentId, at(MINUTE_MS + ms))
    expect((await liveAfter(30 * DAY_MS - 1))?.id).toBe(second.registrationId)
    expect(await liveAfter(30 * DAY_MS)).toBeUndefined()
    expect(await claims.revoke(second.registrationId, 'agent', at(MINUTE_MS + 30 * DAY_MS))).toBe(false)
  })

  test('ends with its agent, in the same transaction', async () => {
    const agentId = await newAgent()
    const attempt = await shown(agentId)
    await redeem(attempt)
    const open = await begin(agentId)
    const deps = { sealingKeys: authority.sealingKeys, addMail: bag.add }
    const agent = { id: agentId, nameSealed: null, registeredAt: START, appHost: null }
    await authority.db.transaction((tx) => revokeVerificationsOfAgent(tx, deps, agent, START))
    expect(endMails(attempt.registrationId)).toHaveLength(1)
    expect((await endOf(attempt.registrationId))?.by).toBe('agent-deleted')
    expect(await stored(open)).toBeUndefined()
  })
})

describe('sweeping', () => {
  test('erases an unfinished attempt after 24 hours, and its row a day later', async () => {
    const attempt = await shown(await newAgent())
    await sweepVerifications(authority.db, at(RULES.claimLinkMs - 1))
    expect(await stored(attempt)).toMatchObject({ state: 'code_shown' })
    await sweepVerifications(authority.db, at(RULES.claimLinkMs))
    expect(await stored(attempt)).toMatchObject({ state: 'expired', email_sealed: null, code_hash: null })
    await sweepVerifications(authority.db, at(2 * DAY_MS))
    expect(await stored(attempt)).toBeUndefined()
  })

  test('erases the address of a claim that is over, and the claim thirty days later', async () => {
    const attempt = await shown(await newAgent())
    await redeem(attempt)
    const sealed = async () => {
      const { rows } = await authority.db.query<{ sealed: boolean; ended_by: string }>(
        'select email_sealed is not null as sealed, ended_by from claims where id = $1',
        [attempt.registrationId],
      )
      return rows[0]
    }
    await sweepVerifications(authority.db, at(30 * DAY_MS - 1))
    expect(await sealed()).toEqual({ sealed: true, ended_by: null })
    await sweepVerifications(authority.db, at(30 * DAY_MS))
    expect(await sealed()).toEqual({ sealed: false, ended_by: 'expired' })
    await sweepVerifications(authority.db, at(60 * DAY_MS - 1))
    expect(await sealed()).toBeDefined()
    await sweepVerifications(authority.db, at(60 * DAY_MS))
    expect(await sealed()).toBeUndefined()
  })

  test('forgets tries after a day and blocks when they end', async () => {
    const agentId = await newAgent()
    const attempt = await shown(agentId)
    await attempts.countTry({ agentId }, START)
    await attempts.decline(attempt.id, START)
    const count = async () => {
      const { rows } = await authority.db.query<{ tries: number; blocks: number }>(
        'select (select count(*) from claim_tries) as tries, (select count(*) from claim_blocks) as blocks',
      )
      return rows[0]
    }
    expect((await count())?.tries).toBeGreaterThan(0)
    await sweepVerifications(authority.db, at(2 * DAY_MS + HOUR_MS))
    expect((await count())?.tries).toBe(0)
    expect((await count())?.blocks).toBeGreaterThan(0)
    await sweepVerifications(authority.db, at(61 * DAY_MS))
    expect((await count())?.blocks).toBe(0)
  })
})

test('stores no address, phrase or code in clear', async () => {
  const attempt = await shown(await newAgent(), { email: 'canary@example.org' })
  await redeem(await shown(await newAgent(), { email: 'canary@example.org' }))
  const dump = await dumpTables(authority.db)
  expect(dump).toContain(attempt.id)
  for (const word of ['canary', 'example.org', 'amber river']) expect(dump).not.toContain(word)
})

test('re-encrypts claims under the newest key-encryption key, after which the old one is not needed', async () => {
  await using other = await openAuthority()
  const [old, young] = [newKeyEncryptionKey(), newKeyEncryptionKey()]
  const storesUnder = (text: string) => {
    const deps = {
      db: other.db,
      sealingKeys: parseKeyEncryptionKeys(text),
      hashKey: exampleHashKey(),
      addMail: bag.add,
      events: other.events,
    }
    return {
      attempts: createVerificationAttemptStore(deps),
      claims: createVerificationStore({ ...deps, ...NO_TOKENS }),
    }
  }
  const before = storesUnder(old)
  const [claimed, open] = [exampleAgent(), exampleAgent()]
  for (const agent of [claimed, open]) await other.agents.add(agent)
  const [first, second] = [exampleAttempt(claimed.agent.id), exampleAttempt(open.agent.id)]
  for (const attempt of [first, second]) await before.attempts.begin(attempt, linkMail(attempt))
  await before.attempts.showCode(first.id, code, START)
  await before.claims.redeem(exampleRedemption(first.id, code, START))

  const both = parseKeyEncryptionKeys(`${young}\n${old}`)
  expect(await reencryptVerifications(other.db, both, { dryRun: true })).toBe(3)
  expect(await reencryptVerifications(other.db, both, { dryRun: false })).toBe(3)
  expect(await reencryptVerifications(other.db, both, { dryRun: false })).toBe(0)
  const after = storesUnder(young)
  expect((await after.claims.findPerson(first.registrationId, START))?.email).toBe(first.email)
  expect((await after.attempts.findByLink(second.linkHash, START))?.matchPhrase).toBe('amber river')
  await after.attempts.showCode(second.id, code, START)
  expect((await after.claims.redeem(exampleRedemption(second.id, code, START))).ok).toBe(true)
})

test('publishes an end again when an earlier attempt to publish failed', async () => {
  const agentId = await newAgent()
  const attempt = await shown(agentId)
  expect((await redeem(attempt)).ok).toBe(true)
  publishRevocation = () => {
    throw new Error('no Redis')
  }
  await expect(claims.revoke(attempt.registrationId, 'agent', START)).rejects.toThrow('no Redis')
  expect(await claims.findLive(agentId, START)).toBeUndefined()
  await expect(claims.revoke(attempt.registrationId, 'agent', START)).rejects.toThrow('no Redis')
  const published: string[] = []
  publishRevocation = (id) => void published.push(id)
  announced.length = 0
  expect(await claims.findNewest(agentId)).toMatchObject({ id: attempt.registrationId, endedBy: 'agent' })
  expect(await claims.revoke(attempt.registrationId, 'agent', START)).toBe(false)
  expect([announced, published]).toEqual([[attempt.registrationId], [agentId]])
  expect(kept.filter((id) => id === attempt.registrationId)).toHaveLength(1)
  publishRevocation = () => undefined
})
