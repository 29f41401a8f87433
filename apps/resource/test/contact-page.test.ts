import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FORM, type Holding, MINUTE_MS, startHolding, WITHDRAWN } from './contact-people.ts'
import { posting, sendRequest } from './send-request.ts'

let holding: Holding
beforeAll(async () => {
  holding = await startHolding()
})
afterAll(() => holding[Symbol.asyncDispose]())

describe('the page', () => {
  const write = async (fields: [string, string][]) =>
    sendRequest(holding.contact.api.origin, {
      path: '/contact',
      ...posting(new URLSearchParams(fields).toString(), FORM),
    })
  async function written(email: string, fields: [string, string][]) {
    expect((await write([['topic', 'question'], ['email', email], ...fields])).status).toBe(202)
    const link = await holding.mailedLink(email, 'confirm')
    const [stored] = await holding.rows('select id from contact_messages where link_hash = sha256($1)', [
      link,
    ])
    return { link, id: stored?.['id'] }
  }

  test('holds a message from the button on, and its receipt takes it back', async () => {
    const email = 'page-1@example.org'
    const { link, id } = await written(email, [['message', 'Canary one.']])
    holding.later(5 * MINUTE_MS)
    const confirmed = await holding.press('/contact/confirm', link)
    expect(confirmed.body).toContain('Your message is sent')
    expect(confirmed.body).toContain('1-800-799-7233')
    expect(await holding.rows('select state, held_until from contact_messages where id = $1', [id])).toEqual([
      { state: 'received', held_until: new Date(holding.clock.now.getTime() + 10 * MINUTE_MS) },
    ])
    const withdraw = await holding.mailedLink(email, 'withdraw')
    expect((await holding.press('/contact/withdraw', withdraw)).status).toBe(200)
    expect(await holding.storedContent(id)).toEqual([WITHDRAWN])
  })

  test('sends the same message of one address once, unless it was taken back', async () => {
    const email = 'page-2@example.org'
    const fields: [string, string][] = [['message', 'Canary two.']]
    const first = await written(email, fields)
    expect((await holding.press('/contact/confirm', first.link)).status).toBe(200)
    const again = await written('Page-2@example.org', fields)
    const keptBefore = await holding.contact.kept()
    const refused = await holding.press('/contact/confirm', again.link)
    expect([refused.status, refused.body.includes(String(first.id))]).toEqual([409, true])
    expect(await holding.contact.kept()).toBe(keptBefore)
    await holding.press('/contact/withdraw', await holding.mailedLink(email, 'withdraw'))
    expect((await holding.press('/contact/confirm', again.link)).status).toBe(200)
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
    await holding.press('/contact/confirm', link)
    await holding.deliver(id, minutes * MINUTE_MS)
    expect(holding.toDesk(id)[0]?.text).toMatch(begins)
  })

  test('keeps triggers and consent when another field is invalid, and refuses an unknown trigger', async () => {
    const fields: [string, string][] = [
      ['topic', 'question'],
      ['email', 'page-4@example.org'],
      ['handOff', 'yes'],
    ]
    const keptBefore = await holding.contact.kept()
    const mistaken = await write([...fields, ...TRIGGERS])
    expect(mistaken.status).toBe(400)
    expect(mistaken.body).toContain('<input name="trigger" type="hidden" value="missed-deadline">')
    expect(mistaken.body).toMatch(
      /<input id="handOff" name="handOff" type="checkbox" value="yes"[^>]* checked>/,
    )
    const unknown = await write([...fields, ['message', 'Canary.'], ['trigger', '"><script>']])
    expect([unknown.status, unknown.body.includes('without its reasons')]).toEqual([400, true])
    expect(unknown.body).not.toMatch(/<script(?! src="\/assets\/leave-)/)
    expect(await holding.contact.kept()).toBe(keptBefore)
  })
})
