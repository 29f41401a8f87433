import { randomBytes, randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createPost, expectProblem, type HttpResponse, sendRequest } from './send-request.ts'
import { type ContactApi, newMessage, startContact } from './start-contact.ts'

const TEN_MINUTES_MS = 600_000

let contact: ContactApi
let now = new Date('2026-11-20T12:00:00Z')
beforeEach(async () => {
  // A factor of 1 gives the limits of production. By default, tests multiply them by 1,000.
  contact = await startContact({ env: { RESOURCE_LIMITS_FACTOR: '1' }, now: () => now })
})
afterEach(() => contact[Symbol.asyncDispose]())

const listStatuses = (responses: readonly HttpResponse[]) =>
  [...new Set(responses.map(({ status }) => status))].sort()
/** Creates a token in the right format, which the authorization server never issued. */
const newUnknownToken = () => `ppt_${randomBytes(32).toString('base64url')}`

describe('while a network address sends 100 messages', () => {
  test.for([
    { condition: 'without a token', getToken: () => undefined },
    { condition: 'with a malformed token', getToken: () => 'ppt_short' },
    { condition: 'with an unknown token', getToken: newUnknownToken },
    { condition: 'with a token that lacks the scope', getToken: () => contact.api.auth.issue() },
  ])(
    '$condition, an agent at the same address with a verified e-mail is served up to its own limit',
    async ({ getToken }) => {
      const verified = contact.issueToken('ana@example.org', 'reg_ana')
      // The API introspects the token while its network is below all limits. A token that was verified recently is not subject to
      // the limits on unknown tokens (`guardIntrospection`), which the 100 requests below may use up.
      const response = await sendRequest(contact.api.origin, {
        path: `/api/contact/${randomUUID()}`,
        headers: { authorization: `Bearer ${verified}` },
      })
      expect(response.status).toBe(404)
      const rowsBefore = await contact.countStoredRows()
      const token = getToken()
      const abusiveResponses = await Promise.all(
        Array.from({ length: 100 }, () => contact.send(token, newMessage())),
      )
      for (const status of listStatuses(abusiveResponses)) expect([401, 403, 429]).toContain(status)
      expect(await contact.countStoredRows()).toBe(rowsBefore)
      // The limit of one registration is ten messages an hour.
      for (let count = 0; count < 10; count++)
        expect((await contact.send(verified, newMessage())).status).toBe(202)
      const refusal = await contact.send(verified, newMessage())
      expectProblem(refusal, { status: 429, code: 'rate-limited' })
      expect(refusal.json()['policy']).toBe('contact-registration')
    },
  )
})

test('one mailbox sends at most twenty messages an hour, with any number of agents and plus-tags', async () => {
  const issueToken = (index: number) => contact.issueToken(`ana+${index}@example.org`, `reg_${index}`)
  for (let index = 0; index < 20; index++)
    expect((await contact.send(issueToken(index), newMessage())).status).toBe(202)
  const rowsBefore = await contact.countStoredRows()
  const refusal = await contact.send(issueToken(20), newMessage())
  expectProblem(refusal, { status: 429, code: 'rate-limited' })
  expect(refusal.json()['policy']).toBe('contact-mailbox')
  expect(await contact.countStoredRows()).toBe(rowsBefore)
  expect((await contact.send(contact.issueToken('ben@example.org', 'reg_ben'), newMessage())).status).toBe(
    202,
  )
})

// Both quotas are for five minutes.
test.for([
  {
    path: '/contact',
    quota: 10,
    createFields: () => ({ topic: 'other', message: 'Hello.', email: `${randomUUID()}@example.org` }),
    usualStatus: 202,
  },
  { path: '/contact/withdraw', quota: 100, createFields: () => ({ link: 'A'.repeat(43) }), usualStatus: 404 },
])(
  'ten minutes after the quota of $path was exceeded, the same address is served again',
  async ({ path, quota, createFields, usualStatus }) => {
    const post = () =>
      sendRequest(contact.api.origin, {
        path,
        ...createPost(new URLSearchParams(Object.entries(createFields())).toString(), {
          accept: 'text/html',
          'content-type': 'application/x-www-form-urlencoded',
          'sec-fetch-site': 'same-origin',
        }),
      })
    const responses = []
    for (let count = 0; count < quota + 5; count++) responses.push(await post())
    expect(listStatuses(responses.slice(0, quota))).toEqual([usualStatus])
    expect(listStatuses(responses.slice(quota))).toEqual([429])
    now = new Date(now.getTime() + TEN_MINUTES_MS)
    expect((await post()).status).toBe(usualStatus)
  },
)
