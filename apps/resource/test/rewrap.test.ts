import { access, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { generateKeyEncryptionKey } from '@plainpath/sealing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runResource } from './run-resource.ts'
import { createPost, sendRequest } from './send-request.ts'
import { type ContactApi, startContact } from './start-contact.ts'

const resources = new AsyncDisposableStack()
let contact: ContactApi
/** The key file of the commands. The API keeps its own, with the old key. */
let kekFile: string
beforeAll(async () => {
  contact = resources.use(await startContact())
  kekFile = path.join(contact.api.keyFolder, 'kek-of-commands')
})
afterAll(() => resources.disposeAsync())

const run = (...args: string[]) =>
  runResource(args, {
    RESOURCE_DATABASE_URL: contact.api.databaseUrl,
    RESOURCE_KEK_FILE: kekFile,
    RESOURCE_HASH_KEY_FILE: path.join(contact.api.keyFolder, 'hash-key'),
  })
const rewrap = async (...args: string[]) => JSON.parse((await run('rewrap', '--json', ...args)).out)

test('rewrap re-encrypts addresses and messages under the newest key-encryption key, which alone then decrypts them', async () => {
  for (const email of ['Ana@example.org', 'ben@example.org'])
    expect(
      (await sendRequest(contact.api.origin, { path: '/api/waitlist', ...createPost({ email }) })).status,
    ).toBe(201)
  const token = contact.issueToken('cleo@example.org', 'reg_a')
  const handOff = { triggers: ['risky-travel'] }
  const question = { topic: 'question', message: 'May I renew it from abroad?', handOff }
  const sendResponse = await contact.send(token, question)
  expect(sendResponse.status).toBe(202)
  const { id } = sendResponse.json()
  const oldKey = await readFile(path.join(contact.api.keyFolder, 'kek'), 'utf8')
  const newKey = `${generateKeyEncryptionKey()}\n`

  // The newest key comes first in the file.
  await writeFile(kekFile, newKey + oldKey)
  // The values of the message are its text, its reply address and its triggers.
  const counts = { ok: true, addresses: 2, messages: 3 }
  expect(await rewrap('--dry-run')).toEqual({ ...counts, done: false })
  expect(await rewrap()).toEqual({ ...counts, done: true })
  expect(await run('rewrap')).toEqual({
    code: 0,
    out: 'Re-encrypted the data keys of 0 waitlist addresses and 0 message values.',
    errors: '',
  })

  await writeFile(kekFile, newKey)
  const showResult = await run('contact', 'show', String(id), '--json')
  expect(JSON.parse(showResult.out)).toMatchObject({
    text: question.message,
    replyTo: 'cleo@example.org',
    triggers: handOff.triggers,
  })
  const exportFile = path.join(contact.api.keyFolder, 'exported')
  expect((await run('waitlist', 'export', '--file', exportFile)).code).toBe(0)
  expect(await readFile(exportFile, 'utf8')).toMatch(/(Ana|ben)@example\.org[\s\S]*(Ana|ben)@example\.org/)

  await writeFile(kekFile, oldKey)
  const refusal = await run('rewrap', '--json')
  expect([refusal.code, JSON.parse(refusal.out)]).toEqual([1, { ok: false, reason: refusal.errors }])
  expect(refusal.errors).toMatch(/^A stored address or message cannot be decrypted/)
  const failure = { code: 1, out: '', errors: refusal.errors }
  expect(await run('contact', 'show', String(id))).toEqual(failure)
  const unwrittenFile = path.join(contact.api.keyFolder, 'unfinished')
  expect(await run('waitlist', 'export', '--file', unwrittenFile)).toEqual(failure)
  await expect(access(unwrittenFile)).rejects.toThrow('ENOENT')
})

test('the only columns with encrypted values are those that rewrap re-encrypts, and the one of mails', async () => {
  const { rows } = await contact.api.db.query<{ column: string }>(
    `select table_name || '.' || column_name as column from information_schema.columns
     where table_schema = 'public' and column_name like '%\\_sealed' order by 1`,
  )
  expect(rows.map(({ column }) => column)).toEqual([
    'contact_messages.agent_domain_sealed',
    'contact_messages.hand_off_sealed',
    'contact_messages.message_sealed',
    'contact_messages.note_sealed',
    'contact_messages.reply_sealed',
    'mails.mail_sealed',
    'waitlist_entries.email_sealed',
  ])
})
