import { HOUR_MS, RULES } from '@plainpath/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sweepVerifications } from '../src/verifications/sweep-verifications.ts'
import { deleteAgent, type RegisteredAgent, register } from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { expectProblem } from './expect-refusal.ts'
import {
  type Attempt,
  beginVerification,
  completeVerification,
  confirmAgent,
  createAddress,
  createWrongCode,
  findHeading,
  openClaimPage,
  requestVerification,
  revokeVerification,
  sayNo,
  sayYes,
  showCode,
  startVerificationSystem,
  type VerificationSystem,
} from './verification-client.ts'

let system: VerificationSystem
beforeAll(async () => {
  system = await startVerificationSystem()
})
afterAll(async () => {
  await expectNoConfidentialValues(system.auth)
  await system[Symbol.asyncDispose]()
})

/** Ways in which an agent can close an attempt after the mail was sent, so that no code can be shown any more. */
const CLOSINGS: readonly [string, (attempt: Attempt) => Promise<void>][] = [
  ['began another attempt', async ({ agent }) => void (await beginVerification(system, { agent }))],
  [
    'withdrew the attempt',
    async ({ agent }) => {
      expect((await revokeVerification(system.auth, agent)).status).toBe(204)
    },
  ],
  [
    'deleted itself',
    async ({ agent }) => {
      expect((await deleteAgent(system.auth, agent)).status).toBe(204)
    },
  ],
  [
    'sent five wrong codes',
    async (attempt) => {
      const otp = createWrongCode(await showCode(system.auth, attempt))
      for (let n = 0; n < RULES.verificationTries; n++)
        expect((await completeVerification(system.auth, attempt.agent, { otp })).status).toBe(400)
    },
  ],
]

/** The attributes of the button with which a person declines. */
const NO_BUTTON = 'name="answer" value="no"'
const readHashes = async ({ id }: Attempt) => {
  const { rows } = await system.testbed.db.query(
    'select email_sealed, match_phrase_sealed, email_hash, mailbox_hash from claim_attempts where id = $1',
    [id],
  )
  return rows[0]
}
/** The result of `readHashes` once everything personal has been erased. */
const NOTHING_PERSONAL = {
  email_sealed: null,
  match_phrase_sealed: null,
  email_hash: null,
  mailbox_hash: null,
}
/** Requests a verification, and returns the state of its mail once the mail is no longer queued: `sent` or `dropped`. */
async function requestMail(agent: RegisteredAgent, email: string): Promise<string | undefined> {
  const response = await requestVerification(system.auth, agent, { email })
  expect(response.status, response.text).toBe(202)
  const { claim_attempt_id: id } = JSON.parse(response.text) as { claim_attempt_id: string }
  const readState = async () => {
    const { rows } = await system.testbed.db.query<{ state: string }>(
      'select state from mails where about = $1',
      [id],
    )
    return rows[0]?.state
  }
  await expect.poll(readState, { timeout: 10_000 }).not.toBe('queued')
  return readState()
}
/** Returns whether the attempt became a verification that has not ended. */
const isLive = async ({ registrationId }: Attempt) => {
  const { rows } = await system.testbed.db.query('select from claims where id = $1 and ended_at is null', [
    registrationId,
  ])
  return rows.length === 1
}

describe.for(CLOSINGS)('after the agent %s, the mailed link', ([_title, close]) => {
  test('shows no code, but still blocks the mailbox when the person says no', async () => {
    const { auth } = system
    const attempt = await beginVerification(system)
    await close(attempt)
    const hashes = await readHashes(attempt)
    expect(hashes).toMatchObject({ email_sealed: null, match_phrase_sealed: null })
    for (const page of [
      await openClaimPage(auth, { attempt: attempt.secret }),
      await sayYes(auth, attempt),
    ]) {
      expect([page.status, findHeading(page.text)]).toEqual([
        410,
        expect.stringMatching(/^This request is over$|^Too many wrong codes$/),
      ])
      expect(page.text).toContain(NO_BUTTON)
      expect(page.text).not.toContain('value="yes"')
      expect(page.text).not.toContain('id="code"')
    }
    expect(await readHashes(attempt)).toEqual(hashes)

    const page = await sayNo(auth, attempt)
    expect([page.status, findHeading(page.text)]).toEqual([200, 'You said no'])
    expect(await readHashes(attempt)).toEqual(NOTHING_PERSONAL)
    for (const repeatedPage of [
      await sayNo(auth, attempt),
      await openClaimPage(auth, { attempt: attempt.secret }),
    ]) {
      expect([repeatedPage.status, findHeading(repeatedPage.text)]).toEqual([410, 'You said no'])
      expect(repeatedPage.text).not.toContain(NO_BUTTON)
    }
    expect(await requestMail(await register(auth), attempt.email.toUpperCase())).toBe('dropped')
  })

  test('can no longer be declined once it has expired, and its hashes are erased', async () => {
    const { auth, clock } = system
    const attempt = await beginVerification(system)
    await close(attempt)
    expect(await readHashes(attempt)).not.toEqual(NOTHING_PERSONAL)
    clock.now = new Date(clock.now.getTime() + RULES.verificationLinkMs)
    for (const page of [await openClaimPage(auth, { attempt: attempt.secret }), await sayNo(auth, attempt)]) {
      expect(page.status).toBe(410)
      expect(page.text).not.toContain(NO_BUTTON)
    }
    await sweepVerifications(system.testbed.db, clock.now)
    expect(await readHashes(attempt)).toEqual(NOTHING_PERSONAL)
    expect((await sayNo(auth, attempt)).status).toBe(410)
    expect(await requestMail(await register(auth), attempt.email)).toBe('sent')
  })
})

test('an agent that began another attempt or withdrew it gets no more mails sent after the person said no', async () => {
  const { auth, clock } = system
  const attempt = await beginVerification(system)
  await beginVerification(system, { agent: attempt.agent })
  await revokeVerification(auth, attempt.agent)
  expect((await sayNo(auth, attempt)).status).toBe(200)
  // Longer than the pause between two mails of a client to one mailbox.
  clock.now = new Date(clock.now.getTime() + HOUR_MS)
  expect(await requestMail(attempt.agent, attempt.email)).toBe('dropped')
  expect(await requestMail(attempt.agent, createAddress())).toBe('sent')
  const declined = {
    status: 410,
    code: 'claim-declined',
    error: 'access_denied',
    errorFormat: 'agent',
  } as const
  const fields = { otp: '123456', claim_attempt_id: attempt.id }
  expectProblem(await completeVerification(auth, attempt.agent, fields), declined)
})

test('declining a superseded attempt also revokes the access that the agent has by the same address', async () => {
  const { auth } = system
  const confirmed = await confirmAgent(system)
  const { agent, email } = confirmed
  const superseded = await beginVerification(system, { agent, email })
  await beginVerification(system, { agent })
  expect(await isLive(confirmed)).toBe(true)
  expect((await sayNo(auth, superseded)).status).toBe(200)
  expect(await isLive(confirmed)).toBe(false)
  expect(await requestMail(agent, email)).toBe('dropped')
})

test('declining blocks every spelling of the mailbox, but leaves the access by another spelling, as its page says', async () => {
  const { auth } = system
  const email = createAddress()
  const confirmed = await confirmAgent(system, { email })
  const { agent } = confirmed
  const tagged = await beginVerification(system, { agent, email: email.replace('@', '+news@') })
  const page = await sayNo(auth, tagged)
  expect([page.status, findHeading(page.text)]).toEqual([200, 'You said no'])
  expect(page.text).toContain('even one that only adds a + and a word, that access goes on')
  expect(await isLive(confirmed)).toBe(true)
  expect(await requestMail(await register(auth), email)).toBe('dropped')
  expect(await requestMail(agent, email.replace('@', '+other@'))).toBe('dropped')
})
