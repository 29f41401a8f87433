import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { createSealer } from '@plainpath/sealing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { getMessageContext } from '../src/contact/contact-message.ts'
import { runResource } from './run-resource.ts'
import { createPost, sendRequest } from './send-request.ts'
import { type ContactApi, newMessage, startContact } from './start-contact.ts'

const resources = new AsyncDisposableStack()
let contact: ContactApi
let folder: string
let env: Record<string, string>
beforeAll(async () => {
  contact = resources.use(await startContact())
  folder = await mkdtemp(path.join(tmpdir(), 'desk-'))
  resources.defer(() => rm(folder, { recursive: true }))
  const { keyFolder } = contact.api
  env = {
    RESOURCE_DATABASE_URL: contact.api.databaseUrl,
    RESOURCE_KEK_FILE: path.join(keyFolder, 'kek'),
    RESOURCE_HASH_KEY_FILE: path.join(keyFolder, 'hash-key'),
  }
})
afterAll(() => resources.disposeAsync())

const run = (...args: string[]) => runResource(args, env)
/** Reads the audit log, one string per row. */
const readAudit = async () => {
  const { rows } = await contact.api.db.query<{ line: string }>(
    `select action || ': ' || about as line from desk_audit order by id`,
  )
  return rows.map(({ line }) => line)
}
const join = (email: string) =>
  sendRequest(contact.api.origin, { path: '/api/waitlist', ...createPost({ email }) })

test('the waitlist is listed without addresses, and exported with them to a new private file, which is audited', async () => {
  await join('Ana@example.org')
  await join('ben@example.org')
  const list = await run('waitlist', 'list', '--json')
  expect(JSON.parse(list.out)).toMatchObject({ entries: [{ confirmedAt: null, referred: false }, {}] })
  expect(list.out + (await run('waitlist', 'list')).out).not.toMatch(/@|Ana/)
  expect(await readAudit()).toEqual([])

  const file = path.join(folder, 'waitlist.jsonl')
  expect(await run('waitlist', 'export', '--file', file)).toMatchObject({
    code: 0,
    out: `Wrote 2 entries to ${file}.`,
  })
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const emails = (await readFile(file, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).email)
  expect(emails.toSorted()).toEqual(['Ana@example.org', 'ben@example.org'])
  expect(await run('waitlist', 'export', '--file', file)).toMatchObject({
    code: 1,
    errors: expect.stringContaining('EEXIST'),
  })
  expect(await readAudit()).toEqual(['waitlist export: 2 entries'])
})

test('the statistics of the waitlist count by week and by referrer', async () => {
  const { rows } = await contact.api.db.query<{ id: string }>(
    'select id from waitlist_entries order by id limit 2',
  )
  const [referrer, referred] = rows.map(({ id }) => id)
  await contact.api.db.query(
    `update waitlist_entries set referred_by = $1, confirmed_at = now(), joined_at = now() - interval '14 days' where id = $2`,
    [referrer, referred],
  )
  const statistics = JSON.parse((await run('waitlist', 'stats', '--json')).out)
  expect(statistics).toMatchObject({
    referred: 1,
    credited: 1,
    referrers: [{ referrer, referred: 1, credited: 1 }],
  })
  expect(statistics.weeks).toHaveLength(12)
  expect(statistics.weeks.at(-3)).toMatchObject({ joined: 1, confirmed: 1 })
  const { out } = await run('waitlist', 'stats')
  // A bar for each of twelve weeks. The entry of two weeks ago is in the tenth, and the others are in the last.
  expect(out).toMatch(/^Joined by week, \d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d: {2}▁{9}[▂-█]▁[▂-█]$/m)
  expect(out).toContain(`${referrer}  1 referred, 1 confirmed`)
})

test('an address in any spelling is removed from the waitlist once, which is audited without the address', async () => {
  const file = path.join(folder, 'address')
  const forget = async (address: string) => {
    await writeFile(file, `${address}\n`)
    return await run('waitlist', 'forget', '--address-file', file)
  }
  await join('cleo@example.org')
  const forgetResult = await forget(' CLEO@Example.org')
  expect(forgetResult).toMatchObject({ code: 0 })
  expect(JSON.parse(forgetResult.errors)).toMatchObject({ event: 'entry-erased', by: 'operator' })
  expect(forgetResult.errors).not.toMatch(/cleo/i)
  expect(await forget('cleo@example.org')).toMatchObject({ code: 1, out: '' })
  expect(await forget('nobody')).toMatchObject({
    code: 1,
    errors: 'The text in --address-file is not an e-mail address. Nothing was changed.',
  })
  expect(await run('waitlist', 'forget', '--address-file', `${file}-none`)).toMatchObject({
    code: 1,
    errors: 'The file of --address-file cannot be read (ENOENT).',
  })
  // An address as an argument is refused, because others can see the arguments of a process.
  expect(await run('waitlist', 'forget', 'cleo@example.org')).toMatchObject({ code: 2 })
  expect((await readAudit()).at(-1)).toMatch(/^waitlist forget: [0-9a-f-]{36}$/)
  expect((await join('cleo@example.org')).status).toBe(201)
})

test('waitlist forget reads the address from a pipe, and does not wait for the end of an input that is too long', async () => {
  await join('dora@example.org')
  const forget = (input: Iterable<string>) => {
    const main = path.resolve(import.meta.dirname, '../src/main.ts')
    const child = spawn(process.execPath, [main, 'waitlist', 'forget', '--address-file', '-'], {
      env: { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '', ...env },
    })
    // The command may exit before it has read all input.
    Readable.from(input).pipe(child.stdin.on('error', () => undefined))
    return Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  }
  const [output, , [exitCode]] = await forget(['do', 'ra@example.org\n'])
  expect([output, exitCode]).toEqual(['The address was removed from the waitlist.\n', 0])
  const [, errors, [refusedExitCode]] = await forget(repeatEndlessly('dora@example.org'))
  expect([errors, refusedExitCode]).toEqual([
    'The text in --address-file is not an e-mail address. Nothing was changed.\n',
    1,
  ])
})

function* repeatEndlessly(chunk: string) {
  for (;;) yield chunk
}

describe('messages', () => {
  const MESSAGE = { topic: 'question', message: 'Canary text.\nTwo lines.' }

  test('are listed without text and address, and shown with them, which is audited', async () => {
    const { id } = (await contact.send(contact.issueToken('ana@example.org', 'reg_a'), MESSAGE)).json()
    const list = await run('contact', 'list', '--json')
    expect(JSON.parse(list.out)).toMatchObject({ messages: [{ id, topic: 'question' }] })
    expect(list.out + (await run('contact', 'list')).out).not.toMatch(/Canary|ana@/)
    const showResult = await run('contact', 'show', String(id))
    expect(showResult.out).toContain('Reply to ana@example.org\n| Canary text.\n| Two lines.')
    expect((await readAudit()).at(-1)).toBe(`contact show: ${String(id)}`)
  })

  test('are listed by urgency, with age and triggers, and decrypting triggers is audited', async () => {
    const token = contact.issueToken('ana@example.org', 'reg_list')
    const triggerLists = [['risky-travel'], ['smuggling', 'missed-hearing'], [], ['public-charge']]
    const ids: unknown[] = []
    for (const triggers of triggerLists) {
      const handOff = triggers.length > 0 ? { triggers } : null
      ids.push((await contact.send(token, { ...newMessage(), handOff })).json()['id'])
    }
    await contact.api.db.query(
      // Two hours and five minutes, which the list shows as `2 h`.
      `update contact_messages set created_at = created_at - interval '125 minutes' where id = $1`,
      [ids[1]],
    )
    const { messages } = JSON.parse((await run('contact', 'list', '--json')).out)
    expect(messages.slice(0, 4)).toMatchObject([
      { id: ids[1], urgency: 'urgent', triggers: ['missed-hearing', 'smuggling'], ageMinutes: 125 },
      { id: ids[0], urgency: 'high', triggers: ['risky-travel'], ageMinutes: 0 },
      { id: ids[3], urgency: 'normal', triggers: ['public-charge'] },
      { id: ids[2], urgency: null, triggers: [] },
    ])
    expect((await run('contact', 'list')).out.split('\n')[0]).toMatch(
      /  2 h  question, (received|delivered)  urgent: missed-hearing, smuggling$/,
    )
    expect((await readAudit()).at(-1)).toBe('contact list: triggers of 3 messages')
    const showResult = await run('contact', 'show', String(ids[1]))
    expect(showResult.out).toContain('Needs an attorney: missed-hearing, smuggling\n')
  })

  test('are listed with a trigger that only another release knows, and decrypting it is audited', async () => {
    const { id } = (await contact.send(contact.issueToken('ana@example.org', 'reg_other'), MESSAGE)).json()
    const sealer = createSealer(await readFile(path.join(contact.api.keyFolder, 'kek'), 'utf8'))
    const triggers = sealer.seal('["later-trigger"]', getMessageContext(String(id), 'hand-off'))
    await contact.api.db.query('update contact_messages set hand_off_sealed = $2 where id = $1', [
      id,
      triggers,
    ])
    const { messages } = JSON.parse((await run('contact', 'list', '--limit', '1', '--json')).out)
    expect(messages).toMatchObject([{ id, urgency: 'normal', triggers: ['later-trigger'] }])
    expect((await readAudit()).at(-1)).toBe('contact list: triggers of 1 message')
  })

  test('are assigned, answered and closed with a note, which the API does not show', async () => {
    const token = contact.issueToken('ana@example.org', 'reg_staff')
    const id = String((await contact.send(token, MESSAGE)).json()['id'])
    await contact.waitForState(id, 'delivered')
    const findListedMessage = async () =>
      JSON.parse((await run('contact', 'list', '--json')).out).messages.find(
        (message: { id: string }) => message.id === id,
      )
    expect(await findListedMessage()).toMatchObject({ staffState: 'delivered', owner: null })
    expect((await run('contact', 'assign', id, '--to', 'Rosa')).out).toBe(
      `Assigned message ${id} to Rosa. Its state is: delivered.`,
    )
    expect((await run('contact', 'answered', id)).out).toBe(`Message ${id} is now answered.`)
    expect(await findListedMessage()).toMatchObject({ staffState: 'answered', owner: 'Rosa' })
    const file = path.join(folder, 'note')
    // A note has at most 2,000 characters, and must not send commands to a terminal.
    for (const invalidNote of [' ', 'x'.repeat(2_001), 'a \u001B[2J command to the terminal']) {
      await writeFile(file, invalidNote)
      expect(await run('contact', 'close', id, '--note-file', file)).toMatchObject({ code: 1, out: '' })
    }
    await writeFile(file, 'Canary note')
    expect((await run('contact', 'close', id, '--note-file', file)).out).toBe(`Message ${id} is now closed.`)
    expect(await findListedMessage()).toMatchObject({
      staffState: 'closed',
      owner: 'Rosa',
      state: 'delivered',
    })
    expect((await run('contact', 'list')).out).toContain('question, closed, assigned to Rosa')
    expect((await run('contact', 'show', id)).out).toContain('Assigned to Rosa\n')
    expect((await run('contact', 'show', id)).out).toContain('Staff note:\n| Canary note')
    for (const repeatedArgs of [
      ['assign', id],
      ['answered', id],
      ['close', id, '--note-file', file],
    ])
      expect(await run('contact', ...repeatedArgs)).toMatchObject({ code: 1, out: '' })
    const { rows } = await contact.api.db.query(
      'select t::text as line from contact_messages t where id = $1',
      [id],
    )
    expect(JSON.stringify(rows)).not.toContain(Buffer.from('Canary note').toString('hex'))
    expect(await readAudit()).toEqual(
      expect.arrayContaining([`contact assign: ${id}`, `contact answered: ${id}`, `contact close: ${id}`]),
    )
    await run('contact', 'erase', id)
    const erased = await contact.api.db.query('select note_sealed from contact_messages where id = $1', [id])
    expect(erased.rows).toEqual([{ note_sealed: null }])
  })

  test('are erased once, even after delivery, which is audited, and are then shown as erased', async () => {
    const { id } = (await contact.send(contact.issueToken('ana@example.org', 'reg_a'), newMessage())).json()
    await contact.waitForState(id, 'delivered')
    expect(await run('contact', 'erase', String(id), '--json')).toMatchObject({ code: 0 })
    expect((await readAudit()).at(-1)).toBe(`contact erase: ${String(id)}`)
    expect(await run('contact', 'erase', String(id))).toMatchObject({ code: 1, out: '' })
    const listLine = (await run('contact', 'list')).out
      .split('\n')
      .find((line) => line.startsWith(String(id)))
    expect(listLine).toContain(', erased')
    const showResult = await run('contact', 'show', String(id))
    expect(showResult).toMatchObject({
      code: 0,
      out: expect.stringMatching(/, erased\.\n.*were erased on 20/),
    })
    const unknownId = '00000000-0000-4000-8000-000000000000'
    for (const command of ['show', 'erase', 'answered'])
      expect(await run('contact', command, unknownId)).toMatchObject({ code: 1, out: '' })
    expect(await run('contact', 'show', 'x')).toMatchObject({
      code: 1,
      errors: 'The argument is not the id of a message. To list the ids, run "contact list".',
    })
  })
})

test('the role of the app may neither update nor delete rows of the audit log', async () => {
  const { api } = contact
  const { rows } = await api.db.query(
    `select has_table_privilege(rolname, 'desk_audit', 'update') or has_table_privilege(rolname, 'desk_audit', 'delete') as may
     from pg_roles where rolname = $1`,
    [new URL(api.databaseUrl).username],
  )
  expect(rows).toEqual([{ may: false }])
})
