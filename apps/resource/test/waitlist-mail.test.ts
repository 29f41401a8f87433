import { startMailServer } from '@plainpath/mail/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectProblem, posting, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

const resources = new AsyncDisposableStack()
let server: Awaited<ReturnType<typeof startMailServer>>
let api: RunningResource
beforeAll(async () => {
  server = resources.use(await startMailServer())
  api = resources.use(await startResource({ env: { RESOURCE_SMTP_URL: server.url } }))
})
afterAll(() => resources.disposeAsync())

const BROWSER = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' }
const join = (body: object) => sendRequest(api.origin, { path: '/api/waitlist', ...posting(body) })
const forget = (body: object) => sendRequest(api.origin, { path: '/api/waitlist/forget', ...posting(body) })
const linkIn = (text: string, page: 'confirm' | 'remove') =>
  new RegExp(`^${api.origin}(/waitlist/${page}\\?link=[A-Za-z0-9_-]{43})$`, 'm').exec(text)?.[1] ?? ''
const press = (link: string, headers: Record<string, string> = {}) => {
  const [path = '', query = ''] = link.split('?')
  return sendRequest(api.origin, {
    path,
    ...posting(query, { ...BROWSER, 'sec-fetch-site': 'same-origin', ...headers }),
  })
}
const rows = async (sql: string) => (await api.db.query(sql)).rows
const confirmed = async () =>
  (await rows('select count(confirmed_at) as confirmed from waitlist_entries'))[0]?.['confirmed']

describe('after a 201', () => {
  test('one mail follows, to the address as typed, and none after a 200', async () => {
    const { referralUrl } = (await join({ email: 'Ana+News@Example.org' })).json()
    const [mail] = await server.mails(1, 'Ana+News@Example.org')
    expect(mail?.to[0]).toMatch(/^Ana[+]News@/)
    expect(mail?.subject).toBe('Confirm that you want to be on the Plainpath waitlist')
    expect(mail?.text).toContain(`\n${String(referralUrl)}\n`)
    expect(mail?.text.split('\n').every((line) => line.length < 200)).toBe(true)
    await Promise.all([join({ email: 'ana+news@example.org' }), join({ email: 'ANA+NEWS@example.org' })])
    await expect
      .poll(() => rows(`select state from mails where kind = 'waitlist-joined'`))
      .toEqual([{ state: 'sent' }])
  })

  test('one of several simultaneous joins is 201, and one mail follows', async () => {
    const responses = await Promise.all(Array.from({ length: 10 }, () => join({ email: 'race@example.org' })))
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(1)
    await server.mails(1, 'race@example.org')
    await expect.poll(() => rows(`select id from mails where state = 'queued'`)).toEqual([])
    expect(server.received.filter(({ to }) => to.includes('race@example.org'))).toHaveLength(1)
  })

  test('opening a link changes nothing; its button confirms, again and again', async () => {
    await join({ email: 'confirm@example.org' })
    const [mail] = await server.mails(1, 'confirm@example.org')
    const link = linkIn(mail?.text ?? '', 'confirm')
    const before = await confirmed()
    const page = await sendRequest(api.origin, { path: link, headers: { accept: 'text/html' } })
    expect([page.status, page.headers['cache-control']]).toEqual([200, 'no-store'])
    expect(page.body).toContain('<button type="submit">Confirm</button>')
    const head = await sendRequest(api.origin, { method: 'HEAD', path: link })
    expect(head.status).toBe(200)
    expect(await confirmed()).toBe(before)
    for (const _time of [1, 2]) {
      const pressed = await press(link)
      expect([pressed.status, /<h1>You are confirmed</.test(pressed.body)]).toEqual([200, true])
    }
    expect(await confirmed()).toBe(Number(before) + 1)
  })

  test('the other link erases the entry, its links and the uses of its slug', async () => {
    const { referralSlug } = (await join({ email: 'leaves@example.org' })).json()
    await join({ email: 'led@example.org', referredBySlug: referralSlug })
    const [mail] = await server.mails(1, 'leaves@example.org')
    const before = await api.entries()
    const link = linkIn(mail?.text ?? '', 'remove')
    expect((await sendRequest(api.origin, { path: link })).status).toBe(200)
    expect(await api.entries()).toBe(before)
    expect((await press(link)).body).toContain('<h1>Your address is off the waitlist</h1>')
    expect(await api.entries()).toBe(before - 1)
    expect((await press(link)).status).toBe(404)
    expect((await press(linkIn(mail?.text ?? '', 'confirm'))).status).toBe(404)
    expect(await rows(`select count(referred_by) as kept from waitlist_entries`)).toEqual([{ kept: 0 }])
    const again = await join({ email: 'leaves@example.org' })
    expect(again.status).toBe(201)
    expect(again.json()['referralSlug']).not.toBe(referralSlug)
  })

  test('a person whom somebody else added gets one mail, counts as no referral, stays, and leaves by the link', async () => {
    const clock = { now: new Date() }
    await using timed = await startResource({
      env: { RESOURCE_SMTP_URL: server.url },
      now: () => clock.now,
    })
    const joining = (body: object) => sendRequest(timed.origin, { path: '/api/waitlist', ...posting(body) })
    const { referralSlug } = (await joining({ email: 'gains@example.org' })).json()
    const joined = await joining({ email: 'third.party@example.org', referredBySlug: referralSlug })
    expect(joined.status).toBe(201)
    const [mail] = await server.mails(1, 'third.party@example.org')
    clock.now = new Date(clock.now.getTime() + 30 * 24 * 3_600_000)
    await timed.resource.retention.enforce()
    expect((await joining({ email: 'third.party@example.org' })).status).toBe(200)
    expect(server.received.filter(({ to }) => to.includes('third.party@example.org'))).toHaveLength(1)
    const credited = async () =>
      (
        await timed.db.query(
          'select count(*) as credited from waitlist_entries where referred_by is not null and confirmed_at is not null',
        )
      ).rows
    expect(await credited()).toEqual([{ credited: 0 }])
    const link = new RegExp(`^${timed.origin}(/waitlist/remove.*)$`, 'm').exec(mail?.text ?? '')?.[1] ?? ''
    const [path = '', query = ''] = link.split('?')
    const headers = { ...BROWSER, 'sec-fetch-site': 'same-origin' }
    expect((await sendRequest(timed.origin, { path, ...posting(query, headers) })).status).toBe(200)
    expect(await timed.entries()).toBe(1)
  })

  test.for([
    { why: 'a link that nobody was sent', link: `/waitlist/confirm?link=${'A'.repeat(43)}` },
    { why: 'a link cut short', link: '/waitlist/confirm?link=AAAA' },
    { why: 'no link', link: '/waitlist/remove?' },
    { why: 'a link twice', link: `/waitlist/remove?link=${'A'.repeat(43)}&link=${'B'.repeat(43)}` },
    { why: 'a wildcard', link: '/waitlist/remove?link=%25' },
  ])('$why does nothing', async ({ link }) => {
    const before = [await api.entries(), await confirmed()]
    const refused = await press(link)
    expect(refused.status).toBe(404)
    expect(refused.body).toContain('This link does not work')
    expect([await api.entries(), await confirmed()]).toEqual(before)
  })

  test('refuses a form of another site', async () => {
    await join({ email: 'cross@example.org' })
    const [mail] = await server.mails(1, 'cross@example.org')
    const link = linkIn(mail?.text ?? '', 'remove')
    expect((await press(link, { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    expect((await press(link)).status).toBe(200)
  })
})

describe('POST /api/waitlist/forget', () => {
  test('responds 202 for every address, does the same, and mails only addresses on the list', async () => {
    await join({ email: 'there@example.org' })
    await server.mails(1, 'there@example.org')
    const counts = () =>
      rows('select (select count(*) from mails) as mails, (select count(*) from waitlist_links) as links')
    const kept: unknown[] = []
    for (const email of ['There@Example.org', 'absent@example.org']) {
      const [before] = await counts()
      const response = await forget({ email })
      expect([response.status, response.json()]).toEqual([202, { status: 'accepted' }])
      const [after] = await counts()
      kept.push([
        Number(after?.['mails']) - Number(before?.['mails']),
        Number(after?.['links']) - Number(before?.['links']),
      ])
    }
    expect(kept).toEqual([
      [1, 1],
      [1, 1],
    ])
    const [, mail] = await server.mails(2, 'there@example.org')
    expect(mail?.subject).toContain('off the Plainpath waitlist')
    await expect
      .poll(() => rows(`select state from mails where kind = 'waitlist-forget' order by state`))
      .toEqual([{ state: 'dropped' }, { state: 'sent' }])
    expect(server.received.some(({ to }) => to.includes('absent@example.org'))).toBe(false)
    expect((await press(linkIn(mail?.text ?? '', 'remove'))).status).toBe(200)
    expect((await join({ email: 'there@example.org' })).status).toBe(201)
  })

  test.for([
    { why: 'no address', body: { email: 'nobody' }, code: 'invalid-request' },
    {
      why: 'a line end in the address',
      body: { email: 'a@example.org\r\nBcc: b@example.org' },
      code: 'invalid-request',
    },
    { why: 'an unknown member', body: { email: 'a@example.org', all: true }, code: 'invalid-request' },
    { why: 'nothing', body: {}, code: 'invalid-request' },
  ])('refuses $why and keeps nothing', async ({ body, code }) => {
    const before = await rows('select count(*) as kept from mails')
    expectProblem(await forget(body), { status: 400, code })
    expect(await rows('select count(*) as kept from mails')).toEqual(before)
  })

  test('accepts five requests an hour for a mailbox', async () => {
    await using limited = await startResource({ env: { RESOURCE_LIMITS_FACTOR: '1' } })
    const request = { path: '/api/waitlist/forget', ...posting({ email: 'often@example.org' }) }
    for (let time = 0; time < 5; time++) expect((await sendRequest(limited.origin, request)).status).toBe(202)
    expectProblem(await sendRequest(limited.origin, request), { status: 429, code: 'rate-limited' })
  })
})

test('a dump and the log name no address and no link', async () => {
  await join({ email: 'canary-person@example.org' })
  const [mail] = await server.mails(1, 'canary-person@example.org')
  const secret = linkIn(mail?.text ?? '', 'confirm').split('=')[1] ?? ''
  await press(linkIn(mail?.text ?? '', 'confirm'))
  const dump = JSON.stringify(
    await rows(
      `select e::text as row from waitlist_entries e union all select l::text from waitlist_links l
       union all select m::text from mails m`,
    ),
  )
  expect(secret).toHaveLength(43)
  for (const hidden of ['canary-person', Buffer.from('canary-person').toString('hex'), secret])
    expect(dump + api.logged.join('\n')).not.toContain(hidden)
})
