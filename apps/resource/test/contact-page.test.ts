import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FORM_HEADERS, type HoldFixture, MINUTE_MS, startHoldFixture, WITHDRAWN_ROW } from './hold-fixture.ts'
import { createPost, sendRequest } from './send-request.ts'

let fixture: HoldFixture
beforeAll(async () => {
  fixture = await startHoldFixture()
})
afterAll(() => fixture[Symbol.asyncDispose]())

describe('the contact form', () => {
  const submit = async (fields: [string, string][]) =>
    sendRequest(fixture.contact.api.origin, {
      path: '/contact',
      ...createPost(new URLSearchParams(fields).toString(), FORM_HEADERS),
    })
  /** Submits the form and expects a 202. Returns the secret of the mailed link and the id of the message. */
  async function submitAccepted(email: string, fields: [string, string][]) {
    expect((await submit([['topic', 'question'], ['email', email], ...fields])).status).toBe(202)
    const link = await fixture.waitForLink(email, 'confirm')
    const [row] = await fixture.queryRows('select id from contact_messages where link_hash = sha256($1)', [
      link,
    ])
    return { link, id: row?.['id'] }
  }

  test('holds a message from its confirmation on, and the link in the receipt withdraws it', async () => {
    const email = 'page-1@example.org'
    const { link, id } = await submitAccepted(email, [['message', 'Canary one.']])
    fixture.advanceClock(5 * MINUTE_MS)
    const confirmedPage = await fixture.press('/contact/confirm', link)
    expect(confirmedPage.body).toContain('Your message is sent')
    expect(confirmedPage.body).toContain('1-800-799-7233')
    expect(
      await fixture.queryRows('select state, held_until from contact_messages where id = $1', [id]),
    ).toEqual([{ state: 'received', held_until: new Date(fixture.clock.now.getTime() + 10 * MINUTE_MS) }])
    const withdrawLink = await fixture.waitForLink(email, 'withdraw')
    expect((await fixture.press('/contact/withdraw', withdrawLink)).status).toBe(200)
    expect(await fixture.readStoredContent(id)).toEqual([WITHDRAWN_ROW])
  })

  test('says after a second press that the first one sent the message, but not for a truncated link', async () => {
    const { link, id } = await submitAccepted('page-5@example.org', [['message', 'Canary five.']])
    expect((await fixture.press('/contact/confirm', link)).body).toContain('Your message is sent')
    const rowsBefore = await fixture.contact.countStoredRows()
    const secondPage = await fixture.press('/contact/confirm', link)
    expect([secondPage.status, secondPage.body.includes('the first press sent your message')]).toEqual([
      404,
      true,
    ])
    const truncatedPage = await fixture.press('/contact/confirm', link.slice(1))
    expect([truncatedPage.status, truncatedPage.body.includes('first press')]).toEqual([404, false])
    expect(await fixture.contact.countStoredRows()).toBe(rowsBefore)
    expect(await fixture.queryRows('select state from contact_messages where id = $1', [id])).toEqual([
      { state: 'received' },
    ])
  })

  test('refuses to confirm the same message of one address again, until the first is withdrawn', async () => {
    const email = 'page-2@example.org'
    const fields: [string, string][] = [['message', 'Canary two.']]
    const first = await submitAccepted(email, fields)
    expect((await fixture.press('/contact/confirm', first.link)).status).toBe(200)
    const secondMessage = await submitAccepted('Page-2@example.org', fields)
    const rowsBefore = await fixture.contact.countStoredRows()
    const refusal = await fixture.press('/contact/confirm', secondMessage.link)
    expect([refusal.status, refusal.body.includes(String(first.id))]).toEqual([409, true])
    expect(refusal.body).toContain('You do not need to do anything: we have the message.')
    expect(refusal.body).not.toContain('Idempotency-Key')
    expect(await fixture.contact.countStoredRows()).toBe(rowsBefore)
    await fixture.press('/contact/withdraw', await fixture.waitForLink(email, 'withdraw'))
    expect((await fixture.press('/contact/confirm', secondMessage.link)).status).toBe(200)
  })

  test.for([
    ['Cyrillic', 'ж'.repeat(5000)],
    ['Hindi', 'ह'.repeat(5000)],
    ['emoji', '🙂'.repeat(5000)],
  ] as const)(
    'accepts the longest message in %s, which a browser sends in more bytes',
    async ([script, message]) => {
      const email = `page-${script}@example.org`.toLowerCase()
      const { id } = await submitAccepted(email, [['message', message]])
      expect(typeof id).toBe('string')
    },
  )

  test('refuses a form of more than 64 KiB, and stores nothing', async () => {
    const rowsBefore = await fixture.contact.countStoredRows()
    const refusal = await submit([
      ['topic', 'question'],
      ['email', 'page-long@example.org'],
      ['message', 'x'.repeat(65_536)],
    ])
    expect(refusal.status).toBe(413)
    expect(refusal.body).toContain('64 KiB')
    expect(await fixture.contact.countStoredRows()).toBe(rowsBefore)
  })

  const TRIGGERS: [string, string][] = [
    ['trigger', 'smuggling'],
    ['trigger', 'missed-deadline'],
  ]
  test.for([
    {
      title: 'tells staff the triggers if the person consents',
      consent: [['handOff', 'yes']] as [string, string][],
      minutes: 1,
      mailStart: /^Urgency: urgent/,
    },
    {
      title: 'does not tell staff the triggers without consent',
      consent: [],
      minutes: 10,
      mailStart: /^A person who/,
    },
  ])('$title', async ({ consent, minutes, mailStart }) => {
    const email = `page-${minutes}-minutes@example.org`
    const { link, id } = await submitAccepted(email, [['message', 'Canary three.'], ...TRIGGERS, ...consent])
    await fixture.press('/contact/confirm', link)
    await fixture.deliver(id, minutes * MINUTE_MS)
    expect(fixture.findStaffMails(id)[0]?.text).toMatch(mailStart)
  })

  test('shows the triggers and the consent again if another field is invalid, and refuses an unknown trigger', async () => {
    const fields: [string, string][] = [
      ['topic', 'question'],
      ['email', 'page-4@example.org'],
      ['handOff', 'yes'],
    ]
    const rowsBefore = await fixture.contact.countStoredRows()
    const withoutMessage = await submit([...fields, ...TRIGGERS])
    expect(withoutMessage.status).toBe(400)
    expect(withoutMessage.body).toContain('<input name="trigger" type="hidden" value="missed-deadline">')
    expect(withoutMessage.body).toMatch(
      /<input id="handOff" name="handOff" type="checkbox" value="yes"[^>]* checked>/,
    )
    const withUnknownTrigger = await submit([...fields, ['message', 'Canary.'], ['trigger', '"><script>']])
    expect([withUnknownTrigger.status, withUnknownTrigger.body.includes('without its reasons')]).toEqual([
      400,
      true,
    ])
    // The only script on the page is our own.
    expect(withUnknownTrigger.body).not.toMatch(/<script(?! src="\/assets\/leave-)/)
    expect(await fixture.contact.countStoredRows()).toBe(rowsBefore)
  })
})
