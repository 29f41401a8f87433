import { expect, test } from 'vitest'
import { startMailing } from '../test/start-mailing.ts'
import { eraseMails, isBeingSent, leaseNextMail } from './stored-mail.ts'

test('erases queued and dead mails about one subject, and leaves the mails about another', async () => {
  await using mailing = await startMailing()
  const added = { refused: await mailing.add(), sent: await mailing.add({ to: 'ben@example.org' }) }
  mailing.server.refuseNext({ at: 'rcpt', code: 550 })
  await using mailer = mailing.start()
  const states = async () => [await mailing.state(added.refused), await mailing.state(added.sent)]
  await expect
    .poll(async () => (await states()).map((row) => row['state']).toSorted())
    .toEqual(['dead', 'sent'])
  await mailer[Symbol.asyncDispose]()
  const [queued, other] = [await mailing.add(), await mailing.add({ about: 'note-2' })]
  await mailing.db.transaction((tx) => eraseMails(tx, 'note-1', mailing.clock.now))
  expect(await mailing.state(queued)).toMatchObject({ state: 'dropped', mail_sealed: null })
  expect((await states()).map((row) => [row['state'], row['mail_sealed']]).toSorted()).toEqual([
    ['dead', null],
    ['sent', null],
  ])
  expect(await mailing.state(other)).toMatchObject({ state: 'queued', mail_sealed: expect.any(Buffer) })
})

test('does not send a mail before its time, and reports its age as 0 until then', async () => {
  await using mailing = await startMailing()
  const dueAt = new Date(mailing.clock.now.getTime() + 600_000)
  const held = await mailing.add({}, dueAt)
  await using _mailer = mailing.start()
  const age = async () => {
    // A scrape starts the query and shows the result of the scrape before.
    await mailing.registry.metrics()
    const metrics = await mailing.registry.metrics()
    return Number(/^mails_oldest_queued_seconds\{kind="note"\} (\S+)$/m.exec(metrics)?.[1])
  }
  mailing.clock.now = new Date(dueAt.getTime() - 1)
  // When this mail has been sent, the mailer has looked for due mails and did not find the held one.
  await mailing.becomes(await mailing.add({ to: 'ben@example.org' }), 'sent')
  expect(await mailing.state(held)).toMatchObject({ state: 'queued', attempts: 0 })
  expect(await age()).toBe(0)
  mailing.clock.now = dueAt
  await mailing.becomes(held, 'sent')
})

test('reports a mail as being sent during its lease, and prevents a lease until the transaction ends', async () => {
  await using mailing = await startMailing()
  const { db, clock } = mailing
  const held = { kind: 'note', about: 'note-1' }
  const lease = () => leaseNextMail(db, 'plainpath.example', clock.now)
  await mailing.add()
  await db.transaction(async (tx) => {
    expect(await isBeingSent(tx, held, clock.now)).toBe(false)
    expect(await lease()).toBeUndefined()
  })
  expect(await lease()).toMatchObject(held)
  expect(await db.transaction((tx) => isBeingSent(tx, held, clock.now))).toBe(true)
  clock.now = new Date(clock.now.getTime() + 80_000)
  expect(await db.transaction((tx) => isBeingSent(tx, held, clock.now))).toBe(false)
})
