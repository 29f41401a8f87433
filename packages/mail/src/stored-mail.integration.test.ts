import { expect, test } from 'vitest'
import { startMailing } from '../test/start-mailing.ts'
import { eraseMails, isBeingSent, leaseNextMail } from './stored-mail.ts'

test('erases the contents of queued and dead mails about one subject, but of no mail about another', async () => {
  await using mailing = await startMailing()
  const ids = [await mailing.addMail(), await mailing.addMail({ to: 'ben@example.org' })]
  mailing.server.refuseNext({ at: 'rcpt', code: 550 })
  await using mailer = mailing.startMailer()
  const readRows = () => Promise.all(ids.map((id) => mailing.readRow(id)))
  await expect
    .poll(async () => (await readRows()).map((row) => row['state']).toSorted())
    .toEqual(['dead', 'sent'])
  await mailer[Symbol.asyncDispose]()
  const [queuedId, otherId] = [await mailing.addMail(), await mailing.addMail({ about: 'note-2' })]
  await mailing.db.transaction((tx) => eraseMails(tx, 'note-1', mailing.clock.now))
  expect(await mailing.readRow(queuedId)).toMatchObject({ state: 'dropped', mail_sealed: null })
  expect((await readRows()).map((row) => [row['state'], row['mail_sealed']]).toSorted()).toEqual([
    ['dead', null],
    ['sent', null],
  ])
  expect(await mailing.readRow(otherId)).toMatchObject({ state: 'queued', mail_sealed: expect.any(Buffer) })
})

test('does not send a mail before it is due, and reports its age as 0 until then', async () => {
  await using mailing = await startMailing()
  const dueAt = new Date(mailing.clock.now.getTime() + 600_000)
  const laterId = await mailing.addMail({}, dueAt)
  await using _mailer = mailing.startMailer()
  const readAge = async () => {
    const metrics = await mailing.registry.metrics()
    return Number(/^mails_oldest_queued_seconds\{kind="note"\} (\S+)$/m.exec(metrics)?.[1])
  }
  mailing.clock.now = new Date(dueAt.getTime() - 1)
  // Once this mail has been sent, the mailer has searched for due mails and has not found the later mail.
  await mailing.waitForState(await mailing.addMail({ to: 'ben@example.org' }), 'sent')
  expect(await mailing.readRow(laterId)).toMatchObject({ state: 'queued', attempts: 0 })
  expect(await readAge()).toBe(0)
  mailing.clock.now = dueAt
  await mailing.waitForState(laterId, 'sent')
})

test('isBeingSent returns true during the lease of a mail, and prevents a lease until its transaction ends', async () => {
  await using mailing = await startMailing()
  const { db, clock } = mailing
  const mail = { kind: 'note', about: 'note-1' }
  const lease = () => leaseNextMail(db, 'plainpath.example', clock.now)
  await mailing.addMail()
  await db.transaction(async (tx) => {
    expect(await isBeingSent(tx, mail, clock.now)).toBe(false)
    expect(await lease()).toBeUndefined()
  })
  expect(await lease()).toMatchObject(mail)
  expect(await db.transaction((tx) => isBeingSent(tx, mail, clock.now))).toBe(true)
  // The lease of 80 s ends.
  clock.now = new Date(clock.now.getTime() + 80_000)
  expect(await db.transaction((tx) => isBeingSent(tx, mail, clock.now))).toBe(false)
})
