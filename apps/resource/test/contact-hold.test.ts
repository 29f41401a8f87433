import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, expectProblem, posting } from './ask.ts'
import { type ContactApi, DESK, newMessage, startContact } from './contact-client.ts'

let contact: ContactApi
let now = new Date('2026-11-20T12:00:00Z')
beforeAll(async () => {
  contact = await startContact({ env: { RESOURCE_CONTACT_HOLD: '10' }, now: () => now })
})
afterAll(() => contact[Symbol.asyncDispose]())

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const FORM = {
  accept: 'text/html',
  'content-type': 'application/x-www-form-urlencoded',
  'sec-fetch-site': 'same-origin',
}

const rows = async (sql: string, values: unknown[] = []) => (await contact.api.db.query(sql, values)).rows
const later = (ms: number) => {
  now = new Date(now.getTime() + ms)
}
/** Has the mailers look for mails that fell due. */
const wakeMailers = () => rows(`select pg_notify('mails', '')`)
const endHold = async (id: unknown) => {
  later(10 * MINUTE_MS)
  await wakeMailers()
  await contact.becomes(id, 'delivered')
}

let people = 0
/** A person with an agent, whose mails are theirs alone. */
function newPerson() {
  people += 1
  const email = `person-${people}@example.org`
  const registrationId = `reg_${people}`
  // A token does not last as long as some tests.
  const token = () => contact.tokenOf(email, registrationId)
  const send = (body: object, key?: string) =>
    contact.send(token(), body, key === undefined ? {} : { 'idempotency-key': key })
  return {
    email,
    send,
    sent: async (body: object = newMessage(), key?: string) => {
      const answer = await send(body, key)
      expect(answer.status, answer.body).toBe(202)
      return answer.json()
    },
    at: (method: string, id: unknown) =>
      ask(contact.api.origin, {
        method,
        path: `/api/contact/${String(id)}`,
        headers: { authorization: `Bearer ${token()}` },
      }),
    link: () => linkIn(email, /^http\S+\/contact\/withdraw\?link=(\S+)$/m),
  }
}
async function linkIn(email: string, pattern: RegExp, subject = /received/): Promise<string> {
  const found = () =>
    contact.server.received.filter((mail) => mail.to.includes(email) && subject.test(mail.subject)).at(-1)
  await expect.poll(found, { timeout: 10_000 }).toBeDefined()
  return pattern.exec(found()?.text ?? '')?.[1] ?? ''
}
const press = (path: string, link: string) =>
  ask(contact.api.origin, { path, ...posting(`link=${link}`, FORM) })
const toDesk = (id: unknown) =>
  contact.server.received.filter(({ to, subject }) => to.includes(DESK) && subject.includes(String(id)))
const ERASED = {
  state: 'erased',
  message_sealed: null,
  reply_sealed: null,
  hand_off_sealed: null,
  content_hash: null,
  withdraw_hash: null,
}
const storedContent = (id: unknown) =>
  rows(`select ${Object.keys(ERASED).join(', ')} from contact_messages where id = $1`, [id])

describe('a message', () => {
  test.for([
    { why: 'without triggers waits ten minutes', handOff: undefined, minutes: 10 },
    { why: 'with one of high urgency too', handOff: { triggers: ['child-alone'] }, minutes: 10 },
    {
      why: 'with an urgent one waits one minute',
      handOff: { triggers: ['smuggling', 'detention-ice'] },
      minutes: 1,
    },
  ])('$why, and its receipt leaves at once', async ({ handOff, minutes }) => {
    const person = newPerson()
    const heldUntil = new Date(now.getTime() + minutes * MINUTE_MS).toISOString()
    const sent = await person.sent({ ...newMessage(), handOff })
    expect(sent).toMatchObject({ status: 'received', heldUntil })
    expect((await person.at('GET', sent['id'])).json()).toEqual({
      id: sent['id'],
      status: 'received',
      heldUntil,
    })
    expect(await person.link()).toMatch(/^[\w-]{43}$/)
    later(minutes * MINUTE_MS - 1)
    // The mailer that sends this receipt found nothing else to send.
    const other = newPerson()
    await other.sent()
    await other.link()
    const desk = `select state, attempts from mails where about = $1 and kind = 'contact-desk'`
    expect(await rows(desk, [sent['id']])).toEqual([{ state: 'queued', attempts: 0 }])
    later(1)
    await wakeMailers()
    await contact.becomes(sent['id'], 'delivered')
    expect(toDesk(sent['id'])).toHaveLength(1)
    expect((await person.at('GET', sent['id'])).json()).toMatchObject({ status: 'delivered', heldUntil })
  })

  test('says when an answer comes, and where help is that cannot wait, in the response and in the receipt', async () => {
    const person = newPerson()
    const reply = (await person.sent())['reply']
    expect(reply).toMatchObject({
      expected: expect.stringMatching(/within five working days/),
      ifYouCannotWait: expect.stringMatching(/Do not miss a hearing/),
      findHelp: expect.arrayContaining([
        { title: 'If you are in danger now', phone: '911' },
        expect.objectContaining({ url: expect.stringMatching(/^https:\/\/www\.justice\.gov\//) }),
      ]),
    })
    await person.link()
    const [receipt] = await contact.server.mails(1, person.email)
    for (const said of [Object(reply).expected, Object(reply).ifYouCannotWait, '911', '1-800-799-7233'])
      expect(receipt?.text).toContain(said)
  })

  test('tells staff its triggers first, each once, and keeps them sealed', async () => {
    const person = newPerson()
    const triggers = ['public-charge', 'abuse-victim', 'public-charge']
    const { id } = await person.sent({ ...newMessage(), handOff: { triggers } })
    const stored = JSON.stringify(await rows('select c::text from contact_messages c where id = $1', [id]))
    for (const text of ['abuse-victim', Buffer.from('abuse-victim').toString('hex')])
      expect(stored + contact.api.logged.join('\n')).not.toContain(text)
    await endHold(id)
    expect(toDesk(id)[0]?.text).toMatch(
      /^Urgency: urgent\. .*:\n- abuse-victim \(urgent\)\n- public-charge \(normal\)\n\nAn AI agent wrote/,
    )
  })
})

describe('withdrawing', () => {
  test('by DELETE within the hold erases the message, and nothing goes to staff', async () => {
    const person = newPerson()
    const { id } = await person.sent({ ...newMessage(), handOff: { triggers: ['smuggling'] } })
    await person.link()
    later(10 * MINUTE_MS - 1)
    for (const _time of [1, 2]) expect((await person.at('DELETE', id)).status).toBe(204)
    expect((await person.at('GET', id)).json()['status']).toBe('erased')
    expect(await storedContent(id)).toEqual([ERASED])
    expect(
      await rows('select kind, state, mail_sealed from mails where about = $1 order by 1', [id]),
    ).toEqual([
      { kind: 'contact-desk', state: 'dropped', mail_sealed: null },
      { kind: 'contact-receipt', state: 'sent', mail_sealed: null },
    ])
    later(MINUTE_MS)
    const other = await newPerson().sent()
    await endHold(other['id'])
    expect(toDesk(id)).toEqual([])
  })

  test('by the link of the receipt: opening changes nothing, its button erases the message, once', async () => {
    const person = newPerson()
    const { id } = await person.sent()
    const link = await person.link()
    for (const method of ['HEAD', 'GET']) {
      const opened = await ask(contact.api.origin, { method, path: `/contact/withdraw?link=${link}` })
      expect(opened.status).toBe(200)
    }
    expect((await person.at('GET', id)).json()['status']).toBe('received')
    expect((await press('/contact/withdraw', link)).body).toContain('Your message is erased')
    expect(await storedContent(id)).toEqual([ERASED])
    expect(contact.api.logged.filter((line) => line.includes('message-erased')).at(-1)).toContain(String(id))
    expect((await press('/contact/withdraw', link)).status).toBe(404)
    expect((await press('/contact/withdraw', 'A'.repeat(43))).status).toBe(404)
  })

  test('after delivery is 409 by either way, which says what is left to do, by whom, and what staff keep', async () => {
    const person = newPerson()
    const { id } = await person.sent()
    const link = await person.link()
    await endHold(id)
    const before = await rows('select c::text from contact_messages c where id = $1', [id])
    const refused = await person.at('DELETE', id)
    expectProblem(refused, { status: 409, code: 'already-delivered' })
    const pressed = await press('/contact/withdraw', link)
    expect(pressed.status).toBe(409)
    for (const said of ['can ask our staff to erase', '90 days after delivery', 'mailbox of our staff keeps'])
      for (const text of [refused.json()['detail'], pressed.body]) expect(text).toContain(said)
    expect(await rows('select c::text from contact_messages c where id = $1', [id])).toEqual(before)
  })

  test('while a mail server is handed the message is 409, and works when it did not take it', async () => {
    const person = newPerson()
    const { id } = await person.sent()
    await person.link()
    const lease = (until: Date | null) =>
      rows(`update mails set leased_until = $2 where about = $1 and kind = 'contact-desk'`, [id, until])
    await lease(new Date(now.getTime() + MINUTE_MS))
    expectProblem(await person.at('DELETE', id), { status: 409, code: 'message-being-delivered' })
    expect((await person.at('GET', id)).json()['status']).toBe('received')
    await lease(null)
    expect((await person.at('DELETE', id)).status).toBe(204)
  })
})

describe('the Idempotency-Key of a message', () => {
  test('that was withdrawn is 409 until it is forgotten, nothing is kept, and a new key sends it', async () => {
    const person = newPerson()
    const body = newMessage()
    const first = await person.sent(body, 'key-1')
    later(MINUTE_MS)
    expect(await person.sent(body, 'key-1')).toEqual(first)
    expect((await person.at('DELETE', first['id'])).status).toBe(204)
    const before = await contact.kept()
    const refused = await person.send(body, 'key-1')
    expectProblem(refused, { status: 409, code: 'message-withdrawn' })
    expect(refused.json()['detail']).toContain('new Idempotency-Key')
    expectProblem(await person.send(newMessage(), 'key-1'), { status: 422, code: 'idempotency-key-reused' })
    expect(await contact.kept()).toBe(before)
    const second = await person.sent(body, 'key-2')
    expect(second['id']).not.toBe(first['id'])
    expect((await person.at('GET', second['id'])).json()['status']).toBe('received')
  })

  test('with other triggers is 422', async () => {
    const person = newPerson()
    const body = newMessage()
    await person.sent(body, 'key-1')
    const changed = { ...body, handOff: { triggers: ['missed-hearing'] } }
    expectProblem(await person.send(changed, 'key-1'), { status: 422, code: 'idempotency-key-reused' })
  })
})

describe('the same message again', () => {
  test('within 24 hours and without a key is 409, which names the first, and nothing is kept', async () => {
    const person = newPerson()
    const body = { ...newMessage(), guideSlug: 'work-permit' }
    const { id } = await person.sent(body, 'key-1')
    later(DAY_MS - 1)
    const before = await contact.kept()
    const refused = await person.send({ ...body, message: ` ${body.message}\r\n` })
    expectProblem(refused, { status: 409, code: 'duplicate-message' })
    expect(refused.json()).toMatchObject({ first: id, detail: expect.stringContaining(String(id)) })
    expect(await contact.kept()).toBe(before)
  })

  type Person = ReturnType<typeof newPerson>
  test.for([
    ['another text', (person: Person) => person.send(newMessage())],
    ['another topic', (person: Person, body: object) => person.send({ ...body, topic: 'other' })],
    ['a guide', (person: Person, body: object) => person.send({ ...body, guideSlug: 'work-permit' })],
    [
      'triggers',
      (person: Person, body: object) => person.send({ ...body, handOff: { triggers: ['scam-victim'] } }),
    ],
    ['a key', (person: Person, body: object) => person.send(body, 'key-1')],
    ['somebody else', (_person: Person, body: object) => newPerson().send(body)],
    [
      '24 hours',
      (person: Person, body: object) => {
        later(DAY_MS)
        return person.send(body)
      },
    ],
    [
      'the first one withdrawn',
      async (person: Person, body: object, id: unknown) => {
        await person.at('DELETE', id)
        return person.send(body)
      },
    ],
  ] as const)('with %s is sent', async ([, again]) => {
    const person = newPerson()
    const body = newMessage()
    const { id } = await person.sent(body)
    const sent = await again(person, body, id)
    expect([sent.status, sent.json()['id'] === id]).toEqual([202, false])
  })

  test('of many at once, one is sent', async () => {
    const person = newPerson()
    const body = newMessage()
    const sent = await Promise.all(Array.from({ length: 10 }, () => person.send(body)))
    const [first, ...others] = sent.filter(({ status }) => status === 202)
    expect([first?.status, others]).toEqual([202, []])
    // On a busy machine some wait for a connection longer than they may: 503.
    for (const each of sent.filter(({ status }) => status === 409))
      expect(each.json()['first']).toBe(first?.json()['id'])
  })
})

describe('the page', () => {
  const write = async (fields: [string, string][]) =>
    ask(contact.api.origin, {
      path: '/contact',
      ...posting(new URLSearchParams(fields).toString(), FORM),
    })
  async function written(email: string, fields: [string, string][]) {
    expect((await write([['topic', 'question'], ['email', email], ...fields])).status).toBe(202)
    const link = await linkIn(email, /\/contact\/confirm\?link=(\S+)$/m, /^Send your/)
    const [stored] = await rows('select id from contact_messages where link_hash = sha256($1)', [link])
    return { link, id: stored?.['id'] }
  }

  test('holds a message from the button on, and its receipt takes it back', async () => {
    const email = 'page-1@example.org'
    const { link, id } = await written(email, [['message', 'Canary one.']])
    later(5 * MINUTE_MS)
    const confirmed = await press('/contact/confirm', link)
    expect(confirmed.body).toContain('Your message is sent')
    expect(confirmed.body).toContain('1-800-799-7233')
    expect(await rows('select state, held_until from contact_messages where id = $1', [id])).toEqual([
      { state: 'received', held_until: new Date(now.getTime() + 10 * MINUTE_MS) },
    ])
    const withdraw = await linkIn(email, /\/contact\/withdraw\?link=(\S+)$/m)
    expect((await press('/contact/withdraw', withdraw)).status).toBe(200)
    expect(await storedContent(id)).toEqual([ERASED])
  })

  test('sends the same message of one address once, unless it was taken back', async () => {
    const email = 'page-2@example.org'
    const fields: [string, string][] = [['message', 'Canary two.']]
    const first = await written(email, fields)
    expect((await press('/contact/confirm', first.link)).status).toBe(200)
    const again = await written('Page-2@example.org', fields)
    const before = await contact.kept()
    const refused = await press('/contact/confirm', again.link)
    expect([refused.status, refused.body.includes(String(first.id))]).toEqual([409, true])
    expect(await contact.kept()).toBe(before)
    await press('/contact/withdraw', await linkIn(email, /\/contact\/withdraw\?link=(\S+)$/m))
    expect((await press('/contact/confirm', again.link)).status).toBe(200)
  })

  const TRIGGERS: [string, string][] = [
    ['trigger', 'smuggling'],
    ['trigger', 'missed-deadline'],
  ]
  test.for([
    {
      why: 'with consent',
      consent: [['handOff', 'yes']] as [string, string][],
      minutes: 1,
      begins: /^Urgency: urgent/,
    },
    { why: 'and without consent says nothing of them', consent: [], minutes: 10, begins: /^A person who/ },
  ])('takes triggers $why', async ({ consent, minutes, begins }) => {
    const email = `page-${minutes}-minutes@example.org`
    const { link, id } = await written(email, [['message', 'Canary three.'], ...TRIGGERS, ...consent])
    await press('/contact/confirm', link)
    later(minutes * MINUTE_MS)
    await wakeMailers()
    await contact.becomes(id, 'delivered')
    expect(toDesk(id)[0]?.text).toMatch(begins)
  })

  test('keeps triggers and consent when something else is a mistake, and refuses what is no trigger', async () => {
    const fields: [string, string][] = [
      ['topic', 'question'],
      ['email', 'page-4@example.org'],
      ['handOff', 'yes'],
    ]
    const before = await contact.kept()
    const mistaken = await write([...fields, ...TRIGGERS])
    expect(mistaken.status).toBe(400)
    expect(mistaken.body).toContain('<input name="trigger" type="hidden" value="missed-deadline">')
    expect(mistaken.body).toContain('<input name="handOff" type="checkbox" value="yes" checked>')
    const unknown = await write([...fields, ['message', 'Canary.'], ['trigger', '"><script>']])
    expect([unknown.status, unknown.body.includes('without its reasons')]).toEqual([400, true])
    expect(unknown.body).not.toContain('<script')
    expect(await contact.kept()).toBe(before)
  })
})

describe('retention', () => {
  test('forgets the hash of a content after 24 hours, and all that a message says 90 days after delivery', async () => {
    const person = newPerson()
    const { id } = await person.sent({ ...newMessage(), handOff: { triggers: ['smuggling'] } })
    await endHold(id)
    const hashes = () => rows('select content_hash is null as gone from contact_messages where id = $1', [id])
    later(DAY_MS - 10 * MINUTE_MS - 1)
    await contact.api.resource.retention.enforce()
    expect(await hashes()).toEqual([{ gone: false }])
    later(1)
    await contact.api.resource.retention.enforce()
    expect(await hashes()).toEqual([{ gone: true }])
    later(90 * DAY_MS)
    await contact.api.resource.retention.enforce()
    expect(await storedContent(id)).toEqual([ERASED])
  })

  test('erases what the release before left when it withdrew a message', async () => {
    const { id } = await newPerson().sent({ ...newMessage(), handOff: { triggers: ['smuggling'] } })
    await rows(
      `update contact_messages set state = 'erased', erased_at = $2, message_sealed = null, reply_sealed = null where id = $1`,
      [id, now],
    )
    await contact.api.resource.retention.enforce()
    expect(await storedContent(id)).toEqual([ERASED])
  })

  test('a message of the release before, which held none, says when it came', async () => {
    const person = newPerson()
    const { id } = await person.sent()
    await rows(
      'update contact_messages set held_until = null, content_hash = null, withdraw_hash = null where id = $1',
      [id],
    )
    const state = (await person.at('GET', id)).json()
    expect(state).toEqual({ id, status: 'received', heldUntil: now.toISOString() })
    expect((await person.at('DELETE', id)).status).toBe(204)
  })
})
