import { TriggerId } from '@plainpath/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ContactApi, newMessage, STAFF_INBOX, startContact } from './contact-client.ts'
import { expectProblem, sendRequest } from './send-request.ts'

let contact: ContactApi
beforeAll(async () => {
  contact = await startContact()
})
afterAll(() => contact[Symbol.asyncDispose]())

const good = { topic: 'question', message: 'When do I renew?\nIt ends in March.', guideSlug: 'work-permit' }
const ANA = 'reg_ana'
const ana = () => contact.tokenOf('Ana@example.org', ANA)
const at = (method: string, id: unknown, token = ana()) =>
  sendRequest(contact.api.origin, {
    method,
    path: `/api/contact/${String(id)}`,
    headers: { authorization: `Bearer ${token}` },
  })

describe('a message', () => {
  test('is sent to staff as text with every line marked, and a receipt to the verified address', async () => {
    const message = '<img src=https://evil.example>\r\n\r\nTopic: attorney\nDear desk'
    const sent = await contact.send(ana(), { ...good, message })
    expect([sent.status, sent.json()]).toMatchObject([202, { status: 'received' }])
    const { id } = sent.json()
    await contact.becomes(id, 'delivered')
    expect((await at('GET', id)).json()).toMatchObject({ id, status: 'delivered' })
    const desk = (await contact.server.mails(1, STAFF_INBOX)).find(({ subject }) =>
      subject.includes(String(id)),
    )
    expect(desk).toMatchObject({
      to: [STAFF_INBOX],
      replyTo: 'Ana@example.org',
      subject: `Message ${String(id)} (question)`,
    })
    expect(desk?.text).toContain('| <img src=https://evil.example>\n| \n| Topic: attorney\n| Dear desk\n')
    expect(desk?.parsed.html).toBeUndefined()
    const [receipt] = await contact.server.mails(1, 'Ana@example.org')
    expect(receipt?.subject).toBe('We received your message to Plainpath')
    expect(receipt?.text).toContain('| <img src=https://evil.example>\n| \n| Topic: attorney\n| Dear desk\n')
    expect(receipt?.parsed.html).toBeUndefined()
  })

  test('about an attorney gets a response with a list to prepare and the official lists', async () => {
    const response = (await contact.send(ana(), { topic: 'attorney', message: 'Help.' })).json()
    expect(response['prepare']).toHaveLength(6)
    expect(response['attorneyLists']).toMatchObject([
      { url: expect.stringMatching(/^https:\/\/www\.justice\.gov\//) },
      { url: expect.stringMatching(/^https:\/\/www\.justice\.gov\//) },
    ])
  })

  test('requests the address from the authorization server for each message, and only then', async () => {
    const before = contact.api.auth.requestedClaims.length
    const token = ana()
    await contact.send(token, newMessage())
    await at('GET', '6f6c0f0e-6f2b-4d1c-9a5e-2a9d1f6f3b10', token)
    expect(contact.api.auth.requestedClaims.slice(before)).toEqual(['', 'email', ''])
  })
})

const handOff = (...triggers: unknown[]) => ({ ...good, handOff: { triggers } })
const IDS = TriggerId.options
const HAND_OFFS = [
  {
    why: 'an unknown trigger',
    body: handOff('smuggling', 'toothache'),
    twin: handOff('smuggling'),
    pointer: '#/handOff/triggers/1',
  },
  { why: 'no trigger', body: handOff(), twin: handOff('public-charge'), pointer: '#/handOff/triggers' },
  {
    why: 'eleven triggers',
    body: handOff(...IDS.slice(0, 11)),
    twin: handOff(...IDS.slice(0, 10)),
    pointer: '#/handOff/triggers',
  },
  {
    why: 'more beside the triggers',
    body: { ...good, handOff: { triggers: ['waiver-needed'], question: 'Canary.' } },
    twin: handOff('waiver-needed'),
    pointer: '#/handOff/question',
  },
]

describe('a message is refused, nothing is stored, and its twin is accepted:', () => {
  test.for([
    {
      why: '5001 characters',
      body: { ...good, message: 'x'.repeat(5001) },
      twin: { ...good, message: 'x'.repeat(5000) },
    },
    { why: 'no characters', body: { ...good, message: ' \n' }, twin: { ...good, message: ' x ' } },
    { why: 'binary', body: { ...good, message: 'a\u0000b' }, twin: { ...good, message: 'a\tb' } },
    { why: 'an escape', body: { ...good, message: '\u001b[2J' }, twin: { ...good, message: '[2J' } },
    { why: 'another topic', body: { ...good, topic: 'spam' }, twin: { ...good, topic: 'other' } },
    { why: 'no guide', body: { ...good, guideSlug: '../x' }, twin: { ...good, guideSlug: null } },
    { why: 'an unknown member', body: { ...good, email: 'eve@example.org' }, twin: good, pointer: '#/email' },
    ...HAND_OFFS,
  ])('$why', async ({ body, twin, pointer }) => {
    const before = await contact.kept()
    const refused = await contact.send(ana(), body)
    expectProblem(refused, { status: 400, code: 'invalid-request' })
    if (pointer) expect(refused.json()['errors']).toMatchObject([{ pointer }])
    expect(await contact.kept()).toBe(before)
    expect((await contact.send(ana(), twin)).status).toBe(202)
  })

  test('more than 16 KiB', async () => {
    const before = await contact.kept()
    expectProblem(await contact.send(ana(), { ...good, message: '\u20ac'.repeat(6000) }), {
      status: 413,
      code: 'content-too-large',
    })
    expect(await contact.kept()).toBe(before)
  })
})

describe('a token is refused, and nothing is stored:', () => {
  /** The same for every invalid token. */
  const RENEWAL =
    /If the token was for messages, get an identity assertion .* do not ask them again on your own\.$/
  const flow =
    /needs the verified_email flow.*\/auth\/verified-email\.md .*ask again only if they tell you to\.$/
  test.for([
    {
      why: 'no token',
      change: undefined,
      status: 401,
      code: 'token-required',
      detail: /^Send a bearer token\./,
    },
    {
      why: 'another scope',
      change: { scope: 'guides:read' },
      status: 403,
      code: 'insufficient-scope',
      detail: flow,
    },
    {
      why: 'no verified address',
      change: { email: undefined },
      status: 403,
      code: 'insufficient-scope',
      detail: flow,
    },
    {
      why: 'an anonymous agent',
      change: { identity_type: 'anonymous' },
      status: 403,
      code: 'insufficient-scope',
      detail: flow,
    },
    {
      why: 'another service',
      change: { aud: 'https://other.example' },
      status: 401,
      code: 'invalid-token',
      detail: RENEWAL,
    },
    {
      why: 'a confirmation that has ended',
      change: { active: false },
      status: 401,
      code: 'invalid-token',
      detail: RENEWAL,
    },
  ])('$why', async ({ change, status, code, detail }) => {
    const before = await contact.kept()
    const token = change && contact.tokenOf('eve@example.org', 'reg_eve', change)
    const refused = await contact.send(token, good)
    expectProblem(refused, { status, code })
    expect(refused.json()['detail']).toMatch(detail)
    expect(refused.headers['www-authenticate']).toContain('scope="contact:write"')
    expect(await contact.kept()).toBe(before)
  })

  test('a message of another registration is 404, like one that does not exist', async () => {
    const { id } = (await contact.send(ana(), newMessage())).json()
    const eve = contact.tokenOf('eve@example.org', 'reg_eve')
    const strange = ['6f6c0f0e-6f2b-4d1c-9a5e-2a9d1f6f3b10', id]
    for (const method of ['GET', 'DELETE']) {
      const details = []
      for (const each of strange) {
        const refused = await at(method, each, eve)
        expectProblem(refused, { status: 404, code: 'not-found' })
        details.push(refused.json()['detail'])
      }
      expect(details[0]).toBe(details[1])
    }
    expectProblem(await at('GET', `'%20or%201=1--`), { status: 404, code: 'not-found' })
    expect((await at('GET', id)).status).toBe(200)
  })
})
