import { TriggerId } from '@plainpath/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectProblem, sendRequest, toAsciiJson } from './send-request.ts'
import { type ContactApi, newMessage, STAFF_INBOX, startContact } from './start-contact.ts'

let contact: ContactApi
beforeAll(async () => {
  contact = await startContact()
})
afterAll(() => contact[Symbol.asyncDispose]())

const VALID_MESSAGE = {
  topic: 'question',
  message: 'When do I renew?\nIt ends in March.',
  guideSlug: 'work-permit',
}
const issueAnasToken = () => contact.issueToken('Ana@example.org', 'reg_ana')
/** Sends a request to the address of a message. */
const requestMessage = (method: string, id: unknown, token = issueAnasToken()) =>
  sendRequest(contact.api.origin, {
    method,
    path: `/api/contact/${String(id)}`,
    headers: { authorization: `Bearer ${token}` },
  })

describe('a message', () => {
  test('is sent to staff with every line marked, and in a receipt to the verified address, both without HTML', async () => {
    const message = '<img src=https://evil.example>\r\n\r\nTopic: attorney\nDear desk'
    const response = await contact.send(issueAnasToken(), { ...VALID_MESSAGE, message })
    expect([response.status, response.json()]).toMatchObject([202, { status: 'received' }])
    const { id } = response.json()
    await contact.waitForState(id, 'delivered')
    expect((await requestMessage('GET', id)).json()).toMatchObject({ id, status: 'delivered' })
    const staffMail = (await contact.mailServer.waitForMails(1, STAFF_INBOX)).find(({ subject }) =>
      subject.includes(String(id)),
    )
    expect(staffMail).toMatchObject({
      to: [STAFF_INBOX],
      replyTo: 'Ana@example.org',
      subject: `Message ${String(id)} (question)`,
    })
    expect(staffMail?.text).toContain(
      '| <img src=https://evil.example>\n| \n| Topic: attorney\n| Dear desk\n',
    )
    expect(staffMail?.parsed.html).toBeUndefined()
    const [receipt] = await contact.mailServer.waitForMails(1, 'Ana@example.org')
    expect(receipt?.subject).toBe('We received your message to Plainpath')
    expect(receipt?.text).toContain('| <img src=https://evil.example>\n| \n| Topic: attorney\n| Dear desk\n')
    expect(receipt?.parsed.html).toBeUndefined()
  })

  test.for([
    ['Cyrillic letters', 'ж'],
    ['emoji', '🙂'],
  ] as const)(
    'of 5,000 %s, each of which the JSON escapes, is sent to staff in full',
    async ([, character]) => {
      const body = toAsciiJson({ ...VALID_MESSAGE, message: character.repeat(5000) })
      const response = await contact.send(issueAnasToken(), body)
      expect(response.status, response.body).toBe(202)
      const { id } = response.json()
      await contact.waitForState(id, 'delivered')
      const staffMail = contact.mailServer.received.find(
        ({ to, subject }) => to.includes(STAFF_INBOX) && subject.includes(String(id)),
      )
      expect(staffMail?.text.split(character)).toHaveLength(5001)
    },
  )

  test('about an attorney gets a response with what to prepare and the official lists', async () => {
    const response = (await contact.send(issueAnasToken(), { topic: 'attorney', message: 'Help.' })).json()
    expect(response['prepare']).toHaveLength(6)
    expect(response['attorneyLists']).toMatchObject([
      { url: expect.stringMatching(/^https:\/\/www\.justice\.gov\//) },
      { url: expect.stringMatching(/^https:\/\/www\.justice\.gov\//) },
    ])
  })

  test('causes an introspection that requests the address when it is sent, but not when it is read', async () => {
    const countBefore = contact.api.auth.requestedClaims.length
    const token = issueAnasToken()
    await contact.send(token, newMessage())
    await requestMessage('GET', '6f6c0f0e-6f2b-4d1c-9a5e-2a9d1f6f3b10', token)
    // The first two are for sending: one checks the token, and one gets the address. The last is for reading.
    expect(contact.api.auth.requestedClaims.slice(countBefore)).toEqual(['', 'email', ''])
  })
})

const withTriggers = (...triggers: unknown[]) => ({ ...VALID_MESSAGE, handOff: { triggers } })
const TRIGGER_IDS = TriggerId.options
const HAND_OFF_CASES = [
  {
    title: 'an unknown trigger',
    body: withTriggers('smuggling', 'toothache'),
    validBody: withTriggers('smuggling'),
    pointer: '#/handOff/triggers/1',
  },
  {
    title: 'no trigger',
    body: withTriggers(),
    validBody: withTriggers('public-charge'),
    pointer: '#/handOff/triggers',
  },
  {
    title: 'eleven triggers',
    body: withTriggers(...TRIGGER_IDS.slice(0, 11)),
    validBody: withTriggers(...TRIGGER_IDS.slice(0, 10)),
    pointer: '#/handOff/triggers',
  },
  {
    title: 'another member next to the triggers',
    body: { ...VALID_MESSAGE, handOff: { triggers: ['waiver-needed'], question: 'Canary.' } },
    validBody: withTriggers('waiver-needed'),
    pointer: '#/handOff/question',
  },
]

describe('a message is refused and not stored, and a similar valid message is accepted:', () => {
  test.for([
    {
      title: '5001 characters',
      body: { ...VALID_MESSAGE, message: 'x'.repeat(5001) },
      validBody: { ...VALID_MESSAGE, message: 'x'.repeat(5000) },
    },
    {
      title: '5001 emoji',
      body: { ...VALID_MESSAGE, message: '😀'.repeat(5001) },
      validBody: { ...VALID_MESSAGE, message: '😀'.repeat(5000) },
    },
    {
      title: 'only spaces',
      body: { ...VALID_MESSAGE, message: ' \n' },
      validBody: { ...VALID_MESSAGE, message: ' x ' },
    },
    {
      title: 'a NUL character',
      body: { ...VALID_MESSAGE, message: 'a\u0000b' },
      validBody: { ...VALID_MESSAGE, message: 'a\tb' },
    },
    {
      title: 'an escape character',
      body: { ...VALID_MESSAGE, message: '\u001b[2J' },
      validBody: { ...VALID_MESSAGE, message: '[2J' },
    },
    {
      title: 'an unknown topic',
      body: { ...VALID_MESSAGE, topic: 'spam' },
      validBody: { ...VALID_MESSAGE, topic: 'other' },
    },
    {
      title: 'a malformed guide slug',
      body: { ...VALID_MESSAGE, guideSlug: '../x' },
      validBody: { ...VALID_MESSAGE, guideSlug: null },
    },
    {
      title: 'an unknown member',
      body: { ...VALID_MESSAGE, email: 'eve@example.org' },
      validBody: VALID_MESSAGE,
      pointer: '#/email',
    },
    ...HAND_OFF_CASES,
  ])('$title', async ({ body, validBody, pointer }) => {
    const rowsBefore = await contact.countStoredRows()
    const refusal = await contact.send(issueAnasToken(), body)
    expectProblem(refusal, { status: 400, code: 'invalid-request' })
    if (pointer) expect(refusal.json()['errors']).toMatchObject([{ pointer }])
    expect(await contact.countStoredRows()).toBe(rowsBefore)
    expect((await contact.send(issueAnasToken(), validBody)).status).toBe(202)
  })

  test('a body of more than 64 KiB', async () => {
    const rowsBefore = await contact.countStoredRows()
    const body = JSON.stringify(newMessage())
    expectProblem(await contact.send(issueAnasToken(), body.padEnd(65_537, ' ')), {
      status: 413,
      code: 'content-too-large',
    })
    expect(await contact.countStoredRows()).toBe(rowsBefore)
    expect((await contact.send(issueAnasToken(), body.padEnd(65_536, ' '))).status).toBe(202)
  })
})

describe('a request is refused, and nothing is stored:', () => {
  /** Part of the detail for every invalid token. */
  const RENEWAL_HINT =
    /If the token was for messages, get an identity assertion .* do not ask them again on your own\.$/
  const SCOPE_HINT =
    /needs the verified_email flow.*\/auth\/verified-email\.md .*ask again only if they tell you to\.$/
  test.for([
    {
      title: 'no token',
      change: undefined,
      status: 401,
      code: 'token-required',
      detail: /^Send a bearer token\./,
    },
    {
      title: 'a token with another scope',
      change: { scope: 'guides:read' },
      status: 403,
      code: 'insufficient-scope',
      detail: SCOPE_HINT,
    },
    {
      title: 'a token without a verified address',
      change: { email: undefined },
      status: 403,
      code: 'insufficient-scope',
      detail: SCOPE_HINT,
    },
    {
      title: 'a token of an anonymous agent',
      change: { identity_type: 'anonymous' },
      status: 403,
      code: 'insufficient-scope',
      detail: SCOPE_HINT,
    },
    {
      title: 'a token for another service',
      change: { aud: 'https://other.example' },
      status: 401,
      code: 'invalid-token',
      detail: RENEWAL_HINT,
    },
    {
      title: 'an inactive token',
      change: { active: false },
      status: 401,
      code: 'invalid-token',
      detail: RENEWAL_HINT,
    },
  ])('$title', async ({ change, status, code, detail }) => {
    const rowsBefore = await contact.countStoredRows()
    const token = change && contact.issueToken('eve@example.org', 'reg_eve', change)
    const refusal = await contact.send(token, VALID_MESSAGE)
    expectProblem(refusal, { status, code })
    expect(refusal.json()['detail']).toMatch(detail)
    expect(refusal.headers['www-authenticate']).toContain('scope="contact:write"')
    expect(await contact.countStoredRows()).toBe(rowsBefore)
  })

  test('404 for a message of another registration, with the same detail as for one that does not exist', async () => {
    const { id } = (await contact.send(issueAnasToken(), newMessage())).json()
    const evesToken = contact.issueToken('eve@example.org', 'reg_eve')
    const messageIds = ['6f6c0f0e-6f2b-4d1c-9a5e-2a9d1f6f3b10', id]
    for (const method of ['GET', 'DELETE']) {
      const details = []
      for (const messageId of messageIds) {
        const refusal = await requestMessage(method, messageId, evesToken)
        expectProblem(refusal, { status: 404, code: 'not-found' })
        details.push(refusal.json()['detail'])
      }
      expect(details[0]).toBe(details[1])
    }
    expectProblem(await requestMessage('GET', `'%20or%201=1--`), { status: 404, code: 'not-found' })
    expect((await requestMessage('GET', id)).status).toBe(200)
  })
})
