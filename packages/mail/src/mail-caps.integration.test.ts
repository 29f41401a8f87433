import { expect, test } from 'vitest'
import { type Mailing, startMailing } from '../test/start-mailing.ts'

const HIGH_CAPS = { mailbox: 100, domain: 100, all: 100 }

const DAY_MS = 24 * 3600_000
const advance = (mailing: Mailing, ms: number) => {
  mailing.clock.now = new Date(mailing.clock.now.getTime() + ms)
}
const readMetrics = ({ registry }: Mailing) => registry.metrics()
/** Expects that `count` mails wait for room, within 10 s. */
const expectWaiting = async (mailing: Mailing, count: number) => {
  const rows = async () =>
    (
      await mailing.db.query(
        `select id from mails where state = 'queued' and deferred_by is not null and counted_at is null`,
      )
    ).rowCount
  await expect.poll(rows).toBe(count)
}
const addressees = (mailing: Mailing) => mailing.server.received.map(({ to }) => to[0]?.split('@')[0])

test('drops mails over the cap of a mailbox for a day, in any spelling with plus-tags, case and Gmail dots', async () => {
  await using mailing = await startMailing()
  const caps = { ...HIGH_CAPS, mailbox: 2 }
  const mailer = mailing.start({ caps, handlers: { note: {}, desk: { capped: false } } })
  for (const to of ['ana.b@gmail.com', 'anab+x@gmail.com'])
    await mailing.becomes(await mailing.add({ to }), 'sent')
  const to = 'A.nab+y@GoogleMail.com'
  expect((await mailing.becomes(await mailing.add({ to }), 'dropped'))['mail_sealed']).toBeNull()
  await mailing.becomes(await mailing.add({ to, kind: 'desk' }), 'sent')
  await mailing.becomes(await mailing.add({ to: 'ben@gmail.com' }), 'sent')
  expect(await readMetrics(mailing)).toContain(
    'mails_settled_total{kind="note",outcome="dropped",reason="cap-mailbox"} 1',
  )
  advance(mailing, DAY_MS)
  await mailing.becomes(await mailing.add({ to }), 'sent')
  advance(mailing, 26 * 3600_000)
  await mailer.upkeep()
  const { rows } = await mailing.db.query('select count(mailbox_hash) as kept from mails')
  expect(rows).toEqual([{ kept: 0 }])
})

test.for([
  {
    cap: 'domain',
    caps: { ...HIGH_CAPS, domain: 5 },
    to: ['a@example.org', 'b@EXAMPLE.org', 'c@example.org', 'd@example.org', 'e@example.org'],
    other: 'a@example.net',
  },
  {
    cap: 'all',
    caps: { ...HIGH_CAPS, all: 5 },
    to: ['a@example.org', 'b@example.net', 'c@example.com', 'd@example.edu', 'e@example.info'],
    other: undefined,
  },
])(
  'lets a mail over the cap of $cap wait without counting an attempt, and sends it when there is room',
  async (row) => {
    const { cap, caps, to, other } = row
    await using mailing = await startMailing()
    const renewed: unknown[] = []
    const handlers = {
      note: { renew: async (about: string, now: Date) => void renewed.push([about, now]) },
      desk: { capped: false },
    }
    const mailer = mailing.start({ caps, handlers })
    for (const address of to.slice(0, 4)) await mailing.becomes(await mailing.add({ to: address }), 'sent')
    const last = { to: to[4] ?? '' }
    const deferred = await mailing.add({ ...last, about: 'late' })
    await expectWaiting(mailing, 1)
    expect(await mailing.state(deferred)).toMatchObject({ attempts: 0, deferred_by: cap, counted_at: null })
    await mailing.becomes(await mailing.add({ ...last, kind: 'desk' }), 'sent')
    if (other !== undefined) await mailing.becomes(await mailing.add({ to: other }), 'sent')
    const scraped = await readMetrics(mailing)
    expect(scraped).toContain(`mails_deferred{kind="note",cap="${cap}"} 1`)
    expect(scraped).toContain('mails_queued{kind="note"} 0')
    advance(mailing, DAY_MS - 1)
    await mailer.upkeep()
    await expectWaiting(mailing, 1)
    advance(mailing, 1)
    await mailer.upkeep()
    expect(await mailing.becomes(deferred, 'sent')).toMatchObject({ attempts: 1 })
    const date = new Date(mailing.server.received.at(-1)?.parsed.date ?? '')
    expect(Math.abs(date.getTime() - mailing.clock.now.getTime())).toBeLessThan(1_000)
    expect(renewed).toEqual([['late', mailing.clock.now]])
  },
)

test('reserves part of a cap for mails that a person asked for', async () => {
  await using mailing = await startMailing()
  mailing.start({ caps: { ...HIGH_CAPS, domain: 10 } })
  const ids = await Promise.all(
    Array.from({ length: 12 }, (_, n) => mailing.add({ to: `n${n}@example.org`, sender: '192.0.2.1' })),
  )
  await expectWaiting(mailing, 4)
  await expect.poll(() => mailing.server.received).toHaveLength(8)
  for (const to of ['ana@example.org', 'ben@example.org'])
    await mailing.becomes(await mailing.add({ to, askedFor: true }), 'sent')
  await mailing.add({ to: 'cleo@example.org', askedFor: true })
  await expectWaiting(mailing, 5)
  expect(
    (await Promise.all(ids.map((id) => mailing.state(id)))).filter(({ state }) => state === 'sent'),
  ).toHaveLength(8)
})

test('releases mails that people asked for first, then those of the sender with the fewest mails, then the oldest', async () => {
  await using mailing = await startMailing()
  const full = mailing.start({ caps: { ...HIGH_CAPS, domain: 5 } })
  const from = (sender: string, name: string, more = {}) =>
    mailing.add({ to: `${name}@example.org`, sender, ...more })
  for (const n of [1, 2, 3]) await mailing.becomes(await from('abuser', `sent${n}`), 'sent')
  await mailing.becomes(await from('some', 'sent4'), 'sent')
  await mailing.becomes(await from('person', 'sent5', { askedFor: true }), 'sent')
  for (const [sender, name, more] of [
    ['abuser', 'abuser1', {}],
    ['abuser', 'abuser2', {}],
    ['some', 'some1', {}],
    ['other', 'other1', {}],
    ['another', 'another1', {}],
    ['abuser', 'asked', { askedFor: true }],
  ] as const) {
    advance(mailing, 1_000)
    await from(sender, name, more)
  }
  await expectWaiting(mailing, 6)
  await full[Symbol.asyncDispose]()
  const before = mailing.server.received.length
  // Mails that no person is known to have asked for may use nine of the twelve.
  await mailing.start({ caps: { ...HIGH_CAPS, domain: 12 } }).upkeep()
  await mailing.server.mails(before + 4)
  await expectWaiting(mailing, 2)
  const sent = addressees(mailing).slice(before)
  expect(sent.toSorted()).toEqual(['another1', 'asked', 'other1', 'some1'])
})

test('does not let a new mail overtake a mail that waits for the same room', async () => {
  await using mailing = await startMailing()
  const mailer = mailing.start({ caps: { ...HIGH_CAPS, domain: 5 } })
  for (const n of [1, 2, 3, 4]) await mailing.becomes(await mailing.add({ to: `a${n}@example.org` }), 'sent')
  const first = await mailing.add({ to: 'first@example.org' })
  await expectWaiting(mailing, 1)
  advance(mailing, DAY_MS)
  const second = await mailing.add({ to: 'second@example.org' })
  await expectWaiting(mailing, 2)
  await mailer.upkeep()
  await Promise.all([first, second].map((id) => mailing.becomes(id, 'sent')))
  expect(mailing.server.received).toHaveLength(6)
})

test('drops a waiting mail instead of releasing it when the cap of its mailbox is used up', async () => {
  await using mailing = await startMailing()
  const mailer = mailing.start({ caps: { ...HIGH_CAPS, domain: 5, mailbox: 2 } })
  for (const n of [1, 2, 3, 4]) await mailing.becomes(await mailing.add({ to: `a${n}@example.org` }), 'sent')
  const ids = []
  for (const sender of ['1', '2', '3']) {
    advance(mailing, 1_000)
    ids.push(await mailing.add({ sender }))
    await expectWaiting(mailing, ids.length)
  }
  advance(mailing, DAY_MS)
  await mailer.upkeep()
  const [, , third = ''] = ids
  await mailing.becomes(third, 'dropped')
  for (const id of ids.slice(0, 2)) await mailing.becomes(id, 'sent')
  expect(addressees(mailing).filter((name) => name === 'ana')).toHaveLength(2)
})

test('counts a released mail again, instead of giving it up, when it is not delivered within a day', async () => {
  await using mailing = await startMailing()
  const mailer = mailing.start({ caps: { ...HIGH_CAPS, domain: 1 } })
  await mailing.becomes(await mailing.add(), 'sent')
  const deferred = await mailing.add()
  await expectWaiting(mailing, 1)
  advance(mailing, DAY_MS)
  mailing.server.refuseNext({ at: 'data', code: 451 })
  await mailer.upkeep()
  await expect
    .poll(() => mailing.state(deferred))
    .toMatchObject({
      attempts: 1,
      leased_until: null,
    })
  await mailing.db.query(`update mails set overdue_at = $1 where id = $2`, [
    new Date(mailing.clock.now.getTime() + 27 * 3600_000),
    deferred,
  ])
  advance(mailing, 26 * 3600_000)
  await mailer.upkeep()
  advance(mailing, 3600_000)
  await mailer.upkeep()
  await mailing.becomes(deferred, 'sent')
})

test('lets unwanted mails wait like wanted ones, and does not count them', async () => {
  await using mailing = await startMailing()
  const isWanted = async (about: string) => about === 'wanted'
  const mailer = mailing.start({
    caps: { ...HIGH_CAPS, domain: 2 },
    handlers: { note: { isWanted } },
  })
  const add = (about: string) => mailing.add({ to: `${about}@example.org`, about })
  await mailing.becomes(await add('unwanted'), 'dropped')
  await mailing.becomes(await add('wanted'), 'sent')
  const ids = [await add('unwanted')]
  advance(mailing, 1_000)
  ids.push(await add('wanted'))
  await expectWaiting(mailing, 2)
  advance(mailing, DAY_MS)
  const [unwanted = '', wanted = ''] = ids
  await mailer.upkeep()
  expect(await mailing.becomes(unwanted, 'dropped')).toMatchObject({ counted_at: null })
  await mailer.upkeep()
  await mailing.becomes(wanted, 'sent')
})

test.for([
  { why: 'two days', maxWaitMs: undefined, waits: 2 * DAY_MS },
  { why: 'the longest wait of its kind', maxWaitMs: 3600_000, waits: 3600_000 },
])(
  'gives up a mail that waits for room after $why, and reports it to the operator',
  async ({ maxWaitMs, waits }) => {
    await using mailing = await startMailing()
    const caps = { ...HIGH_CAPS, domain: 1 }
    let wanted = true
    const mailer = mailing.start({
      caps,
      handlers: { note: { isWanted: async () => wanted, ...(maxWaitMs !== undefined && { maxWaitMs }) } },
    })
    await mailing.becomes(await mailing.add(), 'sent')
    const lost = await mailing.add()
    const left = await mailing.add()
    await expectWaiting(mailing, 2)
    // The cap stays used up.
    await mailing.db.query(`update mails set counted_at = $1, settled_at = $1 where state = 'sent'`, [
      new Date(mailing.clock.now.getTime() + waits),
    ])
    advance(mailing, waits - 1)
    await mailer.upkeep()
    await expectWaiting(mailing, 2)
    await mailing.db.query(`update mails set overdue_at = overdue_at + interval '1 second' where id = $1`, [
      left,
    ])
    advance(mailing, 1)
    await Promise.all([mailer.upkeep(), mailer.upkeep()])
    expect(await mailing.state(lost)).toMatchObject({ state: 'dropped', mail_sealed: null })
    expect(await readMetrics(mailing)).toContain(
      'mails_settled_total{kind="note",outcome="dropped",reason="waited"} 1',
    )
    const reports = () => mailing.logged.filter((line) => line.includes('found no room'))
    expect(reports()).toEqual([expect.stringContaining(lost)])
    wanted = false
    advance(mailing, 1_000)
    await mailer.upkeep()
    expect(await mailing.state(left)).toMatchObject({ state: 'dropped' })
    expect(reports()).toHaveLength(1)
  },
)

test.for([
  { why: 'of one kind from one network', senders: ['a'], more: 4, other: 'b' },
  {
    why: 'in all, except those that people asked for',
    senders: ['a', 'b', 'c', 'd'],
    more: 8,
    other: undefined,
  },
])(
  'refuses another mail, and stores nothing, when the most mails $why already wait',
  async ({ senders, more, other }) => {
    await using mailing = await startMailing()
    mailing.start({ caps: { ...HIGH_CAPS, domain: 1 }, handlers: { note: {}, ask: {} } })
    await mailing.becomes(await mailing.add({ sender: 'z' }), 'sent')
    for (let n = 0; n < more; n += 1) {
      await mailing.add({ sender: senders[n % senders.length] ?? '', to: `n${n}@example.org` })
      await expectWaiting(mailing, n + 1)
    }
    const [sender = ''] = senders
    const before = await mailing.db.query('select count(*) as kept from mails')
    await expect(mailing.add({ sender })).rejects.toMatchObject({
      code: 'rate-limited',
      options: { headers: { 'retry-after': '600' }, extensions: { policy: 'mails-waiting' } },
    })
    expect((await mailing.db.query('select count(*) as kept from mails')).rows).toEqual(before.rows)
    if (other !== undefined) await mailing.add({ sender: other })
    await mailing.add({ sender, kind: 'ask', askedFor: true })
    await mailing.add({ kind: 'ask' })
  },
)

test('stores a network as a keyed hash, and erases it a day and an hour after the mail is settled', async () => {
  await using mailing = await startMailing()
  const mailer = mailing.start({ caps: { ...HIGH_CAPS, domain: 1 } })
  const sent = await mailing.add({ sender: '192.0.2.77' })
  await mailing.becomes(sent, 'sent')
  const dropped = await mailing.add({ sender: '192.0.2.77' })
  await expectWaiting(mailing, 1)
  const { rows } = await mailing.db.query('select m::text as row from mails m')
  expect(JSON.stringify(rows)).not.toMatch(/192\.0\.2\.77|3139322e302e322e3737/)
  await mailing.db.query(`update mails set overdue_at = $1 where id = $2`, [mailing.clock.now, dropped])
  await mailer.upkeep()
  const hashes = async () =>
    (await mailing.db.query('select count(sender_hash) as senders, count(domain_hash) as domains from mails'))
      .rows
  advance(mailing, 25 * 3600_000 - 1)
  await mailer.upkeep()
  expect(await hashes()).toEqual([{ senders: 2, domains: 2 }])
  advance(mailing, 1)
  await mailer.upkeep()
  expect(await hashes()).toEqual([{ senders: 0, domains: 0 }])
})

test('lets only one of two workers use the last room under a cap', async () => {
  await using mailing = await startMailing()
  const ids = await Promise.all(Array.from({ length: 8 }, () => mailing.add()))
  const caps = { ...HIGH_CAPS, mailbox: 5 }
  mailing.start({ caps })
  mailing.start({ caps })
  await expect
    .poll(
      async () =>
        (await Promise.all(ids.map((id) => mailing.state(id)))).filter((row) => row['state'] === 'queued'),
      { timeout: 15_000 },
    )
    .toEqual([])
  expect(mailing.server.received).toHaveLength(5)
})

test('sends nothing while mails cannot be counted', async () => {
  await using mailing = await startMailing()
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: locked, resolve: reportLocked } = Promise.withResolvers<void>()
  const lock = mailing.db.transaction(async (tx) => {
    await tx.query(`select pg_advisory_xact_lock(hashtextextended('plainpath mail caps', 0))`)
    reportLocked()
    await released
  })
  await locked
  mailing.start()
  const id = await mailing.add()
  await expect.poll(() => mailing.logged.join()).toContain('a mail was not sent')
  expect(mailing.server.received).toEqual([])
  release()
  await lock
  await mailing.retryNow()
  await mailing.becomes(id, 'sent')
})

test('stores no address, subject or text in the clear', async () => {
  await using mailing = await startMailing()
  mailing.start()
  const sent = await mailing.add({ to: 'canary.person@example.org', subject: 'Canary subject' })
  await mailing.becomes(sent, 'sent')
  mailing.server.refuseNext({ at: 'rcpt', code: 550 })
  await mailing.becomes(await mailing.add({ to: 'canary.person@example.org' }), 'dead')
  const { rows } = await mailing.db.query('select m::text as row from mails m')
  const dump = JSON.stringify(rows)
  expect(dump).toContain('note-1')
  const hex = (text: string) => Buffer.from(text).toString('hex')
  for (const secret of ['canary', 'Canary', 'example.org'])
    for (const form of [secret, hex(secret)]) expect(dump).not.toContain(form)
})
