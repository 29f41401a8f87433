import type { OutgoingHttpHeaders } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectProblem, posting, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

let api: RunningResource
beforeAll(async () => {
  api = await startResource()
})
afterAll(() => api[Symbol.asyncDispose]())

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const send = (fields: Record<string, string>, headers: OutgoingHttpHeaders = {}) =>
  sendRequest(api.origin, {
    path: '/waitlist',
    ...posting(new URLSearchParams(fields).toString(), {
      accept: BROWSER,
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
      ...headers,
    }),
  })
const linkIn = (body: string) => /<code id="referral">([^<]*)<\/code>/.exec(body)?.[1] ?? ''
const slugOf = (link: string) => new URL(link).searchParams.get('ref') ?? ''

test('a new person gets a link once, on a page that no cache stores', async () => {
  const joined = await send({ email: ' Nia@Example.org ' })
  expect(joined.status).toBe(201)
  expect(joined.headers).toMatchObject({
    'cache-control': 'no-store',
    'content-type': 'text/html; charset=utf-8',
    'referrer-policy': 'same-origin',
  })
  expect(linkIn(joined.body)).toMatch(new RegExp(`^${api.origin}/\\?ref=[a-z2-7]{16}$`))
  const again = await send({ email: 'nia@example.org' })
  expect(again.status).toBe(200)
  expect(again.body).toContain('on the waitlist already')
  expect(again.body).not.toMatch(/[?]ref=|nia@/i)
})

test('the form and the API are one waitlist', async () => {
  await sendRequest(api.origin, { path: '/api/waitlist', ...posting({ email: 'both@example.org' }) })
  expect((await send({ email: 'BOTH@example.org' })).body).toContain('on the waitlist already')
})

test('?ref= goes through the form of / and of /waitlist, and is attributed', async () => {
  const slug = slugOf(linkIn((await send({ email: 'referrer@example.org' })).body))
  for (const path of ['/', '/waitlist']) {
    const page = await sendRequest(api.origin, { path: `${path}?ref=${slug}`, headers: { accept: BROWSER } })
    expect(page.body).toContain(`<input name="referredBySlug" type="hidden" value="${slug}">`)
  }
  expect((await send({ email: 'led@example.org', referredBySlug: slug })).status).toBe(201)
  const { rows } = await api.db.query<{ count: number }>(
    'select count(*) as count from waitlist_entries e join waitlist_entries r on r.id = e.referred_by where r.referral_slug = $1',
    [slug],
  )
  expect(rows[0]?.count).toBe(1)
})

test.for(['"><script>', 'x'.repeat(5000), 'K3V7Q2MZT5NDW4HA', '', 'a&ref=b'])(
  'a ref that is no slug goes nowhere: %j',
  async (ref) => {
    const page = await sendRequest(api.origin, { path: `/?ref=${encodeURIComponent(ref)}` })
    expect(page.status).toBe(200)
    expect(page.body).not.toMatch(/referredBySlug|<script/)
    expect(
      (await send({ email: `${Date.now()}-${ref.length}@example.org`, referredBySlug: ref })).status,
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
    'reports %j at the top and beside the field, and what was typed stays',
    async ([email, words]) => {
      const entriesBefore = await api.entries()
      const { status, body, headers } = await send({ email, referredBySlug: 'k3v7q2mzt5ndw4ha' })
      expect(status).toBe(400)
      expect(headers['cache-control']).toBe('no-store')
      expect(body.replaceAll(/<\/?span[^>]*>/g, '').split(words)).toHaveLength(3)
      expect(body).toContain('<title>Mistake: join the waitlist')
      expect(body).toContain(
        `value="${email.replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')}"`,
      )
      expect(body).toContain('value="k3v7q2mzt5ndw4ha"')
      expect(body).not.toContain('<script')
      expect(await api.entries()).toBe(entriesBefore)
    },
  )
})

describe('a form that is not ours', () => {
  test.for<OutgoingHttpHeaders>([
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': undefined, origin: 'https://evil.example' },
    { 'sec-fetch-site': undefined, origin: 'null' },
  ])('is refused and changes nothing: %j', async (headers) => {
    const entriesBefore = await api.entries()
    const refused = await send({ email: 'victim@example.org' }, headers)
    expect(refused.status).toBe(403)
    expect(refused.headers['content-type']).toMatch(/^text\/html/)
    expect(await api.entries()).toBe(entriesBefore)
  })

  test('is refused as JSON if Accept requests JSON', async () => {
    const refused = await send(
      { email: 'victim@example.org' },
      { 'sec-fetch-site': 'cross-site', accept: 'application/json' },
    )
    expectProblem(refused, { status: 403, code: 'cross-site-request' })
  })

  test('other methods and media types are refused', async () => {
    expect((await send({ email: 'a@example.org' }, { 'content-type': 'application/json' })).status).toBe(415)
    const deleted = await sendRequest(api.origin, { method: 'DELETE', path: '/waitlist' })
    expect([deleted.status, deleted.headers['allow']]).toEqual([405, 'GET, HEAD, POST'])
  })
})

test('the form counts in the limits of the API', async () => {
  await using limited = await startResource({ env: { RESOURCE_LIMITS_FACTOR: '1' } })
  const join = () =>
    sendRequest(limited.origin, {
      path: '/waitlist',
      ...posting('email=often%40example.org', { 'content-type': 'application/x-www-form-urlencoded' }),
    })
  for (let time = 0; time < 3; time++) await join()
  const viaApi = () =>
    sendRequest(limited.origin, { path: '/api/waitlist', ...posting({ email: 'often@example.org' }) })
  for (let time = 0; time < 2; time++) expect((await viaApi()).status).toBe(200)
  expect((await join()).status).toBe(429)
})

test('while the database is down, the form says to try again, and stores nothing', async () => {
  await using away = await startResource({
    env: { RESOURCE_DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none' },
  })
  const refused = await sendRequest(away.origin, {
    path: '/waitlist',
    ...posting('email=ana%40example.org', {
      'content-type': 'application/x-www-form-urlencoded',
      accept: BROWSER,
    }),
  })
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '2'])
  expect(refused.body).toContain('<h1>A part of the service is unavailable</h1>')
})
