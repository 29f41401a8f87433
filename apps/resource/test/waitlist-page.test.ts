import type { OutgoingHttpHeaders } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPost, expectProblem, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

let api: RunningResource
beforeAll(async () => {
  api = await startResource()
})
afterAll(() => api[Symbol.asyncDispose]())

const BROWSER_ACCEPT = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const submit = (fields: Record<string, string>, headers: OutgoingHttpHeaders = {}) =>
  sendRequest(api.origin, {
    path: '/waitlist',
    ...createPost(new URLSearchParams(fields).toString(), {
      accept: BROWSER_ACCEPT,
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
      ...headers,
    }),
  })
const findReferralLink = (body: string) => /<code id="referral">([^<]*)<\/code>/.exec(body)?.[1] ?? ''
const getSlug = (link: string) => new URL(link).searchParams.get('ref') ?? ''

test('a new person gets a referral link, a known address does not, and the page must not be stored', async () => {
  const joinedPage = await submit({ email: ' Nia@Example.org ' })
  expect(joinedPage.status).toBe(201)
  expect(joinedPage.headers).toMatchObject({
    'cache-control': 'no-store',
    'content-type': 'text/html; charset=utf-8',
    'referrer-policy': 'same-origin',
  })
  expect(findReferralLink(joinedPage.body)).toMatch(new RegExp(`^${api.origin}/\\?ref=[a-z2-7]{16}$`))
  const repeatedPage = await submit({ email: 'nia@example.org' })
  expect(repeatedPage.status).toBe(200)
  expect(repeatedPage.body).toContain('on the waitlist already')
  expect(repeatedPage.body).not.toMatch(/[?]ref=|nia@/i)
})

test('the form knows an address that joined through the API', async () => {
  await sendRequest(api.origin, { path: '/api/waitlist', ...createPost({ email: 'both@example.org' }) })
  expect((await submit({ email: 'BOTH@example.org' })).body).toContain('on the waitlist already')
})

test('the slug in ?ref= is in the forms of / and /waitlist, and the entry is attributed to its owner', async () => {
  const slug = getSlug(findReferralLink((await submit({ email: 'referrer@example.org' })).body))
  for (const path of ['/', '/waitlist']) {
    const page = await sendRequest(api.origin, {
      path: `${path}?ref=${slug}`,
      headers: { accept: BROWSER_ACCEPT },
    })
    expect(page.body).toContain(`<input name="referredBySlug" type="hidden" value="${slug}">`)
  }
  expect((await submit({ email: 'referred@example.org', referredBySlug: slug })).status).toBe(201)
  const { rows } = await api.db.query<{ count: number }>(
    'select count(*) as count from waitlist_entries e join waitlist_entries r on r.id = e.referred_by where r.referral_slug = $1',
    [slug],
  )
  expect(rows[0]?.count).toBe(1)
})

// `K3V7Q2MZT5NDW4HA` would be a valid slug in lower case.
test.for(['"><script>', 'x'.repeat(5000), 'K3V7Q2MZT5NDW4HA', '', 'a&ref=b'])(
  'a ref that is not a slug is not in the form, and is ignored: %j',
  async (ref) => {
    const page = await sendRequest(api.origin, { path: `/?ref=${encodeURIComponent(ref)}` })
    expect(page.status).toBe(200)
    expect(page.body).not.toMatch(/referredBySlug|<script/)
    expect(
      (await submit({ email: `${Date.now()}-${ref.length}@example.org`, referredBySlug: ref })).status,
    ).toBe(201)
  },
)

describe('a mistake', () => {
  test.for([
    ['', 'Type your e-mail address'],
    ['nobody', 'This is not an e-mail address'],
    ['"><script>alert(1)</script>', 'This is not an e-mail address'],
    [`${'x'.repeat(300)}@example.org`, 'This is not an e-mail address'],
  ] as const)(
    'in the address is reported twice, and the typed values remain: %j',
    async ([email, message]) => {
      const entriesBefore = await api.countWaitlistEntries()
      const { status, body, headers } = await submit({ email, referredBySlug: 'k3v7q2mzt5ndw4ha' })
      expect(status).toBe(400)
      expect(headers['cache-control']).toBe('no-store')
      // Two occurrences of the message split the page into three parts.
      expect(body.replaceAll(/<\/?span[^>]*>/g, '').split(message)).toHaveLength(3)
      expect(body).toContain('<title>Error: Join the waitlist')
      expect(body).toContain(
        `value="${email.replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')}"`,
      )
      expect(body).toContain('value="k3v7q2mzt5ndw4ha"')
      expect(body).not.toContain('<script')
      expect(await api.countWaitlistEntries()).toBe(entriesBefore)
    },
  )
})

describe('/waitlist', () => {
  test.for<OutgoingHttpHeaders>([
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': undefined, origin: 'https://evil.example' },
    { 'sec-fetch-site': undefined, origin: 'null' },
  ])('refuses a form of another origin and stores nothing: %j', async (headers) => {
    const entriesBefore = await api.countWaitlistEntries()
    const refusal = await submit({ email: 'victim@example.org' }, headers)
    expect(refusal.status).toBe(403)
    expect(refusal.headers['content-type']).toMatch(/^text\/html/)
    expect(await api.countWaitlistEntries()).toBe(entriesBefore)
  })

  test('refuses a cross-site form with JSON if Accept requests JSON', async () => {
    const refusal = await submit(
      { email: 'victim@example.org' },
      { 'sec-fetch-site': 'cross-site', accept: 'application/json' },
    )
    expectProblem(refusal, { status: 403, code: 'cross-site-request' })
  })

  test('responds 415 to another media type, and 405 to another method', async () => {
    expect((await submit({ email: 'a@example.org' }, { 'content-type': 'application/json' })).status).toBe(
      415,
    )
    const deleteResponse = await sendRequest(api.origin, { method: 'DELETE', path: '/waitlist' })
    expect([deleteResponse.status, deleteResponse.headers['allow']]).toEqual([405, 'GET, HEAD, POST'])
  })
})

test('requests through the form and through the API count against the same limit', async () => {
  await using limitedApi = await startResource({ env: { RESOURCE_LIMITS_FACTOR: '1' } })
  const submitForm = () =>
    sendRequest(limitedApi.origin, {
      path: '/waitlist',
      ...createPost('email=often%40example.org', { 'content-type': 'application/x-www-form-urlencoded' }),
    })
  // The limit of a mailbox is five requests an hour.
  for (let count = 0; count < 3; count++) await submitForm()
  const joinByApi = () =>
    sendRequest(limitedApi.origin, { path: '/api/waitlist', ...createPost({ email: 'often@example.org' }) })
  for (let count = 0; count < 2; count++) expect((await joinByApi()).status).toBe(200)
  expect((await submitForm()).status).toBe(429)
})

test('while the database is unreachable, the form responds with a 503 page', async () => {
  await using apiWithoutDatabase = await startResource({
    env: { RESOURCE_DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none' },
  })
  const refusal = await sendRequest(apiWithoutDatabase.origin, {
    path: '/waitlist',
    ...createPost('email=ana%40example.org', {
      'content-type': 'application/x-www-form-urlencoded',
      accept: BROWSER_ACCEPT,
    }),
  })
  expect([refusal.status, refusal.headers['retry-after']]).toEqual([503, '2'])
  expect(refusal.body).toContain('<h1>A part of the service is unavailable</h1>')
})
