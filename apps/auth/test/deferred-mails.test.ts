import { DAY_MS, HOUR_MS } from '@plainpath/domain'
import { expect, test } from 'vitest'
import { register } from './agent-client.ts'
import { expectProblem } from './expect-refusal.ts'
import {
  beginVerification,
  completeVerification,
  createAddress,
  requestVerification,
  showCode,
  startVerificationSystem,
  type VerificationSystem,
} from './verification-client.ts'

/** The SQL condition of a mail that waits for room under a shared cap. */
const IS_WAITING = `state = 'queued' and deferred_by is not null and counted_at is null`

/** Starts an instance, and stores so many sent mails that verification mails have no room under the cap of `example.org`. */
async function startWithFullCap(): Promise<VerificationSystem> {
  const system = await startVerificationSystem({ env: { AUTH_LIMITS_FACTOR: '1' } })
  await beginVerification(system)
  await expect.poll(() => querySql(system, `select id from mails where state = 'sent'`)).toHaveLength(1)
  // With the mail above, these are 1,600 mails: four fifths of the domain cap, which is all that verification mails may use.
  await querySql(
    system,
    `insert into mails (id, kind, about, message_id, state, created_at, overdue_at, settled_at, counted_at,
       mailbox_hash, domain_hash, hash_key)
     select gen_random_uuid(), kind, '', gen_random_uuid(), 'sent', created_at, created_at, created_at, counted_at,
       mailbox_hash, domain_hash, hash_key
     from mails, generate_series(1, 1599)`,
  )
  return system
}

const querySql = async ({ testbed }: VerificationSystem, sql: string, values: unknown[] = []) =>
  (await testbed.db.query(sql, values)).rows
const expectWaitingMails = (system: VerificationSystem, count: number) =>
  expect.poll(() => querySql(system, `select id from mails where ${IS_WAITING}`)).toHaveLength(count)

test('a verification mail over the cap of its domain waits, and its link works for 24 hours after it is sent', async () => {
  await using system = await startWithFullCap()
  const { auth, clock, mailServer } = system
  const startMs = clock.now.getTime()
  const [agent, email] = [await register(auth), createAddress()]
  expect((await requestVerification(auth, agent, { email })).status).toBe(202)
  await expectWaitingMails(system, 1)
  // A verification mail that waits is given up after 23 hours.
  clock.now = new Date(startMs + 22 * HOUR_MS)
  // Makes room under the cap: a mail counts under the caps only while `counted_at` is set.
  await querySql(system, 'update mails set counted_at = null where counted_at is not null')
  await auth.mailer.runUpkeep()
  await expect.poll(() => mailServer.received.filter(({ to }) => to.includes(email))).toHaveLength(1)
  // Settled, not only received: otherwise its lease ends when the clock advances, and it is sent again.
  await expect.poll(() => querySql(system, `select id from mails where state <> 'sent'`)).toEqual([])
  const text = mailServer.received.find(({ to }) => to.includes(email))?.text ?? ''
  const secret = /attempt=([\w-]{43})/.exec(text)?.[1] ?? ''
  // A minute before the link expires.
  clock.now = new Date(startMs + 22 * HOUR_MS + DAY_MS - 60_000)
  const otp = await showCode(auth, { secret })
  expect((await completeVerification(auth, agent, { otp })).status).toBe(200)
})

test('a verification mail that finds no room under the caps in time is not sent, and the log says so', async () => {
  await using system = await startWithFullCap()
  const { auth, clock, mailServer } = system
  const [agent, email] = [await register(auth), createAddress()]
  expect((await requestVerification(auth, agent, { email })).status).toBe(202)
  await expectWaitingMails(system, 1)
  // A verification mail that waits is given up after 23 hours.
  clock.now = new Date(clock.now.getTime() + 23 * HOUR_MS)
  await auth.mailer.runUpkeep()
  await expectWaitingMails(system, 0)
  await expect.poll(() => auth.logged.join('\n')).toContain('a mail found no room under the caps in time')
  expect(mailServer.received.some(({ to }) => to.includes(email))).toBe(false)
})

test('while 40 verification mails of a network wait, another is refused with 429 and not stored', async () => {
  await using system = await startWithFullCap()
  const { auth } = system
  const [agent, email] = [await register(auth), createAddress()]
  // Stores waiting mails with the network (`sender_hash`) of the only mail that has one. 40 is the bound for a network.
  await querySql(
    system,
    `insert into mails (id, kind, about, mail_sealed, message_id, created_at, overdue_at, sender_hash, deferred_by)
     select gen_random_uuid(), kind, '', '', gen_random_uuid(), $1, $1, sender_hash, 'all'
     from mails, generate_series(1, 40) where sender_hash is not null`,
    [new Date(system.clock.now.getTime() + DAY_MS)],
  )
  const countMailsAndAttempts = () =>
    querySql(
      system,
      'select (select count(*) from mails) as mails, (select count(*) from claim_attempts) as attempts',
    )
  const storedBefore = await countMailsAndAttempts()
  const refusedResponse = await requestVerification(auth, agent, { email })
  expectProblem(refusedResponse, {
    status: 429,
    code: 'rate-limited',
    error: 'rate_limited',
    says: /Too many mails are waiting/,
    headers: { 'retry-after': /^600$/ },
    errorFormat: 'agent',
  })
  expect(await countMailsAndAttempts()).toEqual(storedBefore)
  await querySql(system, `delete from mails where id = (select id from mails where ${IS_WAITING} limit 1)`)
  expect((await requestVerification(auth, await register(auth), { email: createAddress() })).status).toBe(202)
})
