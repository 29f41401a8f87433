import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newMessage } from './contact-client.ts'
import { DAY_MS, ERASED, type Holding, MINUTE_MS, startHolding, WITHDRAWN } from './contact-people.ts'
import { expectProblem, sendRequest } from './send-request.ts'

let holding: Holding
beforeAll(async () => {
  holding = await startHolding()
})
afterAll(() => holding[Symbol.asyncDispose]())

/** The page of the link that withdraws a message, and what its button leads to. */
const both = async (link: string) => [
  await sendRequest(holding.contact.api.origin, { path: `/contact/withdraw?link=${link}` }),
  await holding.press('/contact/withdraw', link),
]

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
    const person = holding.newPerson()
    const heldUntil = new Date(holding.clock.now.getTime() + minutes * MINUTE_MS).toISOString()
    const sent = await person.sent({ ...newMessage(), handOff })
    expect(sent).toMatchObject({ status: 'received', heldUntil })
    expect((await person.at('GET', sent['id'])).json()).toEqual({
      id: sent['id'],
      status: 'received',
      heldUntil,
    })
    expect(await person.link()).toMatch(/^[\w-]{43}$/)
    holding.later(minutes * MINUTE_MS - 1)
    // The mailer that sends this receipt found nothing else to send.
    const other = holding.newPerson()
    await other.sent()
    await other.link()
    const desk = `select state, attempts from mails where about = $1 and kind = 'contact-desk'`
    expect(await holding.rows(desk, [sent['id']])).toEqual([{ state: 'queued', attempts: 0 }])
    await holding.deliver(sent['id'], 1)
    expect(holding.toDesk(sent['id'])).toHaveLength(1)
    expect((await person.at('GET', sent['id'])).json()).toMatchObject({ status: 'delivered', heldUntil })
  })

  test('states when an answer comes and where to find urgent help, in the response and in the receipt', async () => {
    const person = holding.newPerson()
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
    const [receipt] = await holding.contact.server.mails(1, person.email)
    for (const sentence of [Object(reply).expected, Object(reply).ifYouCannotWait, '911', '1-800-799-7233'])
      expect(receipt?.text.replaceAll('\n', ' ')).toContain(sentence)
  })

  test('lists its triggers first in the mail to staff, each once, and stores them sealed', async () => {
    const person = holding.newPerson()
    const triggers = ['public-charge', 'abuse-victim', 'public-charge']
    const { id } = await person.sent({ ...newMessage(), handOff: { triggers } })
    const stored = JSON.stringify(
      await holding.rows('select c::text from contact_messages c where id = $1', [id]),
    )
    for (const text of ['abuse-victim', Buffer.from('abuse-victim').toString('hex')])
      expect(stored + holding.contact.api.logged.join('\n')).not.toContain(text)
    await holding.deliver(id, 10 * MINUTE_MS)
    expect(holding.toDesk(id)[0]?.text).toMatch(
      /^Urgency: urgent\. .*:\n- abuse-victim \(urgent\)\n- public-charge \(normal\)\n\nAn AI agent wrote/,
    )
  })
})

describe('withdrawing', () => {
  test('by DELETE within the hold erases the message, and nothing goes to staff', async () => {
    const person = holding.newPerson()
    const { id } = await person.sent({ ...newMessage(), handOff: { triggers: ['smuggling'] } })
    await person.link()
    holding.later(10 * MINUTE_MS - 1)
    for (const _time of [1, 2]) expect((await person.at('DELETE', id)).status).toBe(204)
    expect((await person.at('GET', id)).json()).toEqual({ id, status: 'erased' })
    expect(await holding.storedContent(id)).toEqual([WITHDRAWN])
    const [, withdrawalMail, ...more] = await holding.contact.server.mails(2, person.email)
    expect([withdrawalMail?.subject, more]).toEqual(['A message to Plainpath was withdrawn', []])
    expect(
      withdrawalMail?.text,
    ).toBe(`The message of November 20, 2026 was withdrawn. Our staff will not see it. We erased the text.
An AI agent or app sent it for you and then withdrew it.

You do not need to do anything. If you did not want this, end its access by the
link in the receipt of the message.

Message: ${id}

Plainpath is not a law firm and not the government. It gives information, not legal
advice.
`)
    // The server took the mail before its row says so.
    const mails = 'select kind, state, mail_sealed from mails where about = $1 order by 1'
    await expect
      .poll(() => holding.rows(mails, [id]))
      .toEqual([
        { kind: 'contact-desk', state: 'dropped', mail_sealed: null },
        { kind: 'contact-receipt', state: 'sent', mail_sealed: null },
        { kind: 'contact-withdrawn', state: 'sent', mail_sealed: null },
      ])
    holding.later(MINUTE_MS)
    const other = await holding.newPerson().sent()
    await holding.deliver(other['id'], 10 * MINUTE_MS)
    expect(holding.toDesk(id)).toEqual([])
  })

  test('by the link of the receipt needs its button, which erases the message once; opening the link changes nothing', async () => {
    const person = holding.newPerson()
    const { id } = await person.sent()
    const link = await person.link()
    for (const method of ['HEAD', 'GET']) {
      const opened = await sendRequest(holding.contact.api.origin, {
        method,
        path: `/contact/withdraw?link=${link}`,
      })
      expect(opened.status).toBe(200)
    }
    expect((await person.at('GET', id)).json()['status']).toBe('received')
    expect((await holding.press('/contact/withdraw', link)).body).toContain('Your message is erased')
    expect(await holding.storedContent(id)).toEqual([WITHDRAWN])
    expect(holding.contact.api.logged.filter((line) => line.includes('message-erased')).at(-1)).toContain(
      String(id),
    )
    const mails = `select kind from mails where about = $1 and kind = 'contact-withdrawn'`
    expect(await holding.rows(mails, [id])).toEqual([])
  })

  test.for([{ by: 'the agent' }, { by: 'the link' }])(
    'by $by: the link then says so, and asks nothing',
    async ({ by }) => {
      const person = holding.newPerson()
      const { id } = await person.sent()
      const link = await person.link()
      if (by === 'the agent') await person.at('DELETE', id)
      else await holding.press('/contact/withdraw', link)
      for (const page of await both(link)) {
        expect(page.status).toBe(410)
        expect(page.body).toContain(
          'This message was already withdrawn. It does not go to our staff. You do not need to do anything.',
        )
        expect(page.body).not.toContain('method="post"')
      }
      holding.later(90 * DAY_MS)
      await holding.contact.api.resource.retention.enforce()
      expect(await holding.storedContent(id)).toEqual([ERASED])
      for (const unknown of [link, 'A'.repeat(43)])
        for (const page of await both(unknown)) {
          expect(page.status).toBe(404)
          expect(page.body).toContain('<h1>This link does not work</h1>')
          expect(page.body).not.toContain('method="post"')
        }
    },
  )

  test('after delivery is refused for agent and person, with the remaining options and the retention by staff', async () => {
    const person = holding.newPerson()
    const { id } = await person.sent()
    const link = await person.link()
    await holding.deliver(id, 10 * MINUTE_MS)
    const before = await holding.rows('select c::text from contact_messages c where id = $1', [id])
    const refused = await person.at('DELETE', id)
    expectProblem(refused, { status: 409, code: 'already-delivered' })
    const pages = await both(link)
    expect(pages.map(({ status }) => status)).toEqual([410, 410])
    for (const sentence of [
      'can ask our staff to erase',
      '90 days after delivery',
      'mailbox of our staff keeps',
    ])
      for (const text of [refused.json()['detail'], ...pages.map(({ body }) => body)])
        expect(text).toContain(sentence)
    expect(await holding.rows('select c::text from contact_messages c where id = $1', [id])).toEqual(before)
  })

  test('while a mail server is handed the message is 409, and works when it did not take it', async () => {
    const person = holding.newPerson()
    const { id } = await person.sent()
    await person.link()
    const lease = (until: Date | null) =>
      holding.rows(`update mails set leased_until = $2 where about = $1 and kind = 'contact-desk'`, [
        id,
        until,
      ])
    await lease(new Date(holding.clock.now.getTime() + MINUTE_MS))
    expectProblem(await person.at('DELETE', id), { status: 409, code: 'message-being-delivered' })
    expect((await person.at('GET', id)).json()['status']).toBe('received')
    await lease(null)
    expect((await person.at('DELETE', id)).status).toBe(204)
  })
})

describe('retention', () => {
  test('erases the hash of the content after 24 hours, and the content 90 days after delivery', async () => {
    const person = holding.newPerson()
    const { id } = await person.sent({ ...newMessage(), handOff: { triggers: ['smuggling'] } })
    await holding.deliver(id, 10 * MINUTE_MS)
    const hashes = () =>
      holding.rows('select content_hash is null as gone from contact_messages where id = $1', [id])
    holding.later(DAY_MS - 10 * MINUTE_MS - 1)
    await holding.contact.api.resource.retention.enforce()
    expect(await hashes()).toEqual([{ gone: false }])
    holding.later(1)
    await holding.contact.api.resource.retention.enforce()
    expect(await hashes()).toEqual([{ gone: true }])
    holding.later(90 * DAY_MS)
    await holding.contact.api.resource.retention.enforce()
    expect(await holding.storedContent(id)).toEqual([ERASED])
  })

  test('erases the data that the previous release left when it withdrew a message', async () => {
    const { id } = await holding.newPerson().sent({ ...newMessage(), handOff: { triggers: ['smuggling'] } })
    await holding.rows(
      `update contact_messages set state = 'erased', erased_at = $2, message_sealed = null, reply_sealed = null where id = $1`,
      [id, holding.clock.now],
    )
    await holding.contact.api.resource.retention.enforce()
    expect(await holding.storedContent(id)).toEqual([ERASED])
  })

  test('a message of the release before, which held none, says when it came', async () => {
    const person = holding.newPerson()
    const { id } = await person.sent()
    await holding.rows(
      'update contact_messages set held_until = null, content_hash = null, withdraw_hash = null where id = $1',
      [id],
    )
    const state = (await person.at('GET', id)).json()
    expect(state).toEqual({ id, status: 'received', heldUntil: holding.clock.now.toISOString() })
    expect((await person.at('DELETE', id)).status).toBe(204)
  })
})
