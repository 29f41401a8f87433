import { expect, test } from 'vitest'
import { type Mailing, startMailing } from '../test/start-mailing.ts'

const HIGH_CAPS = { mailbox: 100, domain: 100, all: 100 }

const DAY_MS = 24 * 3600_000
const advance = (mailing: Mailing, ms: number) => {
  mailing.clock.now = new Date(mailing.clock.now.getTime() + ms)
}
const readMetrics = ({ registry }: Mailing) => registry.metrics()
/** Expects that within 10 s, `count` mails wait for room. */
const expectWaiting = async (mailing: Mailing, count: number) => {
  const countWaiting = async () =>
    (
      await mailing.db.query(
        `select id from mails where state = 'queued' and deferred_by is not null and counted_at is null`,
      )
    ).rowCount
  await expect.poll(countWaiting).toBe(count)
}
/** Returns the local parts of the addressees, in the order in which the server received their mails. */
const listAddressees = (mailing: Mailing) => mailing.server.received.map(({ to }) => to[0]?.split('@')[0])

test('drops mails over the cap of a mailbox for a day, whatever the case, plus-tag and Gmail dots of its address', async () => {
  await using mailing = await startMailing()
  const caps = { ...HIGH_CAPS, mailbox: 2 }
  const mailer = mailing.startMailer({ caps, handlers: { note: {}, desk: { isCapped: false } } })
  for (const to of ['ana.b@gmail.com', 'anab+x@gmail.com'])
    await mailing.waitForState(await mailing.addMail({ to }), 'sent')
  const to = 'A.nab+y@GoogleMail.com'
  expect((await mailing.waitForState(await mailing.addMail({ to }), 'dropped'))['mail_sealed']).toBeNull()
  await mailing.waitForState(await mailing.addMail({ to, kind: 'desk' }), 'sent')
  await mailing.waitForState(await mailing.addMail({ to: 'ben@gmail.com' }), 'sent')
  expect(await readMetrics(mailing)).toContain(
    'mails_settled_total{kind="note",outcome="dropped",reason="cap-mailbox"} 1',
  )
  advance(mailing, DAY_MS)
  await mailing.waitForState(await mailing.addMail({ to }), 'sent')
  advance(mailing, 26 * 3600_000)
  await mailer.runUpkeep()
  const { rows } = await mailing.db.query('select count(mailbox_hash) as hashes from mails')
  expect(rows).toEqual([{ hashes: 0 }])
})

test.for([
  {
    cap: 'domain',
    caps: { ...HIGH_CAPS, domain: 5 },
    to: ['a@example.org', 'b@EXAMPLE.org', 'c@example.org', 'd@example.org', 'e@example.org'],
    otherAddress: 'a@example.net',
  },
  {
    cap: 'all',
    caps: { ...HIGH_CAPS, all: 5 },
    to: ['a@example.org', 'b@example.net', 'c@example.com', 'd@example.edu', 'e@example.info'],
    otherAddress: undefined,
  },
])(
  'defers a mail over the cap `$cap` without counting an attempt, and sends it when there is room',
  async (row) => {
    const { cap, caps, to, otherAddress } = row
    await using mailing = await startMailing()
    const renewals: unknown[] = []
    const handlers = {
      note: { renew: async (about: string, now: Date) => void renewals.push([about, now]) },
      desk: { isCapped: false },
    }
    const mailer = mailing.startMailer({ caps, handlers })
    for (const address of to.slice(0, 4))
      await mailing.waitForState(await mailing.addMail({ to: address }), 'sent')
    const lastAddressee = { to: to[4] ?? '' }
    const deferredId = await mailing.addMail({ ...lastAddressee, about: 'late' })
    await expectWaiting(mailing, 1)
    expect(await mailing.readRow(deferredId)).toMatchObject({
      attempts: 0,
      deferred_by: cap,
      counted_at: null,
    })
    await mailing.waitForState(await mailing.addMail({ ...lastAddressee, kind: 'desk' }), 'sent')
    if (otherAddress !== undefined)
      await mailing.waitForState(await mailing.addMail({ to: otherAddress }), 'sent')
    const metrics = await readMetrics(mailing)
    expect(metrics).toContain(`mails_deferred{kind="note",cap="${cap}"} 1`)
    expect(metrics).toContain('mails_queued{kind="note"} 0')
    advance(mailing, DAY_MS - 1)
    await mailer.runUpkeep()
    await expectWaiting(mailing, 1)
    advance(mailing, 1)
    await mailer.runUpkeep()
    expect(await mailing.waitForState(deferredId, 'sent')).toMatchObject({ attempts: 1 })
    const date = new Date(mailing.server.received.at(-1)?.parsed.date ?? '')
    expect(Math.abs(date.getTime() - mailing.clock.now.getTime())).toBeLessThan(1_000)
    expect(renewals).toEqual([['late', mailing.clock.now]])
  },
)

test('reserves a fifth of a shared cap for mails that a person requested', async () => {
  await using mailing = await startMailing()
  mailing.startMailer({ caps: { ...HIGH_CAPS, domain: 10 } })
  const ids = await Promise.all(
    Array.from({ length: 12 }, (_, n) => mailing.addMail({ to: `n${n}@example.org`, sender: '192.0.2.1' })),
  )
  await expectWaiting(mailing, 4)
  await expect.poll(() => mailing.server.received).toHaveLength(8)
  for (const to of ['ana@example.org', 'ben@example.org'])
    await mailing.waitForState(await mailing.addMail({ to, isRequestedByPerson: true }), 'sent')
  await mailing.addMail({ to: 'cleo@example.org', isRequestedByPerson: true })
  await expectWaiting(mailing, 5)
  expect(
    (await Promise.all(ids.map((id) => mailing.readRow(id)))).filter(({ state }) => state === 'sent'),
  ).toHaveLength(8)
})

test('releases mails that a person requested, and mails of senders with few mails, before other mails', async () => {
  await using mailing = await startMailing()
  const mailerWithLowCap = mailing.startMailer({ caps: { ...HIGH_CAPS, domain: 5 } })
  const addFrom = (sender: string, name: string, change = {}) =>
    mailing.addMail({ to: `${name}@example.org`, sender, ...change })
  for (const n of [1, 2, 3]) await mailing.waitForState(await addFrom('abuser', `sent${n}`), 'sent')
  await mailing.waitForState(await addFrom('some', 'sent4'), 'sent')
  await mailing.waitForState(await addFrom('person', 'sent5', { isRequestedByPerson: true }), 'sent')
  for (const [sender, name, change] of [
    ['abuser', 'abuser1', {}],
    ['abuser', 'abuser2', {}],
    ['some', 'some1', {}],
    ['other', 'other1', {}],
    ['another', 'another1', {}],
    ['abuser', 'asked', { isRequestedByPerson: true }],
  ] as const) {
    advance(mailing, 1_000)
    await addFrom(sender, name, change)
  }
  await expectWaiting(mailing, 6)
  await mailerWithLowCap[Symbol.asyncDispose]()
  const receivedBefore = mailing.server.received.length
  // Mails that no person is known to have requested may use nine of the twelve.
  await mailing.startMailer({ caps: { ...HIGH_CAPS, domain: 12 } }).runUpkeep()
  await mailing.server.waitForMails(receivedBefore + 4)
  await expectWaiting(mailing, 2)
  const newAddressees = listAddressees(mailing).slice(receivedBefore)
  expect(newAddressees.toSorted()).toEqual(['another1', 'asked', 'other1', 'some1'])
})

test('lets a new mail wait behind a mail that waits under the same cap', async () => {
  await using mailing = await startMailing()
  const mailer = mailing.startMailer({ caps: { ...HIGH_CAPS, domain: 5 } })
  for (const n of [1, 2, 3, 4])
    await mailing.waitForState(await mailing.addMail({ to: `a${n}@example.org` }), 'sent')
  const firstId = await mailing.addMail({ to: 'first@example.org' })
  await expectWaiting(mailing, 1)
  advance(mailing, DAY_MS)
  const secondId = await mailing.addMail({ to: 'second@example.org' })
  await expectWaiting(mailing, 2)
  await mailer.runUpkeep()
  await Promise.all([firstId, secondId].map((id) => mailing.waitForState(id, 'sent')))
  expect(mailing.server.received).toHaveLength(6)
})

test('drops a waiting mail if the cap of its mailbox is used up when there is room under the shared cap', async () => {
  await using mailing = await startMailing()
  const mailer = mailing.startMailer({ caps: { ...HIGH_CAPS, domain: 5, mailbox: 2 } })
  for (const n of [1, 2, 3, 4])
    await mailing.waitForState(await mailing.addMail({ to: `a${n}@example.org` }), 'sent')
  const ids = []
  for (const sender of ['1', '2', '3']) {
    advance(mailing, 1_000)
    ids.push(await mailing.addMail({ sender }))
    await expectWaiting(mailing, ids.length)
  }
  advance(mailing, DAY_MS)
  await mailer.runUpkeep()
  const [, , thirdId = ''] = ids
  await mailing.waitForState(thirdId, 'dropped')
  for (const id of ids.slice(0, 2)) await mailing.waitForState(id, 'sent')
  expect(listAddressees(mailing).filter((name) => name === 'ana')).toHaveLength(2)
})

test('counts a released mail again if it is not delivered within a day, instead of giving it up', async () => {
  await using mailing = await startMailing()
  const mailer = mailing.startMailer({ caps: { ...HIGH_CAPS, domain: 1 } })
  await mailing.waitForState(await mailing.addMail(), 'sent')
  const deferredId = await mailing.addMail()
  await expectWaiting(mailing, 1)
  advance(mailing, DAY_MS)
  mailing.server.refuseNext({ at: 'data', code: 451 })
  await mailer.runUpkeep()
  await expect
    .poll(() => mailing.readRow(deferredId))
    .toMatchObject({
      attempts: 1,
      leased_until: null,
    })
  await mailing.db.query(`update mails set overdue_at = $1 where id = $2`, [
    new Date(mailing.clock.now.getTime() + 27 * 3600_000),
    deferredId,
  ])
  advance(mailing, 26 * 3600_000)
  await mailer.runUpkeep()
  advance(mailing, 3600_000)
  await mailer.runUpkeep()
  await mailing.waitForState(deferredId, 'sent')
})

test('defers unwanted mails like wanted mails, but does not count them', async () => {
  await using mailing = await startMailing()
  const isWanted = async (about: string) => about === 'wanted'
  const mailer = mailing.startMailer({
    caps: { ...HIGH_CAPS, domain: 2 },
    handlers: { note: { isWanted } },
  })
  const add = (about: string) => mailing.addMail({ to: `${about}@example.org`, about })
  await mailing.waitForState(await add('unwanted'), 'dropped')
  await mailing.waitForState(await add('wanted'), 'sent')
  const ids = [await add('unwanted')]
  advance(mailing, 1_000)
  ids.push(await add('wanted'))
  await expectWaiting(mailing, 2)
  advance(mailing, DAY_MS)
  const [unwantedId = '', wantedId = ''] = ids
  await mailer.runUpkeep()
  expect(await mailing.waitForState(unwantedId, 'dropped')).toMatchObject({ counted_at: null })
  await mailer.runUpkeep()
  await mailing.waitForState(wantedId, 'sent')
})

test.for([
  { limit: 'two days', maxWaitMs: undefined, waitMs: 2 * DAY_MS },
  { limit: 'the maximum wait of its kind', maxWaitMs: 3600_000, waitMs: 3600_000 },
])(
  'gives up a mail that waits for room after $limit, and logs that unless it is unwanted',
  async ({ maxWaitMs, waitMs }) => {
    await using mailing = await startMailing()
    const caps = { ...HIGH_CAPS, domain: 1 }
    let isWanted = true
    const mailer = mailing.startMailer({
      caps,
      handlers: { note: { isWanted: async () => isWanted, ...(maxWaitMs !== undefined && { maxWaitMs }) } },
    })
    await mailing.waitForState(await mailing.addMail(), 'sent')
    const givenUpId = await mailing.addMail()
    const unwantedId = await mailing.addMail()
    await expectWaiting(mailing, 2)
    // The cap stays used up.
    await mailing.db.query(`update mails set counted_at = $1, settled_at = $1 where state = 'sent'`, [
      new Date(mailing.clock.now.getTime() + waitMs),
    ])
    advance(mailing, waitMs - 1)
    await mailer.runUpkeep()
    await expectWaiting(mailing, 2)
    await mailing.db.query(`update mails set overdue_at = overdue_at + interval '1 second' where id = $1`, [
      unwantedId,
    ])
    advance(mailing, 1)
    await Promise.all([mailer.runUpkeep(), mailer.runUpkeep()])
    expect(await mailing.readRow(givenUpId)).toMatchObject({ state: 'dropped', mail_sealed: null })
    expect(await readMetrics(mailing)).toContain(
      'mails_settled_total{kind="note",outcome="dropped",reason="waited"} 1',
    )
    const findReports = () => mailing.logLines.filter((line) => line.includes('found no room'))
    expect(findReports()).toEqual([expect.stringContaining(givenUpId)])
    isWanted = false
    advance(mailing, 1_000)
    await mailer.runUpkeep()
    expect(await mailing.readRow(unwantedId)).toMatchObject({ state: 'dropped' })
    expect(findReports()).toHaveLength(1)
  },
)

test.for([
  { bound: 'of one kind from one network', senders: ['a'], waitingCount: 4, otherSender: 'b' },
  {
    bound: 'in all, except mails that people requested',
    senders: ['a', 'b', 'c', 'd'],
    // Four fifths of the bound of ten. The rest is reserved for mails that people requested.
    waitingCount: 8,
    otherSender: undefined,
  },
])(
  'refuses another mail, and stores nothing, if the maximum number of mails $bound already wait',
  async ({ senders, waitingCount, otherSender }) => {
    await using mailing = await startMailing()
    mailing.startMailer({ caps: { ...HIGH_CAPS, domain: 1 }, handlers: { note: {}, ask: {} } })
    await mailing.waitForState(await mailing.addMail({ sender: 'z' }), 'sent')
    for (let n = 0; n < waitingCount; n += 1) {
      await mailing.addMail({ sender: senders[n % senders.length] ?? '', to: `n${n}@example.org` })
      await expectWaiting(mailing, n + 1)
    }
    const [sender = ''] = senders
    const countBefore = await mailing.db.query('select count(*) as mails from mails')
    await expect(mailing.addMail({ sender })).rejects.toMatchObject({
      code: 'rate-limited',
      options: { headers: { 'retry-after': '600' }, extensions: { policy: 'mails-waiting' } },
    })
    expect((await mailing.db.query('select count(*) as mails from mails')).rows).toEqual(countBefore.rows)
    if (otherSender !== undefined) await mailing.addMail({ sender: otherSender })
    await mailing.addMail({ sender, kind: 'ask', isRequestedByPerson: true })
    await mailing.addMail({ kind: 'ask' })
  },
)

test('stores a network as a keyed hash, and erases it a day and an hour after the mail is settled', async () => {
  await using mailing = await startMailing()
  const mailer = mailing.startMailer({ caps: { ...HIGH_CAPS, domain: 1 } })
  const sentId = await mailing.addMail({ sender: '192.0.2.77' })
  await mailing.waitForState(sentId, 'sent')
  const droppedId = await mailing.addMail({ sender: '192.0.2.77' })
  await expectWaiting(mailing, 1)
  const { rows } = await mailing.db.query('select m::text as row from mails m')
  // The hex digits are the address, as PostgreSQL would print it from a `bytea` column.
  expect(JSON.stringify(rows)).not.toMatch(/192\.0\.2\.77|3139322e302e322e3737/)
  await mailing.db.query(`update mails set overdue_at = $1 where id = $2`, [mailing.clock.now, droppedId])
  await mailer.runUpkeep()
  const countHashes = async () =>
    (await mailing.db.query('select count(sender_hash) as senders, count(domain_hash) as domains from mails'))
      .rows
  advance(mailing, 25 * 3600_000 - 1)
  await mailer.runUpkeep()
  expect(await countHashes()).toEqual([{ senders: 2, domains: 2 }])
  advance(mailing, 1)
  await mailer.runUpkeep()
  expect(await countHashes()).toEqual([{ senders: 0, domains: 0 }])
})

test('never exceeds a mailbox cap of five with two mailers', async () => {
  await using mailing = await startMailing()
  const ids = await Promise.all(Array.from({ length: 8 }, () => mailing.addMail()))
  const caps = { ...HIGH_CAPS, mailbox: 5 }
  mailing.startMailer({ caps })
  mailing.startMailer({ caps })
  await expect
    .poll(
      async () =>
        (await Promise.all(ids.map((id) => mailing.readRow(id)))).filter((row) => row['state'] === 'queued'),
      { timeout: 15_000 },
    )
    .toEqual([])
  expect(mailing.server.received).toHaveLength(5)
})

test('sends nothing while mails cannot be counted', async () => {
  await using mailing = await startMailing()
  const { promise: releaseSignal, resolve: release } = Promise.withResolvers<void>()
  const { promise: lockTaken, resolve: reportLock } = Promise.withResolvers<void>()
  const locking = mailing.db.transaction(async (tx) => {
    await tx.query(`select pg_advisory_xact_lock(hashtextextended('plainpath mail caps', 0))`)
    reportLock()
    await releaseSignal
  })
  await lockTaken
  mailing.startMailer()
  const id = await mailing.addMail()
  await expect.poll(() => mailing.logLines.join()).toContain('a mail could not be sent')
  expect(mailing.server.received).toEqual([])
  release()
  await locking
  await mailing.retryNow()
  await mailing.waitForState(id, 'sent')
})

test('stores no address, subject or text in clear', async () => {
  await using mailing = await startMailing()
  mailing.startMailer()
  const sentId = await mailing.addMail({ to: 'canary.person@example.org', subject: 'Canary subject' })
  await mailing.waitForState(sentId, 'sent')
  mailing.server.refuseNext({ at: 'rcpt', code: 550 })
  await mailing.waitForState(await mailing.addMail({ to: 'canary.person@example.org' }), 'dead')
  const { rows } = await mailing.db.query('select m::text as row from mails m')
  const dump = JSON.stringify(rows)
  expect(dump).toContain('note-1')
  const toHex = (text: string) => Buffer.from(text).toString('hex')
  for (const secret of ['canary', 'Canary', 'example.org'])
    for (const form of [secret, toHex(secret)]) expect(dump).not.toContain(form)
})
