import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { openPool } from '@plainpath/postgres'
import { createSealer, generateHashKey, generateKeyEncryptionKey } from '@plainpath/sealing'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { openMailTestbed } from '../test/open-mail-testbed.ts'
import { createMailQueue } from './mail-queue.ts'
import { readDeliveryState } from './stored-mail.ts'

const addMinutes = (from: Date, minutes: number) => new Date(from.getTime() + minutes * 60_000)

test('sends a mail once, calls the handler of its kind, and erases its content', async () => {
  await using testbed = await openMailTestbed()
  const settledMails: unknown[] = []
  testbed.startMailer({
    handlers: {
      note: {
        isWanted: async (about) => about === 'note-1',
        onSettled: async (tx, about, outcome) => {
          const { rows } = await tx.query('select state from mails where about = $1', [about])
          settledMails.push([about, outcome, rows])
        },
      },
    },
  })
  const id = await testbed.addMail()
  const [mail] = await testbed.server.waitForMails(1)
  expect(mail).toMatchObject({ to: ['ana@example.org'], subject: 'A note', text: 'Canary text.\n' })
  const row = await testbed.waitForState(id, 'sent')
  expect(mail?.messageId).toBe(`<${String(row['message_id'])}>`)
  expect(row).toMatchObject({ mail_sealed: null, attempts: 1, settled_at: testbed.clock.now })
  expect(settledMails).toEqual([['note-1', 'sent', [{ state: 'sent' }]]])
  // The mailer increments the metric after it has updated the row.
  await expect
    .poll(() => testbed.registry.metrics())
    .toContain('mails_settled_total{kind="note",outcome="sent",reason="accepted"} 1')
})

test('neither stores nor sends a mail whose transaction is rolled back', async () => {
  await using testbed = await openMailTestbed()
  const queue = createMailQueue(testbed)
  const mail = { kind: 'note', about: 'x', to: 'eve@example.org', subject: 'No', text: 'No.' }
  await expect(
    testbed.db.transaction(async (tx) => {
      await queue.add(tx, mail, testbed.clock.now)
      throw new Error('changed my mind')
    }),
  ).rejects.toThrow('changed my mind')
  const { rows } = await testbed.db.query('select count(*) as mails from mails')
  expect(rows).toEqual([{ mails: 0 }])
})

test('sends each mail once when two mailers share the work', async () => {
  await using testbed = await openMailTestbed()
  const caps = { mailbox: 100, requestedMailbox: 100, domain: 100, all: 100 }
  const mailers = [testbed.startMailer({ caps }), testbed.startMailer({ caps })]
  const ids = await Promise.all(Array.from({ length: 20 }, () => testbed.addMail()))
  await Promise.all(ids.map((id) => testbed.waitForState(id, 'sent')))
  await Promise.all(mailers.map((mailer) => mailer.runUpkeep()))
  expect(testbed.server.received).toHaveLength(20)
  expect(new Set(testbed.server.received.map(({ messageId }) => messageId)).size).toBe(20)
})

test('sends a temporarily refused mail at the second attempt, and does not log its recipient', async () => {
  await using testbed = await openMailTestbed()
  testbed.server.refuseNext({ at: 'data', code: 451 })
  const mailer = testbed.startMailer()
  const id = await testbed.addMail()
  await testbed.retryNow()
  await testbed.waitForState(id, 'sent')
  await mailer.runUpkeep()
  expect(testbed.server.received).toHaveLength(1)
  expect((await testbed.readRow(id))['attempts']).toBe(2)
  expect(testbed.logLines.join()).toContain('a mail could not be sent')
  expect(testbed.logLines.join()).not.toMatch(/ana@|canary/i)
})

test('sends a mail again under the same Message-ID if it could not be settled', async () => {
  await using testbed = await openMailTestbed()
  let remainingFailures = 1
  const onSettled = async () => {
    if (remainingFailures-- > 0) throw new Error('canary ana@example.org')
  }
  testbed.startMailer({ handlers: { note: { onSettled } } })
  const id = await testbed.addMail()
  await testbed.retryNow()
  await testbed.waitForState(id, 'sent')
  const messageIds = testbed.server.received.map(({ messageId }) => messageId)
  expect(messageIds).toHaveLength(2)
  expect(new Set(messageIds).size).toBe(1)
  const { rows } = await testbed.db.query('select m::text as row from mails m')
  expect(JSON.stringify(rows)).not.toMatch(/ana@|canary/)
})

test('sends a mail again under the same Message-ID if the sending process was killed before it settled the mail', async () => {
  await using testbed = await openMailTestbed()
  const [kekLine, hashKeyLine] = [generateKeyEncryptionKey(), generateHashKey()]
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('../test/sending-process.ts', import.meta.url))],
    { stdio: ['pipe', 'inherit', 'inherit'] },
  )
  child.stdin.end(
    JSON.stringify({
      databaseUrl: testbed.database.appUrl,
      smtpUrl: testbed.server.url,
      kek: kekLine,
      hash: hashKeyLine,
    }),
  )
  const exit = once(child, 'exit')
  testbed.server.beforeAccept = async () => {
    // The server has received the mail, but the process never learns that the server accepted it.
    child.kill('SIGKILL')
    await exit
  }
  const sealer = createSealer(kekLine)
  const id = await testbed.db.transaction((tx) =>
    createMailQueue({ sealer, hashKey: testbed.hashKey }).add(
      tx,
      { kind: 'note', about: 'x', to: 'ana@example.org', subject: 'A note', text: 'x' },
      testbed.clock.now,
    ),
  )
  await exit
  testbed.server.beforeAccept = undefined
  expect(testbed.server.received).toHaveLength(1)
  expect((await testbed.readRow(id))['state']).toBe('queued')
  const readStateAfter = (minutes: number) =>
    testbed.db.transaction((tx) =>
      readDeliveryState(tx, { kind: 'note', about: 'x' }, addMinutes(testbed.clock.now, minutes)),
    )
  expect([await readStateAfter(0), await readStateAfter(5)]).toEqual(['in-progress', 'attempted'])

  const mailer = testbed.startMailer({ sealer })
  // The killed process still holds the lease.
  await mailer.runUpkeep()
  expect(testbed.server.received).toHaveLength(1)
  // The lease of 80 s has ended.
  testbed.clock.now = addMinutes(testbed.clock.now, 5)
  await mailer.runUpkeep()
  await testbed.waitForState(id, 'sent')
  const [firstMail, secondMail, ...others] = testbed.server.received
  expect(others).toEqual([])
  expect(secondMail?.messageId).toBe(firstMail?.messageId)
})

test.for([
  { failure: 'is refused permanently', refusal: { at: 'rcpt', code: 550 }, attempts: 1 },
  { failure: 'fails at its last attempt', refusal: { at: 'data', code: 451 }, attempts: 12 },
] as const)(
  'a mail that $failure is dead: its content is erased after 7 days, and its row after 30',
  async ({ refusal, attempts }) => {
    await using testbed = await openMailTestbed()
    testbed.server.refuseNext(refusal)
    const settledMails: string[] = []
    const id = await testbed.addMail()
    await testbed.db.query('update mails set attempts = $1', [attempts - 1])
    const mailer = testbed.startMailer({
      handlers: { note: { onSettled: async (_tx, _about, outcome) => void settledMails.push(outcome) } },
    })
    const row = await testbed.waitForState(id, 'dead')
    expect(row['mail_sealed']).toBeInstanceOf(Buffer)
    expect(settledMails).toEqual(['dead'])
    expect(testbed.server.received).toEqual([])
    const settledAt = testbed.clock.now
    testbed.clock.now = addMinutes(settledAt, 7 * 24 * 60 - 1)
    await mailer.runUpkeep()
    expect((await testbed.readRow(id))['mail_sealed']).toBeInstanceOf(Buffer)
    testbed.clock.now = addMinutes(settledAt, 7 * 24 * 60)
    await mailer.runUpkeep()
    expect((await testbed.readRow(id))['mail_sealed']).toBeNull()
    testbed.clock.now = addMinutes(settledAt, 30 * 24 * 60)
    await mailer.runUpkeep()
    expect(await testbed.readRow(id)).toEqual({})
  },
)

test('settles a mail as dead if its last attempt was interrupted', async () => {
  await using testbed = await openMailTestbed()
  const id = await testbed.addMail()
  const leaseEnd = addMinutes(testbed.clock.now, 2)
  await testbed.db.query('update mails set attempts = 12, leased_until = $1, overdue_at = $1', [leaseEnd])
  testbed.clock.now = addMinutes(testbed.clock.now, 5)
  await testbed.startMailer().runUpkeep()
  expect((await testbed.waitForState(id, 'dead'))['attempts']).toBe(12)
})

test('settles the other mails if one mail cannot be settled', async () => {
  await using testbed = await openMailTestbed()
  const stuckId = await testbed.addMail({ about: 'stuck' })
  const otherId = await testbed.addMail({ about: 'other' })
  const onSettled = async (_tx: unknown, about: string) => {
    if (about === 'stuck') throw new Error('canary ana@example.org')
  }
  // The lease of the stuck mail ended first, so it is settled first.
  const leaseEnd = addMinutes(testbed.clock.now, 2)
  await testbed.db.query(
    `update mails set attempts = 12,
       leased_until = case when about = 'stuck' then $1::timestamptz else $2 end,
       overdue_at = case when about = 'stuck' then $1::timestamptz else $2 end`,
    [leaseEnd, addMinutes(leaseEnd, 1)],
  )
  testbed.clock.now = addMinutes(testbed.clock.now, 5)
  await testbed.startMailer({ handlers: { note: { onSettled } } }).runUpkeep()
  await testbed.waitForState(otherId, 'dead')
  expect(await testbed.readRow(stuckId)).toMatchObject({ state: 'queued' })
})

test('drops a mail that its handler no longer wants', async () => {
  await using testbed = await openMailTestbed()
  testbed.startMailer({ handlers: { note: { isWanted: async () => false } } })
  const id = await testbed.addMail()
  expect((await testbed.waitForState(id, 'dropped'))['mail_sealed']).toBeNull()
  expect(testbed.server.received).toEqual([])
})

test('neither sends nor erases mails while the clock is not synchronised, and continues when it is', async () => {
  await using testbed = await openMailTestbed()
  const [deadId, heldId] = [await testbed.addMail(), await testbed.addMail()]
  await testbed.db.query(`update mails set state = 'dead', settled_at = $2 where id = $1`, [
    deadId,
    testbed.clock.now,
  ])
  // After 9 days, the content of the dead mail should have been erased (7 days), but not its row (30 days).
  testbed.clock.now = addMinutes(testbed.clock.now, 9 * 24 * 60)
  const clock = { isSynchronised: false, checks: 0 }
  const isClockSynchronised = () => {
    clock.checks += 1
    return clock.isSynchronised
  }
  const mailer = testbed.startMailer({ isClockSynchronised })
  await mailer.runUpkeep()
  // The mailer polled more than once.
  await expect.poll(() => clock.checks, { timeout: 10_000 }).toBeGreaterThan(3)
  expect(await testbed.readRow(heldId)).toMatchObject({ state: 'queued', attempts: 0 })
  expect(await testbed.readRow(deadId)).toMatchObject({ mail_sealed: expect.any(Buffer) })
  clock.isSynchronised = true
  await testbed.waitForState(heldId, 'sent')
  await mailer.runUpkeep()
  expect(await testbed.readRow(deadId)).toMatchObject({ mail_sealed: null })
})

test('tries a mail of an unknown kind again, so that a mailer with its handler sends it', async () => {
  await using testbed = await openMailTestbed()
  const id = await testbed.addMail({ kind: 'newer' })
  {
    await using _olderMailer = testbed.startMailer()
    await expect.poll(async () => (await testbed.readRow(id))['attempts']).toBe(1)
  }
  await testbed.retryNow()
  testbed.startMailer({ handlers: { newer: {} } })
  await testbed.waitForState(id, 'sent')
})

test('a mailer starts and stops while its database is unreachable, and its upkeep then rejects', async () => {
  await using testbed = await openMailTestbed()
  // Nothing listens on port 9.
  await using unreachable = openPool('postgres://nobody:x@127.0.0.1:9/none')
  const mailer = testbed.startMailer({ db: unreachable, databaseUrl: 'postgres://nobody:x@127.0.0.1:9/none' })
  await expect(mailer.runUpkeep()).rejects.toThrow('ECONNREFUSED')
})

test('a mailer records its upkeep at its start and after each success', async () => {
  await using testbed = await openMailTestbed()
  const recordedSweeps: string[] = []
  const recordSweep = (sweep: string) => void recordedSweeps.push(sweep)
  const metrics = { registry: new Registry(), recordSweep }
  const mailer = testbed.startMailer({ metrics })
  expect(recordedSweeps).toEqual(['mails'])
  await using owner = openPool(testbed.database.ownerUrl, { max: 1 })
  // Makes the upkeep fail.
  await owner.query('alter table mails rename to mails_away')
  await expect(mailer.runUpkeep()).rejects.toThrow('mails')
  expect(recordedSweeps).toEqual(['mails'])
  await owner.query('alter table mails_away rename to mails')
  await mailer.runUpkeep()
  expect(recordedSweeps).toEqual(['mails', 'mails'])
})

test('a mailer keeps running if the database fails during a delivery, and settles the mail later', async () => {
  await using testbed = await openMailTestbed()
  const { name, adminUrl } = testbed.database
  // Connected to another database, because the test forbids connections to its own.
  await using admin = openPool(adminUrl.replace(/\/[^/]*$/, '/postgres'), { max: 1 })
  testbed.server.beforeAccept = async () => {
    testbed.server.beforeAccept = undefined
    await admin.query(`alter database "${name}" allow_connections false`)
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
  }
  const mailer = testbed.startMailer()
  const id = await testbed.addMail()
  await expect.poll(() => testbed.logLines.join()).toContain('a mail could not be sent')
  await admin.query(`alter database "${name}" allow_connections true`)
  testbed.clock.now = addMinutes(testbed.clock.now, 5)
  await expect
    .poll(() =>
      mailer.runUpkeep().then(
        () => 'done',
        () => 'failed',
      ),
    )
    .toBe('done')
  await testbed.waitForState(id, 'sent')
  expect(new Set(testbed.server.received.map(({ messageId }) => messageId)).size).toBe(1)
})
