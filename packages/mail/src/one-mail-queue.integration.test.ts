import { randomUUID } from 'node:crypto'
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { migrate, openPool } from '@plainpath/postgres'
import { expect, test } from 'vitest'
import { type Mailing, MIGRATIONS, startMailing } from '../test/start-mailing.ts'
import { contentEncryptionContext } from './mail.ts'

const FIRST = '0001-mails.sql'
const SECOND = '0002-one-mail-queue.sql'
const THIRD = '0003-deferred-mails.sql'
const ROOT = path.resolve(import.meta.dirname, '../../..')

/** The parts of graphile-worker 0.18.0 that the migration reads. Only their owner may read the tables. */
const GRAPHILE_WORKER = `
  create schema graphile_worker;
  create table graphile_worker._private_jobs (
    id bigint primary key generated always as identity, payload json not null default '{}'::json,
    run_at timestamptz not null default now(), attempts smallint not null default 0, key text unique, locked_at timestamptz);
  alter table graphile_worker._private_jobs enable row level security;
  create view graphile_worker.jobs as select id, run_at, attempts, key, locked_at from graphile_worker._private_jobs`

const seconds = (mailing: Mailing, count: number) => new Date(mailing.clock.now.getTime() + count * 1000)

/** Stores a mail in the columns of the first migration. */
async function storeInFirstSchema({ db, sealingKeys, clock }: Mailing): Promise<string> {
  const id = randomUUID()
  const content = { to: 'ana@example.org', subject: 'A note', text: 'Canary text.\n' }
  await db.query(
    `insert into mails (id, kind, about, mail_sealed, message_id, created_at, overdue_at)
     values ($1, 'note', 'note-1', $2, $1::uuid::text, $3, $3)`,
    [id, sealingKeys.seal(JSON.stringify(content), contentEncryptionContext(id)), clock.now],
  )
  return id
}

/** Stores a mail as the release before the migration did, with a job of graphile-worker if `mail.job` is given. */
async function storeAsPreviousRelease(
  mailing: Mailing,
  mail: { attempts?: number; overdue_at: Date; leased_until?: Date; job?: Date },
): Promise<string> {
  const id = await storeInFirstSchema(mailing)
  await mailing.db.query('update mails set attempts = $2, overdue_at = $3, leased_until = $4 where id = $1', [
    ...[id, mail.attempts ?? 0, mail.overdue_at, mail.leased_until ?? null],
  ])
  await using owner = openPool(mailing.database.ownerUrl, { max: 1 })
  if (mail.job)
    await owner.query('insert into graphile_worker._private_jobs (key, run_at) values ($1, $2)', [
      `mail:${id}`,
      mail.job,
    ])
  return id
}

test('sends mails that were jobs of graphile-worker at the times of their jobs', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-mails-'))
  await using cleanup = new AsyncDisposableStack()
  cleanup.defer(() => rm(folder, { recursive: true }))
  await cp(path.join(MIGRATIONS, FIRST), path.join(folder, FIRST))
  await using mailing = await startMailing(folder)
  const url = mailing.database.ownerUrl
  {
    await using owner = openPool(url, { max: 1 })
    await owner.query(GRAPHILE_WORKER)
  }
  const at = (count: number) => seconds(mailing, count)
  const ids = {
    waiting: await storeAsPreviousRelease(mailing, { overdue_at: at(75), job: at(0) }),
    triedAgain: await storeAsPreviousRelease(mailing, { attempts: 3, overdue_at: at(80), job: at(20) }),
    beingSent: await storeAsPreviousRelease(mailing, {
      attempts: 1,
      overdue_at: at(70),
      leased_until: at(65),
      job: at(-10),
    }),
    withoutJob: await storeAsPreviousRelease(mailing, { overdue_at: at(75) }),
  }

  const appRole = new URL(mailing.database.appUrl).username
  expect(await migrate({ url, folder: MIGRATIONS, appRole })).toEqual({
    applied: [SECOND, THIRD].map((file) => path.parse(file).name),
  })
  const dueAt = async (id: string) => (await mailing.state(id))['overdue_at']
  expect(await Promise.all(Object.values(ids).map(dueAt))).toEqual([at(0), at(20), at(70), at(75)])

  mailing.start()
  await mailing.becomes(ids.waiting, 'sent')
  expect(mailing.server.received).toHaveLength(1)
  mailing.clock.now = at(20)
  await mailing.becomes(ids.triedAgain, 'sent')
  expect(mailing.server.received).toHaveLength(2)
  mailing.clock.now = at(75)
  await mailing.becomes(ids.beingSent, 'sent')
  await mailing.becomes(ids.withoutJob, 'sent')
  expect(mailing.server.received).toHaveLength(4)
})

test('equals the migrations of both apps', async () => {
  const apps = { auth: ['0008', '0011', '0012'], resource: ['0003', '0006', '0009'] }
  for (const [app, numbers] of Object.entries(apps)) {
    for (const [index, file] of [FIRST, SECOND, THIRD].entries()) {
      const copy = path.join(ROOT, `apps/${app}/migrations`, `${numbers[index]}-${file.slice(5)}`)
      expect(await readFile(copy, 'utf8')).toBe(await readFile(path.join(MIGRATIONS, file), 'utf8'))
    }
  }
})
