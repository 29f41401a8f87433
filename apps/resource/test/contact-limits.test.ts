import { randomBytes, randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type ContactApi, newMessage, startContact } from './contact-client.ts'
import { expectProblem, type HttpResponse, posting, sendRequest } from './send-request.ts'

const TEN_MINUTES_MS = 600_000

let contact: ContactApi
let now = new Date('2026-11-20T12:00:00Z')
beforeEach(async () => {
  contact = await startContact({ env: { RESOURCE_LIMITS_FACTOR: '1' }, now: () => now })
})
afterEach(() => contact[Symbol.asyncDispose]())

const times = <T>(count: number, run: () => Promise<T>) => Promise.all(Array.from({ length: count }, run))
const statusesOf = (responses: readonly HttpResponse[]) =>
  [...new Set(responses.map(({ status }) => status))].sort()
const badToken = () => `ppt_${randomBytes(32).toString('base64url')}`

describe('while an address sends messages without a good token,', () => {
  test.for([
    { why: 'none', token: () => undefined },
    { why: 'one that is none', token: () => 'ppt_short' },
    { why: 'an unknown one', token: badToken },
    { why: 'one without the scope', token: () => contact.api.auth.issue() },
  ])('$why, a client with a verified e-mail there is served up to its own limit', async ({ token }) => {
    const verified = contact.tokenOf('ana@example.org', 'reg_ana')
    const response = await sendRequest(contact.api.origin, {
      path: `/api/contact/${randomUUID()}`,
      headers: { authorization: `Bearer ${verified}` },
    })
    expect(response.status).toBe(404)
    const keptBefore = await contact.kept()
    const sent = token()
    const abuse = await times(100, () => contact.send(sent, newMessage()))
    for (const status of statusesOf(abuse)) expect([401, 403, 429]).toContain(status)
    expect(await contact.kept()).toBe(keptBefore)
    for (let time = 0; time < 10; time++)
      expect((await contact.send(verified, newMessage())).status).toBe(202)
    const refused = await contact.send(verified, newMessage())
    expectProblem(refused, { status: 429, code: 'rate-limited' })
    expect(refused.json()['policy']).toBe('contact-registration')
  })
})

test('one mailbox sends twenty messages an hour, however many agents and spellings', async () => {
  const token = (index: number) => contact.tokenOf(`ana+${index}@example.org`, `reg_${index}`)
  for (let time = 0; time < 20; time++)
    expect((await contact.send(token(time), newMessage())).status).toBe(202)
  const keptBefore = await contact.kept()
  const refused = await contact.send(token(20), newMessage())
  expectProblem(refused, { status: 429, code: 'rate-limited' })
  expect(refused.json()['policy']).toBe('contact-mailbox')
  expect(await contact.kept()).toBe(keptBefore)
  expect((await contact.send(contact.tokenOf('ben@example.org', 'reg_ben'), newMessage())).status).toBe(202)
})

test.for([
  {
    path: '/contact',
    quota: 10,
    body: () => ({ topic: 'other', message: 'Hello.', email: `${randomUUID()}@example.org` }),
    served: 202,
  },
  { path: '/contact/withdraw', quota: 100, body: () => ({ link: 'A'.repeat(43) }), served: 404 },
])(
  'ten minutes after $path was abused, somebody else at the address is served',
  async ({ path, quota, body, served }) => {
    const post = () =>
      sendRequest(contact.api.origin, {
        path,
        ...posting(new URLSearchParams(Object.entries(body())).toString(), {
          accept: 'text/html',
          'content-type': 'application/x-www-form-urlencoded',
          'sec-fetch-site': 'same-origin',
        }),
      })
    const responses = []
    for (let time = 0; time < quota + 5; time++) responses.push(await post())
    expect(statusesOf(responses.slice(0, quota))).toEqual([served])
    expect(statusesOf(responses.slice(quota))).toEqual([429])
    now = new Date(now.getTime() + TEN_MINUTES_MS)
    expect((await post()).status).toBe(served)
  },
)
