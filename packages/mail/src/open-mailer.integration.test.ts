import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { openPool } from '@plainpath/postgres'
import { newHashKey, newKeyEncryptionKey, parseKeyEncryptionKeys } from '@plainpath/sealing'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { startMailing } from '../test/start-mailing.ts'
import { mailQueue } from './mail-queue.ts'

const later = (from: Date, minutes: number) => new Date(from.getTime() + minutes * 60_000)

test('a mail goes out once, its kind is told, and its content is gone', async () => {
  await using mailing = await startMailing()
  const told: unknown[] = []
  mailing.start({
    handlers: {
      note: {
        wanted: async (about) => about === 'note-1',
        settled: async (tx, about, outcome) => {
          const { rows } = await tx.query('select state from mails where about = $1', [about])
          told.push([about, outcome, rows])
        },
      },
    },
  })
  const id = await mailing.add()
  const [mail] = await mailing.server.mails(1)
  expect(mail).toMatchObject({ to: ['ana@example.org'], subject: 'A note', text: 'Canary text.\n' })
  const row = await mailing.becomes(id, 'sent')
  expect(mail?.messageId).toBe(`<${String(row['message_id'])}>`)
  expect(row).toMatchObject({ mail_sealed: null, attempts: 1, settled_at: mailing.clock.now })
  expect(told).toEqual([['note-1', 'sent', [{ state: 'sent' }]]])
  expect(await mailing.registry.metrics()).toContain(
    'mails_settled_total{kind="note",outcome="sent",reason="accepted"} 1',
  )
})

test('what is rolled back is neither kept nor sent', async () => {
  await using mailing = await startMailing()
  const queue = mailQueue(mailing)
  const mail = { kind: 'note', about: 'x', to: 'eve@example.org', subject: 'No', text: 'No.' }
  await expect(
    mailing.db.transaction(async (tx) => {
      await queue.add(tx, mail, mailing.clock.now)
      throw new Error('changed my mind')
    }),
  ).rejects.toThrow('changed my mind')
  const { rows } = await mailing.db.query('select count(*) as kept from mails')
  expect(rows).toEqual([{ kept: 0 }])
})

test('several instances share the work, and send each mail once', async () => {
  await using mailing = await startMailing()
  const caps = { mailbox: 100, domain: 100, all: 100 }
  const [first, second] = [mailing.start({ caps }), mailing.start({ caps })]
  const ids = await Promise.all(Array.from({ length: 20 }, () => mailing.add()))
  await Promise.all(ids.map((id) => mailing.becomes(id, 'sent')))
  await Promise.all([first.upkeep(), second.upkeep()])
  expect(mailing.server.received).toHaveLength(20)
  expect(new Set(mailing.server.received.map(({ messageId }) => messageId)).size).toBe(20)
})

test('a mail that the server takes later is tried again under the same Message-ID, and nothing tells of whom', async () => {
  await using mailing = await startMailing()
  mailing.server.refuseNext({ at: 'data', code: 451 })
  const before = mailing.start()
  const id = await mailing.add()
  await mailing.retryNow()
  await mailing.becomes(id, 'sent')
  await before.upkeep()
  expect(mailing.server.received).toHaveLength(1)
  expect((await mailing.state(id))['attempts']).toBe(2)
  expect(mailing.logged.join()).toContain('a mail was not sent')
  expect(mailing.logged.join()).not.toMatch(/ana@|canary/i)
})

test('a mail whose settling fails is sent again, under the same Message-ID', async () => {
  await using mailing = await startMailing()
  let failures = 1
  const settled = async () => {
    if (failures-- > 0) throw new Error('canary ana@example.org')
  }
  mailing.start({ handlers: { note: { settled } } })
  const id = await mailing.add()
  await mailing.retryNow()
  await mailing.becomes(id, 'sent')
  const sent = mailing.server.received.map(({ messageId }) => messageId)
  expect(sent).toHaveLength(2)
  expect(new Set(sent).size).toBe(1)
  const { rows } = await mailing.db.query('select m::text as row from mails m')
  expect(JSON.stringify(rows)).not.toMatch(/ana@|canary/)
})

test('a worker killed between acceptance and settling leaves a mail that repeats only its Message-ID', async () => {
  await using mailing = await startMailing()
  const [kek, hash] = [newKeyEncryptionKey(), newHashKey()]
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('../test/sending-process.ts', import.meta.url))],
    { stdio: ['pipe', 'inherit', 'inherit'] },
  )
  child.stdin.end(
    JSON.stringify({ databaseUrl: mailing.database.appUrl, smtpUrl: mailing.server.url, kek, hash }),
  )
  const exited = once(child, 'exit')
  mailing.server.beforeAccept = async () => {
    child.kill('SIGKILL')
    await exited
  }
  const sealingKeys = parseKeyEncryptionKeys(kek)
  const id = await mailing.db.transaction((tx) =>
    mailQueue({ sealingKeys, hashKey: mailing.hashKey }).add(
      tx,
      { kind: 'note', about: 'x', to: 'ana@example.org', subject: 'A note', text: 'x' },
      mailing.clock.now,
    ),
  )
  await exited
  mailing.server.beforeAccept = undefined
  expect(mailing.server.received).toHaveLength(1)
  expect((await mailing.state(id))['state']).toBe('queued')

  const mailer = mailing.start({ sealingKeys })
  await mailer.upkeep()
  expect(mailing.server.received).toHaveLength(1)
  mailing.clock.now = later(mailing.clock.now, 5)
  await mailer.upkeep()
  await mailing.becomes(id, 'sent')
  const [first, second, ...more] = mailing.server.received
  expect(more).toEqual([])
  expect(second?.messageId).toBe(first?.messageId)
})

test.for([
  { why: 'is refused for good', refusal: { at: 'rcpt', code: 550 }, attempts: 1 },
  { why: 'fails for the last time', refusal: { at: 'data', code: 451 }, attempts: 12 },
] as const)('a mail that $why is dead, and its content goes after 7 days', async ({ refusal, attempts }) => {
  await using mailing = await startMailing()
  mailing.server.refuseNext(refusal)
  const told: string[] = []
  const id = await mailing.add()
  await mailing.db.query('update mails set attempts = $1', [attempts - 1])
  const mailer = mailing.start({
    handlers: { note: { settled: async (_tx, _about, outcome) => void told.push(outcome) } },
  })
  const row = await mailing.becomes(id, 'dead')
  expect(row['mail_sealed']).toBeInstanceOf(Buffer)
  expect(told).toEqual(['dead'])
  expect(mailing.server.received).toEqual([])
  const settled = mailing.clock.now
  mailing.clock.now = later(settled, 7 * 24 * 60 - 1)
  await mailer.upkeep()
  expect((await mailing.state(id))['mail_sealed']).toBeInstanceOf(Buffer)
  mailing.clock.now = later(settled, 7 * 24 * 60)
  await mailer.upkeep()
  expect((await mailing.state(id))['mail_sealed']).toBeNull()
  mailing.clock.now = later(settled, 30 * 24 * 60)
  await mailer.upkeep()
  expect(await mailing.state(id)).toEqual({})
})

test('a mail that had all its attempts from killed workers is dead', async () => {
  await using mailing = await startMailing()
  const id = await mailing.add()
  await mailing.db.query(`update mails set attempts = 12, leased_until = $1`, [later(mailing.clock.now, 2)])
  mailing.clock.now = later(mailing.clock.now, 5)
  await mailing.db.query(`update mails set overdue_at = $1, leased_until = $2`, [
    mailing.clock.now,
    later(mailing.clock.now, 60),
  ])
  await mailing.start().upkeep()
  expect((await mailing.becomes(id, 'dead'))['attempts']).toBe(12)
})

test('a mail that cannot be settled keeps no other from being settled', async () => {
  await using mailing = await startMailing()
  const stuck = await mailing.add({ about: 'stuck' })
  const other = await mailing.add({ about: 'other' })
  const settled = async (_tx: unknown, about: string) => {
    if (about === 'stuck') throw new Error('canary ana@example.org')
  }
  mailing.clock.now = later(mailing.clock.now, 5)
  const [overdueAt, leasedUntil] = [mailing.clock.now, later(mailing.clock.now, 60)]
  await mailing.db.query(
    `update mails set attempts = 12, leased_until = $3,
       overdue_at = case when about = 'stuck' then $1::timestamptz else $2 end`,
    [later(overdueAt, -1), overdueAt, leasedUntil],
  )
  await mailing.start({ handlers: { note: { settled } } }).upkeep()
  await mailing.becomes(other, 'dead')
  expect(await mailing.state(stuck)).toMatchObject({ state: 'queued' })
})

test('a mail that nobody waits for any more is dropped', async () => {
  await using mailing = await startMailing()
  mailing.start({ handlers: { note: { wanted: async () => false } } })
  const id = await mailing.add()
  expect((await mailing.becomes(id, 'dropped'))['mail_sealed']).toBeNull()
  expect(mailing.server.received).toEqual([])
})

test('a mail of a kind that only a newer release knows waits for it', async () => {
  await using mailing = await startMailing()
  const id = await mailing.add({ kind: 'newer' })
  {
    await using _old = mailing.start()
    await expect.poll(async () => (await mailing.state(id))['attempts'], { timeout: 10_000 }).toBe(1)
  }
  await mailing.retryNow()
  mailing.start({ handlers: { newer: {} } })
  await mailing.becomes(id, 'sent')
})

test('a mailer starts without its database, stops, and errs only in its log', async () => {
  await using mailing = await startMailing()
  await using away = openPool('postgres://nobody:x@127.0.0.1:9/none')
  const mailer = mailing.start({ db: away, databaseUrl: 'postgres://nobody:x@127.0.0.1:9/none' })
  await expect(mailer.upkeep()).rejects.toThrow('ECONNREFUSED')
})

test('a mailer tells that it begins, and of each upkeep that succeeded', async () => {
  await using mailing = await startMailing()
  const swept: string[] = []
  const metrics = { registry: new Registry(), swept: (sweep: string) => void swept.push(sweep) }
  const mailer = mailing.start({ metrics })
  expect(swept).toEqual(['mails'])
  await using owner = openPool(mailing.database.ownerUrl, { max: 1 })
  await owner.query('alter table mails rename to mails_away')
  await expect(mailer.upkeep()).rejects.toThrow('mails')
  expect(swept).toEqual(['mails'])
  await owner.query('alter table mails_away rename to mails')
  await mailer.upkeep()
  expect(swept).toEqual(['mails', 'mails'])
})

test('a database that goes away while a mail is sent ends nothing, and the mail goes out again', async () => {
  await using mailing = await startMailing()
  const { name, adminUrl } = mailing.database
  await using admin = openPool(adminUrl.replace(/\/[^/]*$/, '/postgres'), { max: 1 })
  mailing.server.beforeAccept = async () => {
    mailing.server.beforeAccept = undefined
    await admin.query(`alter database "${name}" allow_connections false`)
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
  }
  const mailer = mailing.start()
  const id = await mailing.add()
  await expect.poll(() => mailing.logged.join(), { timeout: 10_000 }).toContain('a mail was not sent')
  await admin.query(`alter database "${name}" allow_connections true`)
  mailing.clock.now = later(mailing.clock.now, 5)
  await expect
    .poll(() =>
      mailer.upkeep().then(
        () => 'done',
        () => 'failed',
      ),
    )
    .toBe('done')
  await mailing.becomes(id, 'sent')
  expect(new Set(mailing.server.received.map(({ messageId }) => messageId)).size).toBe(1)
})
