import { randomUUID } from 'node:crypto'
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { migrate, openPool } from '@plainpath/postgres'
import { expect, test } from 'vitest'
import { type MailTestbed, MIGRATIONS, openMailTestbed } from '../test/open-mail-testbed.ts'
import { toContentEncryptionContext } from './mail.ts'

/* Tests the second mail migration, which takes over due times from graphile-worker's jobs, and the apps' copies of all three. */

const MAILS_MIGRATION = '0001-mails.sql'
const ONE_QUEUE_MIGRATION = '0002-one-mail-queue.sql'
const DEFERRED_MAILS_MIGRATION = '0003-deferred-mails.sql'
const INDEX_MIGRATION = '0004-mails-about.sql'
const ROOT = path.resolve(import.meta.dirname, '../../..')

/**
 * SQL that creates the part of the graphile-worker 0.18.0 schema that the migration reads. Row-level security hides the jobs from
 * every role but their owner.
 */
const CREATE_GRAPHILE_WORKER = `
  create schema graphile_worker;
  create table graphile_worker._private_jobs (
    id bigint primary key generated always as identity, payload json not null default '{}'::json,
    run_at timestamptz not null default now(), attempts smallint not null default 0, key text unique, locked_at timestamptz);
  alter table graphile_worker._private_jobs enable row level security;
  create view graphile_worker.jobs as select id, run_at, attempts, key, locked_at from graphile_worker._private_jobs`

/** Inserts a mail with the columns of the first migration, and returns its id. */
async function insertWithFirstSchema({ db, sealer, clock }: MailTestbed): Promise<string> {
  const id = randomUUID()
  const content = { to: 'ana@example.org', subject: 'A note', text: 'Canary text.\n' }
  await db.query(
    `insert into mails (id, kind, about, mail_sealed, message_id, created_at, overdue_at)
     values ($1, 'note', 'note-1', $2, $1::uuid::text, $3, $3)`,
    [id, sealer.seal(JSON.stringify(content), toContentEncryptionContext(id)), clock.now],
  )
  return id
}

/**
 * Inserts a mail as the release before the second migration did, with a graphile-worker job if `jobRunAt` is given. Returns its
 * id.
 */
async function insertAsPreviousRelease(
  testbed: MailTestbed,
  mail: { attempts?: number; overdueAt: Date; leasedUntil?: Date; jobRunAt?: Date },
): Promise<string> {
  const id = await insertWithFirstSchema(testbed)
  await testbed.db.query('update mails set attempts = $2, overdue_at = $3, leased_until = $4 where id = $1', [
    id,
    mail.attempts ?? 0,
    mail.overdueAt,
    mail.leasedUntil ?? null,
  ])
  await using owner = openPool(testbed.database.ownerUrl, { max: 1 })
  if (mail.jobRunAt)
    await owner.query('insert into graphile_worker._private_jobs (key, run_at) values ($1, $2)', [
      `mail:${id}`,
      mail.jobRunAt,
    ])
  return id
}

test('sends a migrated mail when its graphile-worker job was due, or, without a usable job, at its overdue time', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-mails-'))
  await using cleanup = new AsyncDisposableStack()
  cleanup.defer(() => rm(folder, { recursive: true }))
  await cp(path.join(MIGRATIONS, MAILS_MIGRATION), path.join(folder, MAILS_MIGRATION))
  await using testbed = await openMailTestbed(folder)
  const url = testbed.database.ownerUrl
  {
    await using owner = openPool(url, { max: 1 })
    await owner.query(CREATE_GRAPHILE_WORKER)
  }
  const secondsFromNow = (seconds: number) => new Date(testbed.clock.now.getTime() + seconds * 1000)
  const ids = {
    untried: await insertAsPreviousRelease(testbed, {
      overdueAt: secondsFromNow(75),
      jobRunAt: secondsFromNow(0),
    }),
    retried: await insertAsPreviousRelease(testbed, {
      attempts: 3,
      overdueAt: secondsFromNow(80),
      jobRunAt: secondsFromNow(20),
    }),
    leased: await insertAsPreviousRelease(testbed, {
      attempts: 1,
      overdueAt: secondsFromNow(70),
      leasedUntil: secondsFromNow(65),
      jobRunAt: secondsFromNow(-10),
    }),
    withoutJob: await insertAsPreviousRelease(testbed, { overdueAt: secondsFromNow(75) }),
  }

  const appRole = new URL(testbed.database.appUrl).username
  expect(await migrate({ url, folder: MIGRATIONS, appRole })).toEqual({
    applied: [ONE_QUEUE_MIGRATION, DEFERRED_MAILS_MIGRATION, INDEX_MIGRATION].map(
      (file) => path.parse(file).name,
    ),
  })
  const readDueTime = async (id: string) => (await testbed.readRow(id))['overdue_at']
  expect(await Promise.all(Object.values(ids).map(readDueTime))).toEqual([
    secondsFromNow(0),
    secondsFromNow(20),
    secondsFromNow(70),
    secondsFromNow(75),
  ])

  testbed.startMailer()
  await testbed.waitForState(ids.untried, 'sent')
  expect(testbed.server.received).toHaveLength(1)
  testbed.clock.now = secondsFromNow(20)
  await testbed.waitForState(ids.retried, 'sent')
  expect(testbed.server.received).toHaveLength(2)
  testbed.clock.now = secondsFromNow(75)
  await testbed.waitForState(ids.leased, 'sent')
  await testbed.waitForState(ids.withoutJob, 'sent')
  expect(testbed.server.received).toHaveLength(4)
})

test('both apps have exact copies of the mail migrations', async () => {
  const numbersByApp = {
    auth: ['0008', '0011', '0012', '0018'],
    resource: ['0003', '0006', '0009', '0015'],
  }
  const files = [MAILS_MIGRATION, ONE_QUEUE_MIGRATION, DEFERRED_MAILS_MIGRATION, INDEX_MIGRATION]
  for (const [app, numbers] of Object.entries(numbersByApp)) {
    for (const [index, file] of files.entries()) {
      // `slice(5)` removes the number of the file, such as `0001-`.
      const copy = path.join(ROOT, `apps/${app}/migrations`, `${numbers[index]}-${file.slice(5)}`)
      expect(await readFile(copy, 'utf8')).toBe(await readFile(path.join(MIGRATIONS, file), 'utf8'))
    }
  }
})
