import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { backUp } from '@plainpath/postgres/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runResource } from './run-resource.ts'
import { createPost, expectProblem, sendRequest } from './send-request.ts'
import { type ContactApi, startContact } from './start-contact.ts'

const resources = new AsyncDisposableStack()
let contact: ContactApi
let folder: string
let logFile: string
let env: Record<string, string>
beforeAll(async () => {
  contact = resources.use(await startContact())
  folder = await mkdtemp(path.join(tmpdir(), 'replay-'))
  resources.defer(() => rm(folder, { recursive: true }))
  logFile = path.join(folder, 'log')
  const { databaseUrl, keyFolder } = contact.api
  env = { RESOURCE_DATABASE_URL: databaseUrl, RESOURCE_HASH_KEY_FILE: path.join(keyFolder, 'hash-key') }
})
afterAll(() => resources.disposeAsync())

const run = (...args: string[]) =>
  runResource(args, { ...env, RESOURCE_KEK_FILE: path.join(contact.api.keyFolder, 'kek') })
const replay = async (...args: string[]) =>
  JSON.parse((await run('replay', '--log', logFile, '--json', ...args)).out)
const queryRows = async (sql: string) => (await contact.api.db.query(sql)).rows
const joinWaitlist = async (email: string) => {
  expect(
    (await sendRequest(contact.api.origin, { path: '/api/waitlist', ...createPost({ email }) })).status,
  ).toBe(201)
}
const sendMessage = async (registration: string) => {
  const token = contact.issueToken(`${registration}@example.org`, registration)
  const response = await contact.send(token, { topic: 'question', message: 'May I renew it from abroad?' })
  expect(response.status, response.body).toBe(202)
  return { token, id: String(response.json()['id']) }
}

/** Submits the form of the removal page. Its link is in the mail to each person who joined. */
async function leaveByMailedLink(email: string): Promise<void> {
  const [mail] = await contact.mailServer.waitForMails(1, email)
  const [, link = ''] = /(\/waitlist\/remove\?link=[A-Za-z0-9_-]{43})$/m.exec(mail?.text ?? '') ?? []
  const [page = '', query = ''] = link.split('?')
  const formHeaders = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' }
  const request = createPost(query, { ...formHeaders, 'sec-fetch-site': 'same-origin' })
  expect((await sendRequest(contact.api.origin, { path: page, ...request })).status).toBe(200)
}

async function withdrawMessage({ token, id }: { token: string; id: string }): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  const response = await sendRequest(contact.api.origin, {
    method: 'DELETE',
    path: `/api/contact/${id}`,
    headers,
  })
  // The message is erased. However, the attempt to deliver it counts as if staff had received it.
  expectProblem(response, { status: 409, code: 'message-may-be-delivered' })
}

test('after a restore, `resource replay` repeats the erasures since the backup', async () => {
  await joinWaitlist('left@example.org')
  await joinWaitlist('forgotten@example.org')
  await joinWaitlist('stays@example.org')
  const readQueuedCount = () => queryRows(`select count(*)::int as queued from mails where state = 'queued'`)
  await expect.poll(readQueuedCount).toEqual([{ queued: 0 }])
  // Defers both mails of the next message, so that the backup has them in the queue.
  contact.mailServer.refuseNext({ at: 'rcpt', code: 450 }, { at: 'rcpt', code: 450 })
  const messageToWithdraw = await sendMessage('reg_withdrawn')
  const listDeferredMailKinds = () =>
    queryRows(
      `select kind from mails where state = 'queued' and attempts = 1 and leased_until is null order by kind`,
    )
  await expect.poll(listDeferredMailKinds).toEqual([{ kind: 'contact-desk' }, { kind: 'contact-receipt' }])
  const deliveredMessage = await sendMessage('reg_delivered')
  await contact.waitForState(deliveredMessage.id, 'delivered')
  const restore = await backUp(contact.api.adminUrl ?? '')

  const linesBefore = contact.api.logLines.length
  await leaveByMailedLink('left@example.org')
  await withdrawMessage(messageToWithdraw)
  const addressFile = path.join(folder, 'address')
  await writeFile(addressFile, 'forgotten@example.org')
  const commandResults = [
    await run('waitlist', 'forget', '--address-file', addressFile),
    await run('contact', 'erase', deliveredMessage.id),
  ]
  expect(commandResults.map(({ code }) => code)).toEqual([0, 0])
  // Log collectors put a prefix before a line, and other programs write lines that are not JSON.
  const lines = [
    ...contact.api.logLines.slice(linesBefore),
    ...commandResults.map(({ errors }) => `[pod/resource-7d9f] ${errors}`),
    'a line of something else {',
  ]
  expect(lines.join('\n')).not.toMatch(/@example|abroad/)

  await restore()
  expect(await contact.api.countWaitlistEntries()).toBe(3)
  await writeFile(logFile, lines.join('\n'))
  const counts = { entries: 2, messages: 2 }
  expect(await replay('--dry-run')).toEqual({ ok: true, done: false, told: counts })
  expect(await contact.api.countWaitlistEntries()).toBe(3)
  expect(await replay()).toEqual({ ok: true, done: true, told: counts, erased: counts })
  const erasedMessage = { state: 'erased', message_sealed: null, reply_sealed: null }
  expect(await queryRows('select state, message_sealed, reply_sealed from contact_messages')).toEqual([
    erasedMessage,
    erasedMessage,
  ])
  const exportResult = await run('waitlist', 'export', '--file', `${logFile}-export`)
  expect(exportResult.out).toMatch(/^Wrote 1 entry to /)
  // The links to confirm and to remove the entry that stays.
  expect(await queryRows('select count(*)::int as links from waitlist_links')).toEqual([{ links: 2 }])
  expect(await queryRows(`select action, about from desk_audit where action = 'replay'`)).toEqual([
    { action: 'replay', about: '2 entries, 2 messages' },
  ])
  expect((await run('replay', '--log', logFile)).out).toBe(
    'The log records 2 waitlist entries and 2 messages as erased. Of these, 0 waitlist entries and 0 messages still existed and were erased again.',
  )
})

test('`replay` refuses a missing log, and a log in which no line is JSON', async () => {
  const missingFile = `${logFile}-missing`
  expect(await run('replay', '--log', missingFile)).toEqual({
    code: 1,
    out: '',
    errors: `${missingFile} cannot be read (ENOENT). Nothing was changed.`,
  })
  const printedFile = `${logFile}-printed`
  await writeFile(printedFile, '10:21:40 info resource: security event event="entry-erased"\n')
  expect(await run('replay', '--log', printedFile)).toMatchObject({
    code: 1,
    out: '',
    errors: expect.stringContaining('is not a log in JSON'),
  })
})
