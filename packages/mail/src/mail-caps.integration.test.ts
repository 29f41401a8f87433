import { expect, test } from 'vitest'
import { startMailing } from '../test/start-mailing.ts'

const WIDE = { mailbox: 100, domain: 100, all: 100 }

test.for([
  {
    why: 'a mailbox, whatever its plus-tag, case and Gmail dots',
    caps: { ...WIDE, mailbox: 2 },
    to: ['ana.b@gmail.com', 'anab+x@gmail.com', 'A.nab+y@GoogleMail.com'],
    other: 'ben@gmail.com',
    reason: 'cap-mailbox',
  },
  {
    why: 'a domain',
    caps: { ...WIDE, domain: 2 },
    to: ['a@example.org', 'b@EXAMPLE.org', 'c@example.org'],
    other: 'a@example.net',
    reason: 'cap-domain',
  },
  {
    why: 'all',
    caps: { ...WIDE, all: 2 },
    to: ['a@example.org', 'b@example.net', 'c@example.com'],
    other: undefined,
    reason: 'cap-all',
  },
])('over the cap of $why nothing is sent, for a day', async ({ caps, to, other, reason }) => {
  await using mailing = await startMailing()
  const mailer = mailing.start({ caps, handlers: { note: {}, desk: { capped: false } } })
  const [first = '', second = '', third = ''] = to
  for (const address of [first, second]) await mailing.becomes(await mailing.add({ to: address }), 'sent')
  const dropped = await mailing.add({ to: third })
  expect((await mailing.becomes(dropped, 'dropped'))['mail_sealed']).toBeNull()
  await mailing.becomes(await mailing.add({ to: third, kind: 'desk' }), 'sent')
  if (other !== undefined) await mailing.becomes(await mailing.add({ to: other }), 'sent')
  expect(await mailing.registry.metrics()).toContain(
    `mails_settled_total{kind="note",outcome="dropped",reason="${reason}"} 1`,
  )
  mailing.clock.now = new Date(mailing.clock.now.getTime() + 24 * 3600_000)
  await mailing.becomes(await mailing.add({ to: third }), 'sent')
  mailing.clock.now = new Date(mailing.clock.now.getTime() + 26 * 3600_000)
  await mailer.upkeep()
  const { rows } = await mailing.db.query('select count(mailbox_hash) as kept from mails')
  expect(rows).toEqual([{ kept: 0 }])
})

test('of two workers only one takes the last place', async () => {
  await using mailing = await startMailing()
  const ids = await Promise.all(Array.from({ length: 8 }, () => mailing.add()))
  const caps = { ...WIDE, mailbox: 5 }
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

test('while nobody can count, nothing is sent', async () => {
  await using mailing = await startMailing()
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const { promise: holds, resolve: locked } = Promise.withResolvers<void>()
  const holding = mailing.db.transaction(async (tx) => {
    await tx.query(`select pg_advisory_xact_lock(hashtextextended('plainpath mail caps', 0))`)
    locked()
    await held
  })
  await holds
  mailing.start()
  const id = await mailing.add()
  await expect.poll(() => mailing.logged.join(), { timeout: 10_000 }).toContain('a mail was not sent')
  expect(mailing.server.received).toEqual([])
  release()
  await holding
  await mailing.retryNow()
  await mailing.becomes(id, 'sent')
})

test('what is stored names neither address, subject nor text', async () => {
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
