import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  DAY_MS,
  ERASED_ROW,
  type HoldFixture,
  MINUTE_MS,
  startHoldFixture,
  WITHDRAWN_ROW,
} from './hold-fixture.ts'
import { expectProblem, sendRequest } from './send-request.ts'
import { newMessage } from './start-contact.ts'

let fixture: HoldFixture
beforeAll(async () => {
  fixture = await startHoldFixture()
})
afterAll(() => fixture[Symbol.asyncDispose]())

/** Opens the link that withdraws a message, and presses the button. Returns both responses. */
const openAndPress = async (link: string) => [
  await sendRequest(fixture.contact.api.origin, { path: `/contact/withdraw?link=${link}` }),
  await fixture.press('/contact/withdraw', link),
]

describe('a message', () => {
  test.for([
    { behaviour: 'without triggers is held for ten minutes', handOff: undefined, minutes: 10 },
    {
      behaviour: 'with a trigger of the urgency high is held for ten minutes',
      handOff: { triggers: ['child-alone'] },
      minutes: 10,
    },
    {
      behaviour: 'with a trigger of the urgency urgent is held for one minute',
      handOff: { triggers: ['smuggling', 'detention-ice'] },
      minutes: 1,
    },
  ])('$behaviour, and its receipt is sent immediately', async ({ handOff, minutes }) => {
    const person = fixture.newPerson()
    const heldUntil = new Date(fixture.clock.now.getTime() + minutes * MINUTE_MS).toISOString()
    const sentMessage = await person.sendAccepted({ ...newMessage(), handOff })
    expect(sentMessage).toMatchObject({ status: 'received', heldUntil })
    expect((await person.requestMessage('GET', sentMessage['id'])).json()).toEqual({
      id: sentMessage['id'],
      status: 'received',
      heldUntil,
    })
    expect(await person.waitForWithdrawLink()).toMatch(/^[\w-]{43}$/)
    fixture.advanceClock(minutes * MINUTE_MS - 1)
    // The mailer sends due mails in order. If the held mail were due, it would be sent before this person's receipt.
    const nextPerson = fixture.newPerson()
    await nextPerson.sendAccepted()
    await nextPerson.waitForWithdrawLink()
    const selectStaffMail = `select state, attempts from mails where about = $1 and kind = 'contact-desk'`
    expect(await fixture.queryRows(selectStaffMail, [sentMessage['id']])).toEqual([
      { state: 'queued', attempts: 0 },
    ])
    await fixture.deliver(sentMessage['id'], 1)
    expect(fixture.findStaffMails(sentMessage['id'])).toHaveLength(1)
    expect((await person.requestMessage('GET', sentMessage['id'])).json()).toMatchObject({
      status: 'delivered',
      heldUntil,
    })
  })

  test('says in the response and in the receipt when an answer comes and where urgent help is', async () => {
    const person = fixture.newPerson()
    const reply = (await person.sendAccepted())['reply']
    expect(reply).toMatchObject({
      expected: expect.stringMatching(/within five working days/),
      ifYouCannotWait: expect.stringMatching(/Do not miss a hearing/),
      findHelp: expect.arrayContaining([
        { title: 'If you are in danger now', phone: '911' },
        expect.objectContaining({ url: expect.stringMatching(/^https:\/\/www\.justice\.gov\//) }),
      ]),
    })
    await person.waitForWithdrawLink()
    const [receipt] = await fixture.contact.mailServer.waitForMails(1, person.email)
    for (const sentence of [Object(reply).expected, Object(reply).ifYouCannotWait, '911', '1-800-799-7233'])
      expect(receipt?.text.replaceAll('\n', ' ')).toContain(sentence)
  })

  test('has its triggers at the top of the mail to staff, each once, and they are stored only encrypted', async () => {
    const person = fixture.newPerson()
    const triggers = ['public-charge', 'abuse-victim', 'public-charge']
    const { id } = await person.sendAccepted({ ...newMessage(), handOff: { triggers } })
    const storedRow = JSON.stringify(
      await fixture.queryRows('select c::text from contact_messages c where id = $1', [id]),
    )
    for (const text of ['abuse-victim', Buffer.from('abuse-victim').toString('hex')])
      expect(storedRow + fixture.contact.api.logLines.join('\n')).not.toContain(text)
    await fixture.deliver(id, 10 * MINUTE_MS)
    expect(fixture.findStaffMails(id)[0]?.text).toMatch(
      /^Urgency: urgent\. .*:\n- abuse-victim \(urgent\)\n- public-charge \(normal\)\n\nAn AI agent wrote/,
    )
  })
})

test('a message that an earlier release stored without a hold has its time of receipt as heldUntil, and can be withdrawn', async () => {
  const person = fixture.newPerson()
  const { id } = await person.sendAccepted()
  await fixture.queryRows(
    'update contact_messages set held_until = null, content_hash = null, withdraw_hash = null where id = $1',
    [id],
  )
  const message = (await person.requestMessage('GET', id)).json()
  expect(message).toEqual({ id, status: 'received', heldUntil: fixture.clock.now.toISOString() })
  expect((await person.requestMessage('DELETE', id)).status).toBe(204)
})

describe('withdrawing a message', () => {
  test('by DELETE within the hold erases it, mails the person, and nothing goes to staff', async () => {
    const person = fixture.newPerson()
    const { id } = await person.sendAccepted({ ...newMessage(), handOff: { triggers: ['smuggling'] } })
    await person.waitForWithdrawLink()
    fixture.advanceClock(10 * MINUTE_MS - 1)
    for (const _time of [1, 2]) expect((await person.requestMessage('DELETE', id)).status).toBe(204)
    expect((await person.requestMessage('GET', id)).json()).toEqual({ id, status: 'erased' })
    expect(await fixture.readStoredContent(id)).toEqual([WITHDRAWN_ROW])
    const [, withdrawalMail, ...otherMails] = await fixture.contact.mailServer.waitForMails(2, person.email)
    expect([withdrawalMail?.subject, otherMails]).toEqual(['A message to Plainpath was withdrawn', []])
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
    // The mail server has a mail slightly before its row is `sent`.
    const selectMails = 'select kind, state, mail_sealed from mails where about = $1 order by 1'
    await expect
      .poll(() => fixture.queryRows(selectMails, [id]))
      .toEqual([
        { kind: 'contact-desk', state: 'dropped', mail_sealed: null },
        { kind: 'contact-receipt', state: 'sent', mail_sealed: null },
        { kind: 'contact-withdrawn', state: 'sent', mail_sealed: null },
      ])
    fixture.advanceClock(MINUTE_MS)
    const otherMessage = await fixture.newPerson().sendAccepted()
    await fixture.deliver(otherMessage['id'], 10 * MINUTE_MS)
    expect(fixture.findStaffMails(id)).toEqual([])
  })

  test('by the link of the receipt erases it when the button is pressed, not when the link is opened', async () => {
    const person = fixture.newPerson()
    const { id } = await person.sendAccepted()
    const link = await person.waitForWithdrawLink()
    for (const method of ['HEAD', 'GET']) {
      const openedPage = await sendRequest(fixture.contact.api.origin, {
        method,
        path: `/contact/withdraw?link=${link}`,
      })
      expect(openedPage.status).toBe(200)
    }
    expect((await person.requestMessage('GET', id)).json()['status']).toBe('received')
    expect((await fixture.press('/contact/withdraw', link)).body).toContain('Your message is erased')
    expect(await fixture.readStoredContent(id)).toEqual([WITHDRAWN_ROW])
    expect(fixture.contact.api.logLines.filter((line) => line.includes('message-erased')).at(-1)).toContain(
      String(id),
    )
    const selectMails = `select kind from mails where about = $1 and kind = 'contact-withdrawn'`
    expect(await fixture.queryRows(selectMails, [id])).toEqual([])
  })

  test.for([{ by: 'the agent' }, { by: 'the link' }])(
    'by $by makes the page of the link say so, without a form',
    async ({ by }) => {
      const person = fixture.newPerson()
      const { id } = await person.sendAccepted()
      const link = await person.waitForWithdrawLink()
      if (by === 'the agent') await person.requestMessage('DELETE', id)
      else await fixture.press('/contact/withdraw', link)
      for (const page of await openAndPress(link)) {
        expect(page.status).toBe(410)
        expect(page.body).toContain(
          'This message was already withdrawn. It does not go to our staff. You do not need to do anything.',
        )
        expect(page.body).not.toContain('method="post"')
      }
      fixture.advanceClock(90 * DAY_MS)
      await fixture.contact.api.resource.retention.enforce()
      expect(await fixture.readStoredContent(id)).toEqual([ERASED_ROW])
      for (const unknownLink of [link, 'A'.repeat(43)])
        for (const page of await openAndPress(unknownLink)) {
          expect(page.status).toBe(404)
          expect(page.body).toContain('<h1>This link does not work</h1>')
          expect(page.body).not.toContain('method="post"')
        }
    },
  )

  test('is refused once the message is delivered, by DELETE and by the link, and both say how it can be erased', async () => {
    const person = fixture.newPerson()
    const { id } = await person.sendAccepted()
    const link = await person.waitForWithdrawLink()
    await fixture.deliver(id, 10 * MINUTE_MS)
    const rowBefore = await fixture.queryRows('select c::text from contact_messages c where id = $1', [id])
    const refusal = await person.requestMessage('DELETE', id)
    expectProblem(refusal, { status: 409, code: 'already-delivered' })
    const pages = await openAndPress(link)
    expect(pages.map(({ status }) => status)).toEqual([410, 410])
    for (const sentence of [
      'can ask our staff to erase',
      '90 days after delivery',
      'mailbox of our staff keeps',
    ])
      for (const text of [refusal.json()['detail'], ...pages.map(({ body }) => body)])
        expect(text).toContain(sentence)
    expect(await fixture.queryRows('select c::text from contact_messages c where id = $1', [id])).toEqual(
      rowBefore,
    )
  })

  test('is refused with 409 while the mail to staff is being sent, and changes nothing', async () => {
    const person = fixture.newPerson()
    const { id } = await person.sendAccepted()
    await person.waitForWithdrawLink()
    const storedBefore = await fixture.readStoredContent(id)
    // Leases the mail to staff, as a mailer does while it sends the mail.
    await fixture.queryRows(
      `update mails set attempts = 1, leased_until = $2 where about = $1 and kind = 'contact-desk'`,
      [id, new Date(fixture.clock.now.getTime() + MINUTE_MS)],
    )
    expectProblem(await person.requestMessage('DELETE', id), { status: 409, code: 'message-being-delivered' })
    expect((await person.requestMessage('GET', id)).json()['status']).toBe('received')
    expect(await fixture.readStoredContent(id)).toEqual(storedBefore)
  })
})

describe('retention', () => {
  test('erases the hash of the content after 24 hours, and the content 90 days after delivery', async () => {
    const person = fixture.newPerson()
    const { id } = await person.sendAccepted({ ...newMessage(), handOff: { triggers: ['smuggling'] } })
    await fixture.deliver(id, 10 * MINUTE_MS)
    const readHashState = () =>
      fixture.queryRows('select content_hash is null as gone from contact_messages where id = $1', [id])
    fixture.advanceClock(DAY_MS - 10 * MINUTE_MS - 1)
    await fixture.contact.api.resource.retention.enforce()
    expect(await readHashState()).toEqual([{ gone: false }])
    fixture.advanceClock(1)
    await fixture.contact.api.resource.retention.enforce()
    expect(await readHashState()).toEqual([{ gone: true }])
    fixture.advanceClock(90 * DAY_MS)
    await fixture.contact.api.resource.retention.enforce()
    expect(await fixture.readStoredContent(id)).toEqual([ERASED_ROW])
  })

  test('erases the columns that the previous release did not clear when it withdrew a message', async () => {
    const { id } = await fixture
      .newPerson()
      .sendAccepted({ ...newMessage(), handOff: { triggers: ['smuggling'] } })
    await fixture.queryRows(
      `update contact_messages set state = 'erased', erased_at = $2, message_sealed = null, reply_sealed = null where id = $1`,
      [id, fixture.clock.now],
    )
    await fixture.contact.api.resource.retention.enforce()
    expect(await fixture.readStoredContent(id)).toEqual([ERASED_ROW])
  })

  test('erases the staff note of a message that the previous release erased', async () => {
    const person = fixture.newPerson()
    const { id } = await person.sendAccepted()
    await person.waitForWithdrawLink()
    await fixture.queryRows(
      `update contact_messages set state = 'erased', erased_at = $2, note_sealed = message_sealed,
         message_sealed = null, reply_sealed = null, content_hash = null, withdraw_hash = null where id = $1`,
      [id, fixture.clock.now],
    )
    await fixture.contact.api.resource.retention.enforce()
    expect(await fixture.readStoredContent(id)).toEqual([ERASED_ROW])
  })
})
