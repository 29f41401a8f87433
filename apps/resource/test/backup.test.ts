import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openPool } from '@plainpath/postgres'
import { createEmptyDatabase } from '@plainpath/postgres/testing'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { runResource } from './run-resource.ts'
import { createPost, sendRequest } from './send-request.ts'
import { type ContactApi, startContact } from './start-contact.ts'

const resources = new AsyncDisposableStack()
let contact: ContactApi
let folder: string
let backupFile: string
let logFile: string
beforeAll(async () => {
  contact = resources.use(await startContact())
  folder = await mkdtemp(path.join(tmpdir(), 'plainpath-backup-'))
  resources.defer(() => rm(folder, { recursive: true }))
  backupFile = path.join(folder, 'backup')
  logFile = path.join(folder, 'log')
  await fillAndBackUp()
}, 120_000)
afterAll(() => resources.disposeAsync())

/**
 * Stores two waitlist entries, whose mails are sent, and a message, whose two mails are refused. Then writes `backupFile`.
 */
async function fillAndBackUp(): Promise<void> {
  for (const email of ['first@example.org', 'second@example.org']) {
    const joinResponse = await sendRequest(contact.api.origin, {
      path: '/api/waitlist',
      ...createPost({ email }),
    })
    expect(joinResponse.status).toBe(201)
  }
  const countMails = async (state: string) =>
    (await contact.api.db.query('select from mails where state = $1', [state])).rowCount
  // `expect.poll` works only inside a test.
  const waitForMails = (state: string, count: number) =>
    vi.waitFor(async () => expect(await countMails(state)).toBe(count), { timeout: 30_000 })
  await waitForMails('queued', 0)
  // The mail server refuses both mails of the message, so the backup has them with their content.
  contact.mailServer.refuseNext({ at: 'rcpt', code: 550 }, { at: 'rcpt', code: 550 })
  const token = contact.issueToken('sender@example.org', 'sender')
  const response = await contact.send(token, { topic: 'question', message: 'May I renew it from abroad?' })
  expect(response.status, response.body).toBe(202)
  await waitForMails('dead', 2)
  const env = {
    RESOURCE_DATABASE_URL: contact.api.databaseUrl,
    RESOURCE_MIGRATION_DATABASE_URL: contact.api.adminUrl ?? '',
  }
  expect(await runResource(['backup', backupFile], env)).toMatchObject({ code: 0, errors: '' })
}

/** Creates an empty database, with functions that run commands on it and count its rows. */
async function createTarget() {
  const database = await createEmptyDatabase()
  const env = { RESOURCE_DATABASE_URL: database.appUrl, RESOURCE_MIGRATION_DATABASE_URL: database.ownerUrl }
  return {
    async countRows(table: string, where = 'true') {
      await using db = openPool(database.appUrl, { max: 1 })
      return (await db.query(`select from ${table} where ${where}`)).rowCount
    },
    run: (...args: string[]) => runResource(args, env),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}

test('a restore with a log restores the rows, except the entry whose erasure the log names', async () => {
  const { rows } = await contact.api.db.query<{ id: string }>('select id from waitlist_entries order by id')
  const guides = await contact.api.db.query('select from guides')
  const logLine = { msg: 'security event', event: 'entry-erased', entry_id: rows[0]?.id }
  // A restore ignores lines that are more than a minute older than the backup.
  await writeFile(logFile, JSON.stringify({ ...logLine, time: new Date(Date.now() + 1_000).toISOString() }))
  await using target = await createTarget()
  const restoration = await target.run('restore', backupFile, '--log', logFile, '--json')
  expect(restoration.code, restoration.errors).toBe(0)
  expect(JSON.parse(restoration.out)).toMatchObject({ done: true, replayed: { entries: 1, messages: 0 } })
  expect(await target.countRows('waitlist_entries')).toBe(1)
  expect(await target.countRows('contact_messages', `state <> 'erased'`)).toBe(1)
  expect(await target.countRows('guides')).toBe(guides.rowCount)
  expect(await target.countRows('desk_audit', `action = 'replay'`)).toBe(1)
})

test('a restore with --erase-everything erases every entry, link and message', async () => {
  await using target = await createTarget()
  const restoration = await target.run('restore', backupFile, '--erase-everything', '--json')
  expect(restoration.code, restoration.errors).toBe(0)
  expect(JSON.parse(restoration.out)).toMatchObject({ mails: 0, everything: { entries: 2, messages: 1 } })
  expect(await target.countRows('waitlist_entries')).toBe(0)
  expect(await target.countRows('waitlist_links')).toBe(0)
  expect(await target.countRows('contact_messages', 'message_sealed is not null')).toBe(0)
})

test('a restore erases the undeliverable mails of what it erases again, with or without a log', async () => {
  const { db } = contact.api
  await db.query(
    `update mails set state = 'dead', settled_at = now(), mail_sealed = coalesce(mail_sealed, 'text and address')`,
  )
  const file = path.join(folder, 'backup-with-dead-mails')
  const backupEnv = {
    RESOURCE_DATABASE_URL: contact.api.databaseUrl,
    RESOURCE_MIGRATION_DATABASE_URL: contact.api.adminUrl ?? '',
  }
  expect(await runResource(['backup', file], backupEnv)).toMatchObject({ code: 0, errors: '' })
  const { rows } = await db.query<{ line: object }>(
    `select json_build_object('msg', 'security event', 'event', 'entry-erased', 'entry_id', id) as line from waitlist_entries
     union all select json_build_object('msg', 'security event', 'event', 'message-erased', 'message_id', id) from contact_messages`,
  )
  // These lines have no time, so a restore does not ignore them.
  await writeFile(logFile, rows.map(({ line }) => JSON.stringify(line)).join('\n'))
  for (const args of [['--log', logFile], ['--erase-everything']]) {
    await using target = await createTarget()
    const restoration = await target.run('restore', file, ...args)
    expect(restoration.code, restoration.errors).toBe(0)
    expect(await target.countRows('mails', 'mail_sealed is not null')).toBe(0)
  }
})

test('a restore with neither --log nor --erase-everything is refused, and creates no tables', async () => {
  await using target = await createTarget()
  expect(await target.run('restore', backupFile)).toMatchObject({
    code: 2,
    errors: expect.stringContaining('Add --log <path> with the log since the backup'),
  })
  expect(await target.run('migrate')).toMatchObject({
    code: 0,
    out: expect.stringContaining('0001-waitlist'),
  })
})
