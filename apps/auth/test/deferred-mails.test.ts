import { DAY_MS, HOUR_MS } from '@plainpath/domain'
import { expect, test, vi } from 'vitest'
import { register } from './agent-client.ts'
import {
  begin,
  type ClaimsUnderTest,
  claim,
  complete,
  newAddress,
  showCode,
  startClaims,
} from './claim-client.ts'
import { expectProblem } from './expect-refusal.ts'

vi.setConfig({ testTimeout: 60_000 })

const WAITING = `state = 'queued' and deferred_by is not null and counted_at is null`
/** Longer than from one upkeep of mails to the next. */
const POLL = { timeout: 20_000 }

/** Starts with the share of a domain's cap used up that verification mails may use. */
async function startFull(): Promise<ClaimsUnderTest> {
  const under = await startClaims({ env: { AUTH_LIMITS_FACTOR: '1' } })
  await begin(under)
  await expect.poll(() => rows(under, `select id from mails where state = 'sent'`), POLL).toHaveLength(1)
  await rows(
    under,
    `insert into mails (id, kind, about, message_id, state, created_at, overdue_at, settled_at, counted_at,
       mailbox_hash, domain_hash, hash_key)
     select gen_random_uuid(), kind, '', gen_random_uuid(), 'sent', created_at, created_at, created_at, counted_at,
       mailbox_hash, domain_hash, hash_key
     from mails, generate_series(1, 1599)`,
  )
  return under
}

const rows = async ({ stores }: ClaimsUnderTest, sql: string, values: unknown[] = []) =>
  (await stores.db.query(sql, values)).rows
const waiting = (under: ClaimsUnderTest, count: number) =>
  expect.poll(() => rows(under, `select id from mails where ${WAITING}`), POLL).toHaveLength(count)

test('a verification mail over the cap of its domain waits, and its link then works for 24 hours', async () => {
  await using under = await startFull()
  const { auth, clock, mail } = under
  const start = clock.now.getTime()
  const [agent, email] = [await register(auth), newAddress()]
  expect((await claim(auth, agent, { email })).status).toBe(202)
  await waiting(under, 1)
  clock.now = new Date(start + 22 * HOUR_MS)
  await rows(under, 'update mails set counted_at = null where counted_at is not null')
  await expect.poll(() => mail.received.filter(({ to }) => to.includes(email)), POLL).toHaveLength(1)
  await waiting(under, 0)
  const text = mail.received.find(({ to }) => to.includes(email))?.text ?? ''
  const secret = /attempt=([\w-]{43})/.exec(text)?.[1] ?? ''
  clock.now = new Date(start + 22 * HOUR_MS + DAY_MS - 60_000)
  const otp = await showCode(auth, { secret })
  expect((await complete(auth, agent, { otp })).status).toBe(200)
})

test('a verification mail that found no room before its link expired is reported', async () => {
  await using under = await startFull()
  const { auth, clock, mail } = under
  const [agent, email] = [await register(auth), newAddress()]
  expect((await claim(auth, agent, { email })).status).toBe(202)
  await waiting(under, 1)
  clock.now = new Date(clock.now.getTime() + 23 * HOUR_MS)
  await waiting(under, 0)
  await expect
    .poll(() => auth.logged.join('\n'), POLL)
    .toContain('a mail found no room under the caps in time')
  expect(mail.received.some(({ to }) => to.includes(email))).toBe(false)
})

test('while 40 verification mails of a network wait, another is refused with 429, and nothing is stored', async () => {
  await using under = await startFull()
  const { auth } = under
  const [agent, email] = [await register(auth), newAddress()]
  await rows(
    under,
    `insert into mails (id, kind, about, mail_sealed, message_id, created_at, overdue_at, sender_hash, deferred_by)
     select gen_random_uuid(), kind, '', '', gen_random_uuid(), $1, $1, sender_hash, 'all'
     from mails, generate_series(1, 40) where sender_hash is not null`,
    [new Date(under.clock.now.getTime() + DAY_MS)],
  )
  const stored = () =>
    rows(
      under,
      'select (select count(*) from mails) as mails, (select count(*) from claim_attempts) as attempts',
    )
  const storedBefore = await stored()
  const refused = await claim(auth, agent, { email })
  expectProblem(refused, {
    status: 429,
    code: 'rate-limited',
    error: 'rate_limited',
    says: /Too many mails are waiting/,
    headers: { 'retry-after': /^600$/ },
    form: 'agent',
  })
  expect(await stored()).toEqual(storedBefore)
  await rows(under, `delete from mails where id = (select id from mails where ${WAITING} limit 1)`)
  expect((await claim(auth, await register(auth), { email: newAddress() })).status).toBe(202)
})
