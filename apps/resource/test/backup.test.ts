import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openPool } from '@plainpath/postgres'
import { openEmptyDatabase } from '@plainpath/postgres/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ContactApi, startContact } from './contact-client.ts'
import { runResource } from './run-resource.ts'
import { posting, sendRequest } from './send-request.ts'

const resources = new AsyncDisposableStack()
let contact: ContactApi
let folder: string
let file: string
let log: string
beforeAll(async () => {
  contact = resources.use(await startContact())
  folder = await mkdtemp(path.join(tmpdir(), 'plainpath-backup-'))
  resources.defer(() => rm(folder, { recursive: true }))
  file = path.join(folder, 'backup')
  log = path.join(folder, 'log')
  await fillAndBackUp()
}, 120_000)
afterAll(() => resources.disposeAsync())

async function fillAndBackUp(): Promise<void> {
  for (const email of ['left@example.org', 'stays@example.org']) {
    const joined = await sendRequest(contact.api.origin, { path: '/api/waitlist', ...posting({ email }) })
    expect(joined.status).toBe(201)
  }
  const token = contact.tokenOf('sender@example.org', 'sender')
  const sent = await contact.send(token, { topic: 'question', message: 'May I renew it from abroad?' })
  expect(sent.status, sent.body).toBe(202)
  const source = {
    RESOURCE_DATABASE_URL: contact.api.databaseUrl,
    RESOURCE_MIGRATION_DATABASE_URL: contact.api.adminUrl ?? '',
  }
  expect(await runResource(['backup', file], source)).toMatchObject({ code: 0, errors: '' })
}

async function openTarget() {
  const database = await openEmptyDatabase()
  const env = { RESOURCE_DATABASE_URL: database.appUrl, RESOURCE_MIGRATION_DATABASE_URL: database.ownerUrl }
  return {
    async count(table: string, where = 'true') {
      await using db = openPool(database.appUrl, { max: 1 })
      return (await db.query(`select from ${table} where ${where}`)).rowCount
    },
    run: (...words: string[]) => runResource(words, env),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}

test('restores all rows, and erases again what the log names', async () => {
  const { rows } = await contact.api.db.query<{ id: string }>('select id from waitlist_entries order by id')
  const guides = await contact.api.db.query('select from guides')
  const erased = { msg: 'security event', event: 'entry-erased', entry_id: rows[0]?.id }
  await writeFile(log, JSON.stringify({ ...erased, time: new Date(Date.now() + 1_000).toISOString() }))
  await using target = await openTarget()
  const restored = await target.run('restore', file, '--log', log, '--json')
  expect(restored.code, restored.errors).toBe(0)
  expect(JSON.parse(restored.out)).toMatchObject({ done: true, replayed: { entries: 1, messages: 0 } })
  expect(await target.count('waitlist_entries')).toBe(1)
  expect(await target.count('contact_messages', `state <> 'erased'`)).toBe(1)
  expect(await target.count('guides')).toBe(guides.rowCount)
  expect(await target.count('desk_audit', `action = 'replay'`)).toBe(1)
})

test('a restore without a log erases every entry, message and waiting mail, and keeps the guides', async () => {
  await using target = await openTarget()
  const restored = await target.run('restore', file, '--erase-everything', '--json')
  expect(restored.code, restored.errors).toBe(0)
  expect(JSON.parse(restored.out)).toMatchObject({ mails: 0, everything: { entries: 2, messages: 1 } })
  expect(await target.count('waitlist_entries')).toBe(0)
  expect(await target.count('waitlist_links')).toBe(0)
  expect(await target.count('contact_messages', 'message_sealed is not null')).toBe(0)
})

test('is refused without a log, and changes nothing', async () => {
  await using target = await openTarget()
  expect(await target.run('restore', file)).toMatchObject({
    code: 2,
    errors: expect.stringContaining('Say what was erased since the backup'),
  })
  expect(await target.run('migrate')).toMatchObject({
    code: 0,
    out: expect.stringContaining('0001-waitlist'),
  })
})
