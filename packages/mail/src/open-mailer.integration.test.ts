import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { openPool } from '@plainpath/postgres'
import { generateHashKey, newKeyEncryptionKey, parseKeyEncryptionKeys } from '@plainpath/sealing'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { startMailing } from '../test/start-mailing.ts'
import { createMailQueue } from './mail-queue.ts'

const addMinutes = (from: Date, minutes: number) => new Date(from.getTime() + minutes * 60_000)

test('sends a mail once, calls the handler of its kind, and erases its content', async () => {
  await using mailing = await startMailing()
  const settledMails: unknown[] = []
  mailing.startMailer({
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
  const id = await mailing.addMail()
  const [mail] = await mailing.server.waitForMails(1)
  expect(mail).toMatchObject({ to: ['ana@example.org'], subject: 'A note', text: 'Canary text.\n' })
  const row = await mailing.waitForState(id, 'sent')
  expect(mail?.messageId).toBe(`<${String(row['message_id'])}>`)
  expect(row).toMatchObject({ mail_sealed: null, attempts: 1, settled_at: mailing.clock.now })
  expect(settledMails).toEqual([['note-1', 'sent', [{ state: 'sent' }]]])
  expect(await mailing.registry.metrics()).toContain(
    'mails_settled_total{kind="note",outcome="sent",reason="accepted"} 1',
  )
})

test('neither stores nor sends a mail whose transaction is rolled back', async () => {
  await using mailing = await startMailing()
  const queue = createMailQueue(mailing)
  const mail = { kind: 'note', about: 'x', to: 'eve@example.org', subject: 'No', text: 'No.' }
  await expect(
    mailing.db.transaction(async (tx) => {
      await queue.add(tx, mail, mailing.clock.now)
      throw new Error('changed my mind')
    }),
  ).rejects.toThrow('changed my mind')
  const { rows } = await mailing.db.query('select count(*) as mails from mails')
  expect(rows).toEqual([{ mails: 0 }])
})

test('sends each mail once when two mailers share the work', async () => {
  await using mailing = await startMailing()
  const caps = { mailbox: 100, domain: 100, all: 100 }
  const mailers = [mailing.startMailer({ caps }), mailing.startMailer({ caps })]
  const ids = await Promise.all(Array.from({ length: 20 }, () => mailing.addMail()))
  await Promise.all(ids.map((id) => mailing.waitForState(id, 'sent')))
  await Promise.all(mailers.map((mailer) => mailer.runUpkeep()))
  expect(mailing.server.received).toHaveLength(20)
  expect(new Set(mailing.server.received.map(({ messageId }) => messageId)).size).toBe(20)
})

test('sends a temporarily refused mail at the second attempt, and does not log its addressee', async () => {
  await using mailing = await startMailing()
  mailing.server.refuseNext({ at: 'data', code: 451 })
  const mailer = mailing.startMailer()
  const id = await mailing.addMail()
  await mailing.retryNow()
  await mailing.waitForState(id, 'sent')
  await mailer.runUpkeep()
  expect(mailing.server.received).toHaveLength(1)
  expect((await mailing.readRow(id))['attempts']).toBe(2)
  expect(mailing.logLines.join()).toContain('a mail could not be sent')
  expect(mailing.logLines.join()).not.toMatch(/ana@|canary/i)
})

test('sends a mail again under the same Message-ID if it could not be settled', async () => {
  await using mailing = await startMailing()
  let remainingFailures = 1
  const onSettled = async () => {
    if (remainingFailures-- > 0) throw new Error('canary ana@example.org')
  }
  mailing.startMailer({ handlers: { note: { onSettled } } })
  const id = await mailing.addMail()
  await mailing.retryNow()
  await mailing.waitForState(id, 'sent')
  const messageIds = mailing.server.received.map(({ messageId }) => messageId)
  expect(messageIds).toHaveLength(2)
  expect(new Set(messageIds).size).toBe(1)
  const { rows } = await mailing.db.query('select m::text as row from mails m')
  expect(JSON.stringify(rows)).not.toMatch(/ana@|canary/)
})

test('sends a mail again under the same Message-ID if the sending process was killed before it settled the mail', async () => {
  await using mailing = await startMailing()
  const [kekLine, hashKeyLine] = [newKeyEncryptionKey(), generateHashKey()]
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('../test/sending-process.ts', import.meta.url))],
    { stdio: ['pipe', 'inherit', 'inherit'] },
  )
  child.stdin.end(
    JSON.stringify({
      databaseUrl: mailing.database.appUrl,
      smtpUrl: mailing.server.url,
      kek: kekLine,
      hash: hashKeyLine,
    }),
  )
  const exit = once(child, 'exit')
  mailing.server.beforeAccept = async () => {
    // The server has received the mail, but the process never learns that the server accepted it.
    child.kill('SIGKILL')
    await exit
  }
  const sealingKeys = parseKeyEncryptionKeys(kekLine)
  const id = await mailing.db.transaction((tx) =>
    createMailQueue({ sealingKeys, hashKey: mailing.hashKey }).add(
      tx,
      { kind: 'note', about: 'x', to: 'ana@example.org', subject: 'A note', text: 'x' },
      mailing.clock.now,
    ),
  )
  await exit
  mailing.server.beforeAccept = undefined
  expect(mailing.server.received).toHaveLength(1)
  expect((await mailing.readRow(id))['state']).toBe('queued')

  const mailer = mailing.startMailer({ sealingKeys })
  // The killed process still holds the lease.
  await mailer.runUpkeep()
  expect(mailing.server.received).toHaveLength(1)
  mailing.clock.now = addMinutes(mailing.clock.now, 5)
  await mailer.runUpkeep()
  await mailing.waitForState(id, 'sent')
  const [firstMail, secondMail, ...others] = mailing.server.received
  expect(others).toEqual([])
  expect(secondMail?.messageId).toBe(firstMail?.messageId)
})

test.for([
  { failure: 'is refused permanently', refusal: { at: 'rcpt', code: 550 }, attempts: 1 },
  { failure: 'fails at its last attempt', refusal: { at: 'data', code: 451 }, attempts: 12 },
] as const)(
  'a mail that $failure is dead: its content is erased after 7 days, and its row after 30',
  async ({ refusal, attempts }) => {
    await using mailing = await startMailing()
    mailing.server.refuseNext(refusal)
    const settledMails: string[] = []
    const id = await mailing.addMail()
    await mailing.db.query('update mails set attempts = $1', [attempts - 1])
    const mailer = mailing.startMailer({
      handlers: { note: { onSettled: async (_tx, _about, outcome) => void settledMails.push(outcome) } },
    })
    const row = await mailing.waitForState(id, 'dead')
    expect(row['mail_sealed']).toBeInstanceOf(Buffer)
    expect(settledMails).toEqual(['dead'])
    expect(mailing.server.received).toEqual([])
    const settledAt = mailing.clock.now
    mailing.clock.now = addMinutes(settledAt, 7 * 24 * 60 - 1)
    await mailer.runUpkeep()
    expect((await mailing.readRow(id))['mail_sealed']).toBeInstanceOf(Buffer)
    mailing.clock.now = addMinutes(settledAt, 7 * 24 * 60)
    await mailer.runUpkeep()
    expect((await mailing.readRow(id))['mail_sealed']).toBeNull()
    mailing.clock.now = addMinutes(settledAt, 30 * 24 * 60)
    await mailer.runUpkeep()
    expect(await mailing.readRow(id)).toEqual({})
  },
)

test('settles a mail as dead if its last attempt was interrupted', async () => {
  await using mailing = await startMailing()
  const id = await mailing.addMail()
  const leaseEnd = addMinutes(mailing.clock.now, 2)
  await mailing.db.query('update mails set attempts = 12, leased_until = $1, overdue_at = $1', [leaseEnd])
  mailing.clock.now = addMinutes(mailing.clock.now, 5)
  await mailing.startMailer().runUpkeep()
  expect((await mailing.waitForState(id, 'dead'))['attempts']).toBe(12)
})

test('settles the other mails if one mail cannot be settled', async () => {
  await using mailing = await startMailing()
  const stuckId = await mailing.addMail({ about: 'stuck' })
  const otherId = await mailing.addMail({ about: 'other' })
  const onSettled = async (_tx: unknown, about: string) => {
    if (about === 'stuck') throw new Error('canary ana@example.org')
  }
  // The lease of the stuck mail ended first, so it is settled first.
  const leaseEnd = addMinutes(mailing.clock.now, 2)
  await mailing.db.query(
    `update mails set attempts = 12,
       leased_until = case when about = 'stuck' then $1::timestamptz else $2 end,
       overdue_at = case when about = 'stuck' then $1::timestamptz else $2 end`,
    [leaseEnd, addMinutes(leaseEnd, 1)],
  )
  mailing.clock.now = addMinutes(mailing.clock.now, 5)
  await mailing.startMailer({ handlers: { note: { onSettled } } }).runUpkeep()
  await mailing.waitForState(otherId, 'dead')
  expect(await mailing.readRow(stuckId)).toMatchObject({ state: 'queued' })
})

test('drops a mail that its handler no longer wants', async () => {
  await using mailing = await startMailing()
  mailing.startMailer({ handlers: { note: { isWanted: async () => false } } })
  const id = await mailing.addMail()
  expect((await mailing.waitForState(id, 'dropped'))['mail_sealed']).toBeNull()
  expect(mailing.server.received).toEqual([])
})

test('tries a mail of an unknown kind again, so that a mailer with its handler sends it', async () => {
  await using mailing = await startMailing()
  const id = await mailing.addMail({ kind: 'newer' })
  {
    await using _olderMailer = mailing.startMailer()
    await expect.poll(async () => (await mailing.readRow(id))['attempts']).toBe(1)
  }
  await mailing.retryNow()
  mailing.startMailer({ handlers: { newer: {} } })
  await mailing.waitForState(id, 'sent')
})

test('starts and stops while its database is unreachable; meanwhile, upkeep rejects', async () => {
  await using mailing = await startMailing()
  await using unreachable = openPool('postgres://nobody:x@127.0.0.1:9/none')
  const mailer = mailing.startMailer({ db: unreachable, databaseUrl: 'postgres://nobody:x@127.0.0.1:9/none' })
  await expect(mailer.runUpkeep()).rejects.toThrow('ECONNREFUSED')
})

test('a mailer records its upkeep at its start and after each success', async () => {
  await using mailing = await startMailing()
  const recordedSweeps: string[] = []
  const recordSweep = (sweep: string) => void recordedSweeps.push(sweep)
  const metrics = { registry: new Registry(), recordSweep }
  const mailer = mailing.startMailer({ metrics })
  expect(recordedSweeps).toEqual(['mails'])
  await using owner = openPool(mailing.database.ownerUrl, { max: 1 })
  await owner.query('alter table mails rename to mails_away')
  await expect(mailer.runUpkeep()).rejects.toThrow('mails')
  expect(recordedSweeps).toEqual(['mails'])
  await owner.query('alter table mails_away rename to mails')
  await mailer.runUpkeep()
  expect(recordedSweeps).toEqual(['mails', 'mails'])
})

test('keeps running if the database fails during a delivery, and settles the mail later', async () => {
  await using mailing = await startMailing()
  const { name, adminUrl } = mailing.database
  await using admin = openPool(adminUrl.replace(/\/[^/]*$/, '/postgres'), { max: 1 })
  mailing.server.beforeAccept = async () => {
    mailing.server.beforeAccept = undefined
    await admin.query(`alter database "${name}" allow_connections false`)
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
  }
  const mailer = mailing.startMailer()
  const id = await mailing.addMail()
  await expect.poll(() => mailing.logLines.join()).toContain('a mail could not be sent')
  await admin.query(`alter database "${name}" allow_connections true`)
  mailing.clock.now = addMinutes(mailing.clock.now, 5)
  await expect
    .poll(() =>
      mailer.runUpkeep().then(
        () => 'done',
        () => 'failed',
      ),
    )
    .toBe('done')
  await mailing.waitForState(id, 'sent')
  expect(new Set(mailing.server.received.map(({ messageId }) => messageId)).size).toBe(1)
})
