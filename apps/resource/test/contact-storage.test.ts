import { readFileSync } from 'node:fs'
import path from 'node:path'
import { DAY_MS } from '@plainpath/domain'
import { parseHashKey } from '@plainpath/sealing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPost, expectProblem, sendRequest } from './send-request.ts'
import { type ContactApi, newMessage, STAFF_INBOX, startContact } from './start-contact.ts'

let contact: ContactApi
let now = new Date()
beforeAll(async () => {
  contact = await startContact({ now: () => now })
})
afterAll(() => contact[Symbol.asyncDispose]())

const VALID_MESSAGE = { topic: 'question', message: 'Canary question about a permit.' }
const issueToken = (registrationId: string) => contact.issueToken('canary-ana@example.org', registrationId)
/** Sends a request to the address of a message. */
const requestMessage = (method: string, id: unknown, registrationId: string) =>
  sendRequest(contact.api.origin, {
    method,
    path: `/api/contact/${String(id)}`,
    headers: { authorization: `Bearer ${issueToken(registrationId)}` },
  })
const queryRows = async (sql: string, values: unknown[] = []) =>
  (await contact.api.db.query(sql, values)).rows

describe('Idempotency-Key', () => {
  const send = (registrationId: string, key: string, body: object = VALID_MESSAGE) =>
    contact.send(issueToken(registrationId), body, { 'idempotency-key': key })

  test('returns the same message for a repeated request, which queues no further mails', async () => {
    const first = await send('reg_a', 'key-1')
    const repeatedResponse = await send('reg_a', 'key-1')
    expect([repeatedResponse.status, repeatedResponse.json()]).toEqual([202, first.json()])
    const { id } = first.json()
    expect(await queryRows('select count(*) as mails from mails where about = $1', [id])).toEqual([
      { mails: 2 },
    ])
  })

  test('is separate for each registration', async () => {
    const ids = [await send('reg_a', 'key-2'), await send('reg_b', 'key-2')].map((sent) => sent.json()['id'])
    expect(new Set(ids).size).toBe(2)
  })

  test('is refused with 422 for another body within 24 hours, may be used for it afterwards, and is stored only as a hash', async () => {
    const { id } = (await send('reg_a', 'canary-key')).json()
    const rowsBefore = await contact.countStoredRows()
    expectProblem(await send('reg_a', 'canary-key', { ...VALID_MESSAGE, topic: 'other' }), {
      status: 422,
      code: 'idempotency-key-reused',
    })
    expect(await contact.countStoredRows()).toBe(rowsBefore)
    expect(JSON.stringify(await queryRows('select m::text from contact_messages m'))).not.toContain('canary')
    now = new Date(now.getTime() + DAY_MS)
    const laterResponse = await send('reg_a', 'canary-key', { ...VALID_MESSAGE, topic: 'other' })
    expect(laterResponse.status).toBe(202)
    expect(laterResponse.json()['id']).not.toBe(id)
  })

  test.for([
    ['of 201 characters', 'k'.repeat(201)],
    ['of 10,000 characters', 'k'.repeat(10_000)],
    ['with a space', 'a b'],
  ] as const)('is refused with 400: a key %s', async ([, key]) => {
    const rowsBefore = await contact.countStoredRows()
    expectProblem(await send('reg_a', key), { status: 400, code: 'invalid-request' })
    expect(await contact.countStoredRows()).toBe(rowsBefore)
  })

  test('is refused with 409 while the first request with the key is in flight, and nothing is stored', async () => {
    // Takes the lock that the first request with this key would hold until its transaction ends.
    const hashKey = parseHashKey(readFileSync(path.join(contact.api.keyFolder, 'hash-key'), 'utf8'))
    const lock = hashKey.hash('idempotency/contact', 'reg_g\nkey-4').readBigInt64BE().toString()
    const rowsBefore = await contact.countStoredRows()
    await contact.api.db.transaction(async (tx) => {
      await tx.query('select pg_advisory_xact_lock($1::bigint)', [lock])
      expectProblem(await send('reg_g', 'key-4'), { status: 409, code: 'idempotency-in-progress' })
    })
    expect(await contact.countStoredRows()).toBe(rowsBefore)
    expect((await send('reg_g', 'key-4')).status).toBe(202)
  })

  test('stores one message for many simultaneous requests; the other responses are the same or 409', async () => {
    const responses = await Promise.all(Array.from({ length: 20 }, () => send('reg_c', 'key-3')))
    const acceptedIds = responses.filter(({ status }) => status === 202).map((each) => each.json()['id'])
    expect(new Set(acceptedIds).size).toBe(1)
    // Others may be 503 on a busy machine, where the wait for a connection can exceed its limit.
    for (const refusal of responses.filter(({ status }) => status !== 202 && status !== 503))
      expectProblem(refusal, { status: 409, code: 'idempotency-in-progress' })
    expect(
      await queryRows(`select count(*) as messages from contact_messages where registration_id = 'reg_c'`),
    ).toEqual([{ messages: 1 }])
  })
})

test('a message is erased 90 days after its delivery, and not a millisecond earlier', async () => {
  const { id } = (await contact.send(issueToken('reg_e'), newMessage())).json()
  await contact.waitForState(id, 'delivered')
  const deliveredAt = now
  now = new Date(deliveredAt.getTime() + 90 * DAY_MS - 1)
  await contact.api.resource.retention.enforce()
  expect((await requestMessage('GET', id, 'reg_e')).json()['status']).toBe('delivered')
  now = new Date(deliveredAt.getTime() + 90 * DAY_MS)
  await contact.api.resource.retention.enforce()
  expect((await requestMessage('GET', id, 'reg_e')).json()['status']).toBe('erased')
  expect(await queryRows('select id from contact_messages where message_sealed is not null')).toEqual([])
})

test('a metric shows the time of the last successful erasure, which a failed one does not change', async () => {
  const { resource, db, operations } = contact.api
  const readLastSuccess = async () => {
    const metrics = await (await fetch(`${operations.url}/metrics`)).text()
    const line = /^retention_last_success_timestamp_seconds\{sweep="links and messages",.*\} (\S+)$/m
    return Number(line.exec(metrics)?.[1])
  }
  const firstSuccess = await readLastSuccess()
  expect(Math.abs(Date.now() / 1_000 - firstSuccess)).toBeLessThan(600)
  await db.query('alter table contact_messages rename to messages_away')
  await expect(resource.retention.enforce()).rejects.toThrow('contact_messages')
  expect(await readLastSuccess()).toBe(firstSuccess)
  await db.query('alter table messages_away rename to contact_messages')
  await resource.retention.enforce()
  expect(await readLastSuccess()).toBeGreaterThan(firstSuccess)
})

test('one registration sends at most ten messages an hour, and another is not affected', async () => {
  await using limitedContact = await startContact({ env: { RESOURCE_LIMITS_FACTOR: '1' } })
  const token = limitedContact.issueToken('ana@example.org', 'reg_x')
  for (let time = 0; time < 10; time++)
    expect((await limitedContact.send(token, newMessage())).status).toBe(202)
  expectProblem(await limitedContact.send(token, newMessage()), { status: 429, code: 'rate-limited' })
  expect(
    (await limitedContact.send(limitedContact.issueToken('ana@example.org', 'reg_y'), VALID_MESSAGE)).status,
  ).toBe(202)
})

test('the tables and the log contain no address, text, idempotency key or user agent in plaintext', async () => {
  await contact.send(issueToken('reg_f'), VALID_MESSAGE, {
    'idempotency-key': 'canary-key-2',
    'user-agent': 'canary-agent',
  })
  const storedRows = JSON.stringify(
    await queryRows(`select c::text as row from contact_messages c union all select m::text from mails m`),
  )
  // The first letter is left out, so that both `canary` and `Canary` are found.
  const hex = Buffer.from('anary').toString('hex')
  for (const hidden of ['anary', hex])
    expect(storedRows + contact.api.logLines.join('\n')).not.toContain(hidden)
})

describe('/contact', () => {
  const formHeaders = {
    accept: 'text/html',
    'content-type': 'application/x-www-form-urlencoded',
    'sec-fetch-site': 'same-origin',
  }
  const submit = (fields: Record<string, string>, headers: object = {}) =>
    sendRequest(contact.api.origin, {
      path: '/contact',
      ...createPost(new URLSearchParams(fields).toString(), { ...formHeaders, ...headers }),
    })
  const FIELDS = { topic: 'attorney', message: 'Canary words.', email: 'canary-ben@example.org' }
  /** Finds the confirmation link in the newest mail. `press` presses the button on its page. */
  const findConfirmLink = async () => {
    const mail = (await contact.mailServer.waitForMails(1, FIELDS.email)).at(-1)
    const link = /^http\S+\/contact\/confirm\?link=(\S+)$/m.exec(mail?.text ?? '')?.[1] ?? ''
    const press = () =>
      sendRequest(contact.api.origin, {
        path: '/contact/confirm',
        ...createPost(`link=${link}`, formHeaders),
      })
    return { link, press }
  }

  test('sends a message when the button behind the mailed link is pressed, and not before', async () => {
    const page = await sendRequest(contact.api.origin, { path: '/contact', headers: { accept: 'text/html' } })
    expect(page.body).toContain('justice.gov')
    expect((await submit(FIELDS)).status).toBe(202)
    const { link, press } = await findConfirmLink()
    const findMailsToStaff = () =>
      contact.mailServer.received.filter(
        ({ to, replyTo }) => to.includes(STAFF_INBOX) && replyTo === FIELDS.email,
      )
    const openedPage = await sendRequest(contact.api.origin, { path: `/contact/confirm?link=${link}` })
    expect(openedPage.status).toBe(200)
    expect(await queryRows(`select state from contact_messages where state = 'unconfirmed'`)).toHaveLength(1)
    expect(findMailsToStaff()).toEqual([])
    expect((await press()).body).toContain('Your message is sent')
    await expect
      .poll(findMailsToStaff, { timeout: 30_000 })
      .toMatchObject([{ text: expect.stringContaining('| Canary words.') }])
    expect((await press()).status).toBe(404)
  })

  test('erases a message that is not confirmed within 24 hours, and its link no longer works', async () => {
    await submit({ ...FIELDS, email: 'canary-cleo@example.org' })
    const [mail] = await contact.mailServer.waitForMails(1, 'canary-cleo@example.org')
    const link = /link=(\S+)/.exec(mail?.text ?? '')?.[1] ?? ''
    // Adds more messages than the erasure handles in one batch.
    await contact.api.db.query(
      `insert into contact_messages (id, topic, created_at, message_sealed, reply_sealed, state, link_hash)
       select gen_random_uuid(), topic, created_at, message_sealed, reply_sealed, state, sha256(n::text::bytea)
       from contact_messages, generate_series(1, 2500) n where state = 'unconfirmed' limit 2500`,
    )
    now = new Date(now.getTime() + DAY_MS)
    const confirmResponse = await sendRequest(contact.api.origin, {
      path: '/contact/confirm',
      ...createPost(`link=${link}`, formHeaders),
    })
    expect(confirmResponse.status).toBe(404)
    await contact.api.resource.retention.enforce()
    expect(await queryRows(`select id from contact_messages where state = 'unconfirmed'`)).toEqual([])
  })

  test.for([
    { fault: 'no message', change: { message: '' }, mistake: 'Write your message first' },
    { fault: 'an invalid address', change: { email: 'nobody' }, mistake: 'Type your e-mail address' },
    {
      fault: 'an address with a line break',
      change: { email: 'a@example.org\r\nBcc: b@example.org' },
      mistake: 'Type your e-mail address',
    },
    { fault: 'an unknown topic', change: { topic: '"><script>' }, mistake: 'Choose what' },
    {
      fault: 'a long message',
      change: { message: 'x'.repeat(5001) },
      mistake: 'Your message has 5,001 characters',
    },
  ])('reports $fault twice on the page, and stores nothing', async ({ change, mistake }) => {
    const rowsBefore = await contact.countStoredRows()
    const refusal = await submit({ ...FIELDS, ...change })
    // A text that occurs twice splits the page into three parts. Markup inside the text is removed first.
    expect([refusal.status, refusal.body.replaceAll(/<\/?span[^>]*>/g, '').split(mistake).length]).toEqual([
      400, 3,
    ])
    // The only script on the page is our own.
    expect(refusal.body).not.toMatch(/<script(?! src="\/assets\/leave-)/)
    expect(await contact.countStoredRows()).toBe(rowsBefore)
  })

  test('refuses a form of another site', async () => {
    const rowsBefore = await contact.countStoredRows()
    expect((await submit(FIELDS, { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    expect(await contact.countStoredRows()).toBe(rowsBefore)
  })
})
