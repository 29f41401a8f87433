import { expect, test } from 'vitest'
import { type MailTestbed, openMailTestbed } from '../test/open-mail-testbed.ts'

/*
 * Caps limit the mails of 24 hours. A mail over the cap of its mailbox is dropped. A mail over a shared cap (`domain`, `all`)
 * waits until the upkeep of a mailer releases it. Mails that no person is known to have requested may use only four fifths of a
 * shared cap, so a cap of 5 lets four of them through. Tests set the clock of the mailers.
 */

/** Caps that no test reaches. Each test lowers those that it needs. */
const HIGH_CAPS = { mailbox: 100, requestedMailbox: 100, domain: 100, all: 100 }

const DAY_MS = 24 * 3600_000
const advance = (testbed: MailTestbed, ms: number) => {
  testbed.clock.now = new Date(testbed.clock.now.getTime() + ms)
}
const readMetrics = ({ registry }: MailTestbed) => registry.metrics()
/** Waits until exactly `count` mails wait for room under a cap. */
const expectWaiting = async (testbed: MailTestbed, count: number) => {
  const countWaiting = async () =>
    (
      await testbed.db.query(
        `select id from mails where state = 'queued' and deferred_by is not null and counted_at is null`,
      )
    ).rowCount
  await expect.poll(countWaiting).toBe(count)
}
/** Returns the local parts of the recipients, in the order in which the server received their mails. */
const listRecipients = (testbed: MailTestbed) => testbed.server.received.map(({ to }) => to[0]?.split('@')[0])

test('drops mails over the cap of a mailbox for a day, whatever the case, plus-tag and Gmail dots of its address', async () => {
  await using testbed = await openMailTestbed()
  const caps = { ...HIGH_CAPS, mailbox: 2 }
  const mailer = testbed.startMailer({ caps, handlers: { note: {}, desk: { isCapped: false } } })
  for (const to of ['ana.b@gmail.com', 'anab+x@gmail.com'])
    await testbed.waitForState(await testbed.addMail({ to }), 'sent')
  const to = 'A.nab+y@GoogleMail.com'
  expect((await testbed.waitForState(await testbed.addMail({ to }), 'dropped'))['mail_sealed']).toBeNull()
  await testbed.waitForState(await testbed.addMail({ to, kind: 'desk' }), 'sent')
  await testbed.waitForState(await testbed.addMail({ to: 'ben@gmail.com' }), 'sent')
  // The mailer increments the metric after it has updated the row.
  await expect
    .poll(() => readMetrics(testbed))
    .toContain('mails_settled_total{kind="note",outcome="dropped",reason="cap-mailbox"} 1')
  advance(testbed, DAY_MS)
  await testbed.waitForState(await testbed.addMail({ to }), 'sent')
  // The hashes of mailboxes are erased 25 hours after their mails were counted.
  advance(testbed, 26 * 3600_000)
  await mailer.runUpkeep()
  const { rows } = await testbed.db.query('select count(mailbox_hash) as hashes from mails')
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
    await using testbed = await openMailTestbed()
    const renewals: unknown[] = []
    const handlers = {
      note: { renew: async (about: string, now: Date) => void renewals.push([about, now]) },
      desk: { isCapped: false },
    }
    const mailer = testbed.startMailer({ caps, handlers })
    for (const address of to.slice(0, 4))
      await testbed.waitForState(await testbed.addMail({ to: address }), 'sent')
    const lastRecipient = { to: to[4] ?? '' }
    const deferredId = await testbed.addMail({ ...lastRecipient, about: 'late' })
    await expectWaiting(testbed, 1)
    expect(await testbed.readRow(deferredId)).toMatchObject({
      attempts: 0,
      deferred_by: cap,
      counted_at: null,
    })
    await testbed.waitForState(await testbed.addMail({ ...lastRecipient, kind: 'desk' }), 'sent')
    if (otherAddress !== undefined)
      await testbed.waitForState(await testbed.addMail({ to: otherAddress }), 'sent')
    const metrics = await readMetrics(testbed)
    expect(metrics).toContain(`mails_deferred{kind="note",cap="${cap}"} 1`)
    expect(metrics).toContain('mails_queued{kind="note"} 0')
    advance(testbed, DAY_MS - 1)
    await mailer.runUpkeep()
    await expectWaiting(testbed, 1)
    advance(testbed, 1)
    await mailer.runUpkeep()
    expect(await testbed.waitForState(deferredId, 'sent')).toMatchObject({ attempts: 1 })
    const date = new Date(testbed.server.received.at(-1)?.parsed.date ?? '')
    expect(Math.abs(date.getTime() - testbed.clock.now.getTime())).toBeLessThan(1_000)
    expect(renewals).toEqual([['late', testbed.clock.now]])
  },
)

test('reserves a fifth of a shared cap for mails that a person requested', async () => {
  await using testbed = await openMailTestbed()
  testbed.startMailer({ caps: { ...HIGH_CAPS, domain: 10 } })
  const ids = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      testbed.addMail({ to: `n${n}@example.org`, requesterNetwork: '192.0.2.1' }),
    ),
  )
  await expectWaiting(testbed, 4)
  await expect.poll(() => testbed.server.received).toHaveLength(8)
  for (const to of ['ana@example.org', 'ben@example.org'])
    await testbed.waitForState(await testbed.addMail({ to, isRequestedByPerson: true }), 'sent')
  await testbed.addMail({ to: 'cleo@example.org', isRequestedByPerson: true })
  await expectWaiting(testbed, 5)
  expect(
    (await Promise.all(ids.map((id) => testbed.readRow(id)))).filter(({ state }) => state === 'sent'),
  ).toHaveLength(8)
})

test('releases mails that a person requested, and mails from networks with few mails, before other mails', async () => {
  await using testbed = await openMailTestbed()
  const mailerWithLowCap = testbed.startMailer({ caps: { ...HIGH_CAPS, domain: 5 } })
  const addFrom = (requesterNetwork: string, name: string, change = {}) =>
    testbed.addMail({ to: `${name}@example.org`, requesterNetwork, ...change })
  for (const n of [1, 2, 3]) await testbed.waitForState(await addFrom('abuser', `sent${n}`), 'sent')
  await testbed.waitForState(await addFrom('some', 'sent4'), 'sent')
  await testbed.waitForState(await addFrom('person', 'sent5', { isRequestedByPerson: true }), 'sent')
  for (const [requesterNetwork, name, change] of [
    ['abuser', 'abuser1', {}],
    ['abuser', 'abuser2', {}],
    ['some', 'some1', {}],
    ['other', 'other1', {}],
    ['another', 'another1', {}],
    ['abuser', 'asked', { isRequestedByPerson: true }],
  ] as const) {
    advance(testbed, 1_000)
    await addFrom(requesterNetwork, name, change)
  }
  await expectWaiting(testbed, 6)
  await mailerWithLowCap[Symbol.asyncDispose]()
  const receivedBefore = testbed.server.received.length
  // Mails that no person is known to have requested may use nine of the twelve.
  await testbed.startMailer({ caps: { ...HIGH_CAPS, domain: 12 } }).runUpkeep()
  await testbed.server.waitForMails(receivedBefore + 4)
  await expectWaiting(testbed, 2)
  const newRecipients = listRecipients(testbed).slice(receivedBefore)
  expect(newRecipients.toSorted()).toEqual(['another1', 'asked', 'other1', 'some1'])
})

test('lets a new mail wait behind a mail that waits under the same cap', async () => {
  await using testbed = await openMailTestbed()
  const mailer = testbed.startMailer({ caps: { ...HIGH_CAPS, domain: 5 } })
  for (const n of [1, 2, 3, 4])
    await testbed.waitForState(await testbed.addMail({ to: `a${n}@example.org` }), 'sent')
  const firstId = await testbed.addMail({ to: 'first@example.org' })
  await expectWaiting(testbed, 1)
  advance(testbed, DAY_MS)
  const secondId = await testbed.addMail({ to: 'second@example.org' })
  await expectWaiting(testbed, 2)
  await mailer.runUpkeep()
  await Promise.all([firstId, secondId].map((id) => testbed.waitForState(id, 'sent')))
  expect(testbed.server.received).toHaveLength(6)
})

test('drops a waiting mail if the cap of its mailbox is used up when there is room under the shared cap', async () => {
  await using testbed = await openMailTestbed()
  const mailer = testbed.startMailer({ caps: { ...HIGH_CAPS, domain: 5, mailbox: 2 } })
  for (const n of [1, 2, 3, 4])
    await testbed.waitForState(await testbed.addMail({ to: `a${n}@example.org` }), 'sent')
  const ids = []
  for (const requesterNetwork of ['1', '2', '3']) {
    advance(testbed, 1_000)
    ids.push(await testbed.addMail({ requesterNetwork }))
    await expectWaiting(testbed, ids.length)
  }
  advance(testbed, DAY_MS)
  await mailer.runUpkeep()
  const [, , thirdId = ''] = ids
  await testbed.waitForState(thirdId, 'dropped')
  for (const id of ids.slice(0, 2)) await testbed.waitForState(id, 'sent')
  expect(listRecipients(testbed).filter((name) => name === 'ana')).toHaveLength(2)
})

test('defers unwanted mails like wanted mails, but does not count them', async () => {
  await using testbed = await openMailTestbed()
  const isWanted = async (about: string) => about === 'wanted'
  const mailer = testbed.startMailer({
    caps: { ...HIGH_CAPS, domain: 2 },
    handlers: { note: { isWanted } },
  })
  const add = (about: string) => testbed.addMail({ to: `${about}@example.org`, about })
  await testbed.waitForState(await add('unwanted'), 'dropped')
  await testbed.waitForState(await add('wanted'), 'sent')
  const ids = [await add('unwanted')]
  advance(testbed, 1_000)
  ids.push(await add('wanted'))
  await expectWaiting(testbed, 2)
  advance(testbed, DAY_MS)
  const [unwantedId = '', wantedId = ''] = ids
  await mailer.runUpkeep()
  expect(await testbed.waitForState(unwantedId, 'dropped')).toMatchObject({ counted_at: null })
  await mailer.runUpkeep()
  await testbed.waitForState(wantedId, 'sent')
})

test.for([
  { limit: 'two days', maxWaitMs: undefined, waitMs: 2 * DAY_MS },
  { limit: 'the maximum wait of its kind', maxWaitMs: 3600_000, waitMs: 3600_000 },
])(
  'gives up a mail that waits for room after $limit, and logs that unless it is unwanted',
  async ({ maxWaitMs, waitMs }) => {
    await using testbed = await openMailTestbed()
    const caps = { ...HIGH_CAPS, domain: 1 }
    let isWanted = true
    const mailer = testbed.startMailer({
      caps,
      handlers: { note: { isWanted: async () => isWanted, ...(maxWaitMs !== undefined && { maxWaitMs }) } },
    })
    await testbed.waitForState(await testbed.addMail(), 'sent')
    const givenUpId = await testbed.addMail()
    const unwantedId = await testbed.addMail()
    await expectWaiting(testbed, 2)
    // The cap stays used up.
    await testbed.db.query(`update mails set counted_at = $1, settled_at = $1 where state = 'sent'`, [
      new Date(testbed.clock.now.getTime() + waitMs),
    ])
    advance(testbed, waitMs - 1)
    await mailer.runUpkeep()
    await expectWaiting(testbed, 2)
    await testbed.db.query(`update mails set overdue_at = overdue_at + interval '1 second' where id = $1`, [
      unwantedId,
    ])
    advance(testbed, 1)
    await Promise.all([mailer.runUpkeep(), mailer.runUpkeep()])
    expect(await testbed.readRow(givenUpId)).toMatchObject({ state: 'dropped', mail_sealed: null })
    expect(await readMetrics(testbed)).toContain(
      'mails_settled_total{kind="note",outcome="dropped",reason="waited"} 1',
    )
    const findReports = () => testbed.logLines.filter((line) => line.includes('found no room'))
    expect(findReports()).toEqual([expect.stringContaining(givenUpId)])
    isWanted = false
    advance(testbed, 1_000)
    await mailer.runUpkeep()
    expect(await testbed.readRow(unwantedId)).toMatchObject({ state: 'dropped' })
    expect(findReports()).toHaveLength(1)
  },
)

test.for([
  { bound: 'of one kind from one network', networks: ['a'], waitingCount: 4, otherNetwork: 'b' },
  {
    bound: 'in all, except mails that people requested',
    networks: ['a', 'b', 'c', 'd'],
    // Four fifths of the bound of ten. The rest is reserved for mails that people requested.
    waitingCount: 8,
    otherNetwork: undefined,
  },
])(
  'refuses another mail, and stores nothing, if the maximum number of mails $bound already wait',
  async ({ networks, waitingCount, otherNetwork }) => {
    await using testbed = await openMailTestbed()
    testbed.startMailer({ caps: { ...HIGH_CAPS, domain: 1 }, handlers: { note: {}, ask: {} } })
    await testbed.waitForState(await testbed.addMail({ requesterNetwork: 'z' }), 'sent')
    for (let n = 0; n < waitingCount; n += 1) {
      await testbed.addMail({
        requesterNetwork: networks[n % networks.length] ?? '',
        to: `n${n}@example.org`,
      })
      await expectWaiting(testbed, n + 1)
    }
    const [requesterNetwork = ''] = networks
    const countBefore = await testbed.db.query('select count(*) as mails from mails')
    await expect(testbed.addMail({ requesterNetwork })).rejects.toMatchObject({
      code: 'rate-limited',
      options: { headers: { 'retry-after': '600' }, extensions: { policy: 'mails-waiting' } },
    })
    expect((await testbed.db.query('select count(*) as mails from mails')).rows).toEqual(countBefore.rows)
    if (otherNetwork !== undefined) await testbed.addMail({ requesterNetwork: otherNetwork })
    // There is room for a mail of another kind that a person requested. A mail without a network has no bound.
    await testbed.addMail({ requesterNetwork, kind: 'ask', isRequestedByPerson: true })
    await testbed.addMail({ kind: 'ask' })
  },
)

test('stores a network as a keyed hash, and erases it a day and an hour after the mail is settled', async () => {
  await using testbed = await openMailTestbed()
  const mailer = testbed.startMailer({ caps: { ...HIGH_CAPS, domain: 1 } })
  const sentId = await testbed.addMail({ requesterNetwork: '192.0.2.77' })
  await testbed.waitForState(sentId, 'sent')
  const droppedId = await testbed.addMail({ requesterNetwork: '192.0.2.77' })
  await expectWaiting(testbed, 1)
  const { rows } = await testbed.db.query('select m::text as row from mails m')
  // The hex digits are the address, as PostgreSQL would print it from a `bytea` column.
  expect(JSON.stringify(rows)).not.toMatch(/192\.0\.2\.77|3139322e302e322e3737/)
  await testbed.db.query(`update mails set overdue_at = $1 where id = $2`, [testbed.clock.now, droppedId])
  await mailer.runUpkeep()
  const countHashes = async () =>
    (
      await testbed.db.query(
        'select count(sender_hash) as networks, count(domain_hash) as domains from mails',
      )
    ).rows
  advance(testbed, 25 * 3600_000 - 1)
  await mailer.runUpkeep()
  expect(await countHashes()).toEqual([{ networks: 2, domains: 2 }])
  advance(testbed, 1)
  await mailer.runUpkeep()
  expect(await countHashes()).toEqual([{ networks: 0, domains: 0 }])
})

test('two mailers together never exceed a mailbox cap of five', async () => {
  await using testbed = await openMailTestbed()
  const ids = await Promise.all(Array.from({ length: 8 }, () => testbed.addMail()))
  const caps = { ...HIGH_CAPS, mailbox: 5 }
  testbed.startMailer({ caps })
  testbed.startMailer({ caps })
  await expect
    .poll(
      async () =>
        (await Promise.all(ids.map((id) => testbed.readRow(id)))).filter((row) => row['state'] === 'queued'),
      { timeout: 15_000 },
    )
    .toEqual([])
  expect(testbed.server.received).toHaveLength(5)
})

test('does not send an uncounted mail while mails cannot be counted', async () => {
  await using testbed = await openMailTestbed()
  const { promise: releaseSignal, resolve: release } = Promise.withResolvers<void>()
  const { promise: lockTaken, resolve: reportLock } = Promise.withResolvers<void>()
  // `countMail` needs this lock, and fails when `lock_timeout` has passed.
  const locking = testbed.db.transaction(async (tx) => {
    await tx.query(`select pg_advisory_xact_lock(hashtextextended('plainpath mail caps', 0))`)
    reportLock()
    await releaseSignal
  })
  await lockTaken
  testbed.startMailer()
  const id = await testbed.addMail()
  await expect.poll(() => testbed.logLines.join()).toContain('a mail could not be sent')
  expect(testbed.server.received).toEqual([])
  release()
  await locking
  await testbed.retryNow()
  await testbed.waitForState(id, 'sent')
})

test('stores no address, subject or text in plaintext', async () => {
  await using testbed = await openMailTestbed()
  testbed.startMailer()
  const sentId = await testbed.addMail({ to: 'canary.person@example.org', subject: 'Canary subject' })
  await testbed.waitForState(sentId, 'sent')
  testbed.server.refuseNext({ at: 'rcpt', code: 550 })
  await testbed.waitForState(await testbed.addMail({ to: 'canary.person@example.org' }), 'dead')
  const { rows } = await testbed.db.query('select m::text as row from mails m')
  const dump = JSON.stringify(rows)
  expect(dump).toContain('note-1')
  const toHex = (text: string) => Buffer.from(text).toString('hex')
  for (const secret of ['canary', 'Canary', 'example.org'])
    for (const form of [secret, toHex(secret)]) expect(dump).not.toContain(form)
})
