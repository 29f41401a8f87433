import { readFileSync } from 'node:fs'
import path from 'node:path'
import { DAY_MS } from '@plainpath/domain'
import { parseHashKey } from '@plainpath/sealing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ContactApi, newMessage, STAFF_INBOX, startContact } from './contact-client.ts'
import { expectProblem, posting, sendRequest } from './send-request.ts'

let contact: ContactApi
let now = new Date()
beforeAll(async () => {
  contact = await startContact({ now: () => now })
})
afterAll(() => contact[Symbol.asyncDispose]())

const good = { topic: 'question', message: 'Canary question about a permit.' }
const tokenOf = (registrationId: string) => contact.tokenOf('canary-ana@example.org', registrationId)
const at = (method: string, id: unknown, registrationId: string) =>
  sendRequest(contact.api.origin, {
    method,
    path: `/api/contact/${String(id)}`,
    headers: { authorization: `Bearer ${tokenOf(registrationId)}` },
  })
const rows = async (sql: string, values: unknown[] = []) => (await contact.api.db.query(sql, values)).rows

describe('Idempotency-Key', () => {
  const send = (registrationId: string, key: string, body: object = good) =>
    contact.send(tokenOf(registrationId), body, { 'idempotency-key': key })

  test('returns the same message for a repeated request, with one mail each', async () => {
    const first = await send('reg_a', 'key-1')
    const again = await send('reg_a', 'key-1')
    expect([again.status, again.json()]).toEqual([202, first.json()])
    const { id } = first.json()
    expect(await rows('select count(*) as mails from mails where about = $1', [id])).toEqual([{ mails: 2 }])
  })

  test('is separate for each registration', async () => {
    const ids = [await send('reg_a', 'key-2'), await send('reg_b', 'key-2')].map((sent) => sent.json()['id'])
    expect(new Set(ids).size).toBe(2)
  })

  test('another body is 422 within 24 hours and a new message after, and the key is stored as a hash', async () => {
    const { id } = (await send('reg_a', 'canary-key')).json()
    const keptBefore = await contact.kept()
    expectProblem(await send('reg_a', 'canary-key', { ...good, topic: 'other' }), {
      status: 422,
      code: 'idempotency-key-reused',
    })
    expect(await contact.kept()).toBe(keptBefore)
    expect(JSON.stringify(await rows('select m::text from contact_messages m'))).not.toContain('canary')
    now = new Date(now.getTime() + DAY_MS)
    const later = await send('reg_a', 'canary-key', { ...good, topic: 'other' })
    expect(later.status).toBe(202)
    expect(later.json()['id']).not.toBe(id)
  })

  test.for([
    ['of 201 characters', 'k'.repeat(201)],
    ['of 10 000 characters', 'k'.repeat(10_000)],
    ['with a blank', 'a b'],
  ] as const)('%s is refused', async ([, key]) => {
    const keptBefore = await contact.kept()
    expectProblem(await send('reg_a', key), { status: 400, code: 'invalid-request' })
    expect(await contact.kept()).toBe(keptBefore)
  })

  test('while the first request is in flight the same key is 409, and nothing is stored', async () => {
    const hashKey = parseHashKey(readFileSync(path.join(contact.api.keys, 'hash-key'), 'utf8'))
    const lock = hashKey.hash('idempotency/contact', 'reg_g\nkey-4').readBigInt64BE().toString()
    const keptBefore = await contact.kept()
    await contact.api.db.transaction(async (tx) => {
      await tx.query('select pg_advisory_xact_lock($1::bigint)', [lock])
      expectProblem(await send('reg_g', 'key-4'), { status: 409, code: 'idempotency-in-progress' })
    })
    expect(await contact.kept()).toBe(keptBefore)
    expect((await send('reg_g', 'key-4')).status).toBe(202)
  })

  test('stores one message for many simultaneous requests; the other responses are the same or 409', async () => {
    const sent = await Promise.all(Array.from({ length: 20 }, () => send('reg_c', 'key-3')))
    const taken = sent.filter(({ status }) => status === 202).map((each) => each.json()['id'])
    expect(new Set(taken).size).toBe(1)
    // On a busy machine some wait for a connection longer than they may: 503.
    for (const each of sent.filter(({ status }) => status !== 202 && status !== 503))
      expectProblem(each, { status: 409, code: 'idempotency-in-progress' })
    expect(
      await rows(`select count(*) as kept from contact_messages where registration_id = 'reg_c'`),
    ).toEqual([{ kept: 1 }])
  })
})

test('a message is erased 90 days after delivery, and not a day earlier', async () => {
  const { id } = (await contact.send(tokenOf('reg_e'), newMessage())).json()
  await contact.becomes(id, 'delivered')
  const delivered = now
  now = new Date(delivered.getTime() + 90 * DAY_MS - 1)
  await contact.api.resource.retention.enforce()
  expect((await at('GET', id, 'reg_e')).json()['status']).toBe('delivered')
  now = new Date(delivered.getTime() + 90 * DAY_MS)
  await contact.api.resource.retention.enforce()
  expect((await at('GET', id, 'reg_e')).json()['status']).toBe('erased')
  expect(await rows('select id from contact_messages where message_sealed is not null')).toEqual([])
})

test('the metric shows the last successful erasure, and does not advance after a failed one', async () => {
  const { resource, db, operations } = contact.api
  const shown = async () => {
    const metrics = await (await fetch(`${operations.url}/metrics`)).text()
    const line = /^retention_last_success_timestamp_seconds\{sweep="links and messages",.*\} (\S+)$/m
    return Number(line.exec(metrics)?.[1])
  }
  const first = await shown()
  expect(Math.abs(Date.now() / 1_000 - first)).toBeLessThan(600)
  await db.query('alter table contact_messages rename to messages_away')
  await expect(resource.retention.enforce()).rejects.toThrow('contact_messages')
  expect(await shown()).toBe(first)
  await db.query('alter table messages_away rename to contact_messages')
  await resource.retention.enforce()
  expect(await shown()).toBeGreaterThan(first)
})

test('limits a registration to ten messages an hour over all clients and addresses', async () => {
  await using limited = await startContact({ env: { RESOURCE_LIMITS_FACTOR: '1' } })
  const token = limited.tokenOf('ana@example.org', 'reg_x')
  for (let time = 0; time < 10; time++) expect((await limited.send(token, newMessage())).status).toBe(202)
  expectProblem(await limited.send(token, newMessage()), { status: 429, code: 'rate-limited' })
  expect((await limited.send(limited.tokenOf('ana@example.org', 'reg_y'), good)).status).toBe(202)
})

test('a dump and the log name no address, message or key', async () => {
  await contact.send(tokenOf('reg_f'), good, {
    'idempotency-key': 'canary-key-2',
    'user-agent': 'canary-agent',
  })
  const dump = JSON.stringify(
    await rows(`select c::text as row from contact_messages c union all select m::text from mails m`),
  )
  const hex = Buffer.from('anary').toString('hex')
  for (const hidden of ['anary', hex]) expect(dump + contact.api.logged.join('\n')).not.toContain(hidden)
})

describe('/contact', () => {
  const form = {
    accept: 'text/html',
    'content-type': 'application/x-www-form-urlencoded',
    'sec-fetch-site': 'same-origin',
  }
  const write = (fields: Record<string, string>, headers: object = {}) =>
    sendRequest(contact.api.origin, {
      path: '/contact',
      ...posting(new URLSearchParams(fields).toString(), { ...form, ...headers }),
    })
  const typed = { topic: 'attorney', message: 'Canary words.', email: 'canary-ben@example.org' }
  const pressing = async () => {
    const mail = (await contact.server.mails(1, typed.email)).at(-1)
    const link = /^http\S+\/contact\/confirm\?link=(\S+)$/m.exec(mail?.text ?? '')?.[1] ?? ''
    const press = () =>
      sendRequest(contact.api.origin, { path: '/contact/confirm', ...posting(`link=${link}`, form) })
    return { link, press }
  }

  test('a message is sent by the button of the mailed link, and by nothing else', async () => {
    const page = await sendRequest(contact.api.origin, { path: '/contact', headers: { accept: 'text/html' } })
    expect(page.body).toContain('justice.gov')
    expect((await write(typed)).status).toBe(202)
    const { link, press } = await pressing()
    const toStaff = () =>
      contact.server.received.filter(({ to, replyTo }) => to.includes(STAFF_INBOX) && replyTo === typed.email)
    const opened = await sendRequest(contact.api.origin, { path: `/contact/confirm?link=${link}` })
    expect(opened.status).toBe(200)
    expect(await rows(`select state from contact_messages where state = 'unconfirmed'`)).toHaveLength(1)
    expect(toStaff()).toEqual([])
    expect((await press()).body).toContain('Your message is sent')
    await expect
      .poll(toStaff, { timeout: 30_000 })
      .toMatchObject([{ text: expect.stringContaining('| Canary words.') }])
    expect((await press()).status).toBe(404)
  })

  test('is erased when unconfirmed for 24 hours, and the link no longer works', async () => {
    await write({ ...typed, email: 'canary-cleo@example.org' })
    const [mail] = await contact.server.mails(1, 'canary-cleo@example.org')
    const link = /link=(\S+)/.exec(mail?.text ?? '')?.[1] ?? ''
    // More than is erased at a time.
    await contact.api.db.query(
      `insert into contact_messages (id, topic, created_at, message_sealed, reply_sealed, state, link_hash)
       select gen_random_uuid(), topic, created_at, message_sealed, reply_sealed, state, sha256(n::text::bytea)
       from contact_messages, generate_series(1, 2500) n where state = 'unconfirmed' limit 2500`,
    )
    now = new Date(now.getTime() + DAY_MS)
    const pressed = await sendRequest(contact.api.origin, {
      path: '/contact/confirm',
      ...posting(`link=${link}`, form),
    })
    expect(pressed.status).toBe(404)
    await contact.api.resource.retention.enforce()
    expect(await rows(`select id from contact_messages where state = 'unconfirmed'`)).toEqual([])
  })

  test.for([
    { why: 'no message', change: { message: '' }, words: 'Write your message first' },
    { why: 'no address', change: { email: 'nobody' }, words: 'Type your e-mail address' },
    {
      why: 'two lines of address',
      change: { email: 'a@example.org\r\nBcc: b@example.org' },
      words: 'Type your e-mail address',
    },
    { why: 'another topic', change: { topic: '"><script>' }, words: 'Choose what' },
    {
      why: 'a long message',
      change: { message: 'x'.repeat(5001) },
      words: 'Your message has 5,001 characters',
    },
  ])('reports $why at the top and beside the field, and stores nothing', async ({ change, words }) => {
    const keptBefore = await contact.kept()
    const refused = await write({ ...typed, ...change })
    expect([refused.status, refused.body.replaceAll(/<\/?span[^>]*>/g, '').split(words).length]).toEqual([
      400, 3,
    ])
    expect(refused.body).not.toMatch(/<script(?! src="\/assets\/leave-)/)
    expect(await contact.kept()).toBe(keptBefore)
  })

  test('refuses a form of another site', async () => {
    const keptBefore = await contact.kept()
    expect((await write(typed, { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    expect(await contact.kept()).toBe(keptBefore)
  })
})
