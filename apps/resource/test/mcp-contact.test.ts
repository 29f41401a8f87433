import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, expectProblem } from './ask.ts'
import { type ContactApi, DESK, startContact } from './contact-client.ts'

let contact: ContactApi
beforeAll(async () => {
  contact = await startContact()
})
afterAll(() => contact[Symbol.asyncDispose]())

const message = (origin: string, method: string, params: object, token?: string) =>
  ask(origin, {
    method: 'POST',
    path: '/api/mcp',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
const send = (args: object, token?: string) =>
  message(contact.api.origin, 'tools/call', { name: 'send_contact_message', arguments: args }, token)
const resultOf = (body: string) => JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? '{}').result
const good = { topic: 'attorney', message: 'Help with a hearing.' }

test('send_contact_message sends as the route does', async () => {
  const sent = await send(good, contact.tokenOf('ana@example.org', 'reg_a'))
  const { structuredContent } = resultOf(sent.body)
  expect(structuredContent).toMatchObject({ status: 'received', attorneyLists: [{}, {}] })
  await contact.becomes(structuredContent.id, 'delivered')
  expect((await contact.server.mails(1, DESK))[0]?.text).toContain('| Help with a hearing.')
})

test.for([
  { why: 'no token', token: () => undefined, status: 401, code: 'token-required' },
  { why: 'no scope', token: () => contact.api.auth.issue(), status: 403, code: 'insufficient-scope' },
  { why: 'a token that is none', token: () => `ppt_${'A'.repeat(43)}`, status: 401, code: 'invalid-token' },
])('$why is refused with a challenge, as on the route', async ({ token, status, code }) => {
  const before = await contact.kept()
  const refused = await send(good, token())
  expectProblem(refused, { status, code })
  expect(refused.headers['www-authenticate']).toMatch(/^Bearer .*resource_metadata=/)
  expect(await contact.kept()).toBe(before)
})

test('what other arguments would mend is told to the model', async () => {
  const before = await contact.kept()
  const refused = await send({ ...good, topic: 'spam' }, contact.tokenOf('ana@example.org', 'reg_a'))
  expect([refused.status, refused.body.includes('topic')]).toEqual([200, true])
  expect(await contact.kept()).toBe(before)
})
