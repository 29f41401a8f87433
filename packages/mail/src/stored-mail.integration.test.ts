import { DAY_MS, HOUR_MS } from '@plainpath/domain'
import { expect, test } from 'vitest'
import { type MailTestbed, openMailTestbed } from '../test/open-mail-testbed.ts'
import {
  eraseMails,
  type LeasedMail,
  leaseNextMail,
  readDeliveryState,
  returnMail,
  settleMail,
} from './stored-mail.ts'

test('erases the contents of queued and dead mails about one subject, but of no mail about another', async () => {
  await using testbed = await openMailTestbed()
  const ids = [await testbed.addMail(), await testbed.addMail({ to: 'ben@example.org' })]
  testbed.server.refuseNext({ at: 'rcpt', code: 550 })
  await using mailer = testbed.startMailer()
  const readRows = () => Promise.all(ids.map((id) => testbed.readRow(id)))
  await expect
    .poll(async () => (await readRows()).map((row) => row['state']).toSorted())
    .toEqual(['dead', 'sent'])
  await mailer[Symbol.asyncDispose]()
  const [queuedId, otherId] = [await testbed.addMail(), await testbed.addMail({ about: 'note-2' })]
  await testbed.db.transaction((tx) => eraseMails(tx, ['note-1'], testbed.clock.now))
  expect(await testbed.readRow(queuedId)).toMatchObject({ state: 'dropped', mail_sealed: null })
  expect((await readRows()).map((row) => [row['state'], row['mail_sealed']]).toSorted()).toEqual([
    ['dead', null],
    ['sent', null],
  ])
  expect(await testbed.readRow(otherId)).toMatchObject({ state: 'queued', mail_sealed: expect.any(Buffer) })
})

test('does not send a mail before it is due, and reports its age as 0 until then', async () => {
  await using testbed = await openMailTestbed()
  const dueAt = new Date(testbed.clock.now.getTime() + 600_000)
  const laterId = await testbed.addMail({}, dueAt)
  await using _mailer = testbed.startMailer()
  const readAge = async () => {
    const metrics = await testbed.registry.metrics()
    return Number(/^mails_oldest_queued_seconds\{kind="note"\} (\S+)$/m.exec(metrics)?.[1])
  }
  testbed.clock.now = new Date(dueAt.getTime() - 1)
  // Once this mail has been sent, the mailer has searched for due mails and has not found the later mail.
  await testbed.waitForState(await testbed.addMail({ to: 'ben@example.org' }), 'sent')
  expect(await testbed.readRow(laterId)).toMatchObject({ state: 'queued', attempts: 0 })
  expect(await readAge()).toBe(0)
  testbed.clock.now = dueAt
  await testbed.waitForState(laterId, 'sent')
})

test('a delivery is in progress for as long as the longest takes, even if the clocks of both machines are 30 s off', async () => {
  await using testbed = await openMailTestbed()
  const { db, clock } = testbed
  await testbed.addMail()
  const startedAt = clock.now.getTime()
  expect(await leaseNextMail(db, 'plainpath.example', new Date(startedAt))).toBeDefined()
  const readStateAfter = (ms: number) =>
    db.transaction((tx) => readDeliveryState(tx, { kind: 'note', about: 'note-1' }, new Date(startedAt + ms)))
  // A delivery takes at most 60 s. The clock of the mailer is 30 s behind, and that of the caller is 30 s ahead.
  expect(await readStateAfter(60_000 + 2 * 30_000)).toBe('in-progress')
})

test('a delivery is in progress during the lease of a mail, and no mailer can lease the mail until the transaction that read that ends', async () => {
  await using testbed = await openMailTestbed()
  const { db, clock } = testbed
  const mail = { kind: 'note', about: 'note-1' }
  const lease = () => leaseNextMail(db, 'plainpath.example', clock.now)
  await testbed.addMail()
  await db.transaction(async (tx) => {
    expect(await readDeliveryState(tx, mail, clock.now)).toBe('not-attempted')
    expect(await lease()).toBeUndefined()
  })
  expect(await lease()).toMatchObject(mail)
  expect(await db.transaction((tx) => readDeliveryState(tx, mail, clock.now))).toBe('in-progress')
  // The lease of 80 s ends, and the tolerance of 60 s after it.
  clock.now = new Date(clock.now.getTime() + 140_000)
  expect(await db.transaction((tx) => readDeliveryState(tx, mail, clock.now))).toBe('attempted')
})

test.for([
  {
    end: 'the next attempt is scheduled',
    finish: async ({ db, clock }: MailTestbed, mail: LeasedMail) => returnMail(db, mail, clock.now),
  },
  {
    end: 'the mail is given up',
    finish: async ({ db, clock }: MailTestbed, { id }: LeasedMail) => settleMail(db, id, 'dead', clock.now),
  },
  {
    end: 'the row of the mail is deleted',
    finish: async ({ db }: MailTestbed, { id }: LeasedMail) =>
      db.query('delete from mails where id = $1', [id]),
  },
])('a mail counts as attempted once $end, and a mail about another subject does not', async ({ finish }) => {
  await using testbed = await openMailTestbed()
  const { db, clock } = testbed
  await testbed.addMail()
  const leasedMail = await leaseNextMail(db, 'plainpath.example', clock.now)
  if (!leasedMail) throw new Error('no mail was due')
  await testbed.addMail({ about: 'note-2' })
  await finish(testbed, leasedMail)
  const readStates = async () =>
    db.transaction(async (tx) => [
      await readDeliveryState(tx, { kind: 'note', about: 'note-1' }, clock.now),
      await readDeliveryState(tx, { kind: 'note', about: 'note-2' }, clock.now),
    ])
  expect(await readStates()).toEqual(['attempted', 'not-attempted'])
})

/*
 * A mail that has waited under a cap is released a day later. Its first attempt fails, and no mailer makes another one until its
 * hashes are erased, 25 hours after it was counted. The tests advance the clock instead of waiting.
 */
test.for([
  { isCapUsedUp: false, outcome: 'sent' },
  { isCapUsedUp: true, outcome: 'dropped' },
])(
  'counts a released mail again if it is not delivered within a day: cap used up again: $isCapUsedUp, the mail is $outcome',
  async ({ isCapUsedUp, outcome }) => {
    await using testbed = await openMailTestbed()
    const { db, clock } = testbed
    const advance = (ms: number) => {
      clock.now = new Date(clock.now.getTime() + ms)
    }
    const renewals: Date[] = []
    const renew = async (_about: string, now: Date) => void renewals.push(now)
    const caps = { mailbox: 100, requestedMailbox: 100, domain: 1, all: 100 }
    const mailer = testbed.startMailer({ caps, handlers: { note: { renew } } })
    await testbed.waitForState(await testbed.addMail(), 'sent')
    const id = await testbed.addMail()
    const readRow = () => testbed.readRow(id)
    const waiting = { state: 'queued', deferred_by: 'domain', counted_at: null }
    await expect.poll(readRow).toMatchObject(waiting)
    advance(DAY_MS)
    testbed.server.refuseNext({ at: 'data', code: 451 })
    await mailer.runUpkeep()
    await expect.poll(readRow).toMatchObject({ attempts: 1, leased_until: null })
    await db.query(`update mails set overdue_at = $1 where id = $2`, [
      new Date(clock.now.getTime() + 27 * HOUR_MS),
      id,
    ])
    advance(27 * HOUR_MS - 1)
    await mailer.runUpkeep()
    expect(await readRow()).toMatchObject({ state: 'queued', mailbox_hash: null, domain_hash: null })
    if (isCapUsedUp) await testbed.waitForState(await testbed.addMail(), 'sent')
    advance(1)
    if (isCapUsedUp) {
      await expect.poll(readRow).toMatchObject(waiting)
      // It has waited for more than two days since it was added, so it is given up.
      await mailer.runUpkeep()
    }
    const row = await testbed.waitForState(id, outcome)
    if (isCapUsedUp) return
    expect(row).toMatchObject({ counted_at: clock.now })
    // Its links and its date count from now.
    expect(renewals.at(-1)).toEqual(clock.now)
    const date = new Date(testbed.server.received.at(-1)?.parsed.date ?? '')
    expect(Math.abs(date.getTime() - clock.now.getTime())).toBeLessThan(1_000)
  },
)
