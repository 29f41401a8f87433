import { type MailServer, startMailServer } from '@plainpath/mail/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPost, expectProblem, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

const resources = new AsyncDisposableStack()
let mailServer: MailServer
let api: RunningResource
beforeAll(async () => {
  mailServer = resources.use(await startMailServer())
  api = resources.use(await startResource({ env: { RESOURCE_SMTP_URL: mailServer.url } }))
})
afterAll(() => resources.disposeAsync())

const FORM_HEADERS = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' }
const join = (body: object) => sendRequest(api.origin, { path: '/api/waitlist', ...createPost(body) })
const forget = (body: object) =>
  sendRequest(api.origin, { path: '/api/waitlist/forget', ...createPost(body) })
const findLink = (text: string, page: 'confirm' | 'remove') =>
  new RegExp(`^${api.origin}(/waitlist/${page}\\?link=[A-Za-z0-9_-]{43})$`, 'm').exec(text)?.[1] ?? ''
/** Presses the button on the page of a mailed link. */
const press = (link: string, headers: Record<string, string> = {}) => {
  const [path = '', query = ''] = link.split('?')
  return sendRequest(api.origin, {
    path,
    ...createPost(query, { ...FORM_HEADERS, 'sec-fetch-site': 'same-origin', ...headers }),
  })
}
const queryRows = async (sql: string) => (await api.db.query(sql)).rows
const countConfirmed = async () =>
  (await queryRows('select count(confirmed_at) as confirmed from waitlist_entries'))[0]?.['confirmed']

describe('a new entry', () => {
  test('gets one mail, to the address as typed, and none after a repeated join', async () => {
    const { referralUrl } = (await join({ email: 'Ana+News@Example.org' })).json()
    const [mail] = await mailServer.waitForMails(1, 'Ana+News@Example.org')
    expect(mail?.to[0]).toMatch(/^Ana[+]News@/)
    expect(mail?.subject).toBe('Confirm that you want to be on the Plainpath waitlist')
    expect(mail?.text).toContain(`\n${String(referralUrl)}\n`)
    expect(mail?.text.split('\n').every((line) => line.length < 200)).toBe(true)
    await Promise.all([join({ email: 'ana+news@example.org' }), join({ email: 'ANA+NEWS@example.org' })])
    await expect
      .poll(() => queryRows(`select state from mails where kind = 'waitlist-joined'`))
      .toEqual([{ state: 'sent' }])
  })

  test('is added by one of several simultaneous joins, and gets one mail', async () => {
    const responses = await Promise.all(Array.from({ length: 10 }, () => join({ email: 'race@example.org' })))
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(1)
    await mailServer.waitForMails(1, 'race@example.org')
    await expect.poll(() => queryRows(`select id from mails where state = 'queued'`)).toEqual([])
    expect(mailServer.received.filter(({ to }) => to.includes('race@example.org'))).toHaveLength(1)
  })

  test('is confirmed by the button, not by opening the link, and a second press changes nothing', async () => {
    await join({ email: 'confirm@example.org' })
    const [mail] = await mailServer.waitForMails(1, 'confirm@example.org')
    const link = findLink(mail?.text ?? '', 'confirm')
    const confirmedBefore = await countConfirmed()
    const page = await sendRequest(api.origin, { path: link, headers: { accept: 'text/html' } })
    expect([page.status, page.headers['cache-control']]).toEqual([200, 'no-store'])
    expect(page.body).toContain('<button type="submit">Confirm</button>')
    const head = await sendRequest(api.origin, { method: 'HEAD', path: link })
    expect(head.status).toBe(200)
    expect(await countConfirmed()).toBe(confirmedBefore)
    for (const _time of [1, 2]) {
      const pressedPage = await press(link)
      expect([pressedPage.status, /<h1>You are confirmed</.test(pressedPage.body)]).toEqual([200, true])
    }
    expect(await countConfirmed()).toBe(Number(confirmedBefore) + 1)
  })

  test('is erased by the button of the removal link, with its links and its referrals', async () => {
    const { referralSlug } = (await join({ email: 'leaves@example.org' })).json()
    await join({ email: 'referred@example.org', referredBySlug: referralSlug })
    const [mail] = await mailServer.waitForMails(1, 'leaves@example.org')
    const entriesBefore = await api.countWaitlistEntries()
    const link = findLink(mail?.text ?? '', 'remove')
    expect((await sendRequest(api.origin, { path: link })).status).toBe(200)
    expect(await api.countWaitlistEntries()).toBe(entriesBefore)
    expect((await press(link)).body).toContain('<h1>Your address is off the waitlist</h1>')
    expect(await api.countWaitlistEntries()).toBe(entriesBefore - 1)
    const secondPage = await press(link)
    expect([
      secondPage.status,
      secondPage.body.includes('the first press took your address off the waitlist'),
    ]).toEqual([404, true])
    const confirmPage = await press(findLink(mail?.text ?? '', 'confirm'))
    expect([confirmPage.status, confirmPage.body.includes('first press')]).toEqual([404, false])
    expect(await queryRows(`select count(referred_by) as referred from waitlist_entries`)).toEqual([
      { referred: 0 },
    ])
    const secondJoin = await join({ email: 'leaves@example.org' })
    expect(secondJoin.status).toBe(201)
    expect(secondJoin.json()['referralSlug']).not.toBe(referralSlug)
  })

  test('of a person whom somebody else added stays unconfirmed, is not credited as a referral, and is erased by the link', async () => {
    const clock = { now: new Date() }
    await using clockedApi = await startResource({
      env: { RESOURCE_SMTP_URL: mailServer.url },
      now: () => clock.now,
    })
    const joinClocked = (body: object) =>
      sendRequest(clockedApi.origin, { path: '/api/waitlist', ...createPost(body) })
    const { referralSlug } = (await joinClocked({ email: 'gains@example.org' })).json()
    const joinResponse = await joinClocked({ email: 'third.party@example.org', referredBySlug: referralSlug })
    expect(joinResponse.status).toBe(201)
    const [mail] = await mailServer.waitForMails(1, 'third.party@example.org')
    // A mail that is received but not settled yet would be sent again, because its lease ends when the clock advances.
    await expect
      .poll(async () => (await clockedApi.db.query(`select id from mails where state <> 'sent'`)).rows)
      .toEqual([])
    // An entry is never erased because of its age, even if it is unconfirmed.
    clock.now = new Date(clock.now.getTime() + 30 * 24 * 3_600_000)
    await clockedApi.resource.retention.enforce()
    expect((await joinClocked({ email: 'third.party@example.org' })).status).toBe(200)
    expect(mailServer.received.filter(({ to }) => to.includes('third.party@example.org'))).toHaveLength(1)
    const countCredited = async () =>
      (
        await clockedApi.db.query(
          'select count(*) as credited from waitlist_entries where referred_by is not null and confirmed_at is not null',
        )
      ).rows
    expect(await countCredited()).toEqual([{ credited: 0 }])
    const link =
      new RegExp(`^${clockedApi.origin}(/waitlist/remove.*)$`, 'm').exec(mail?.text ?? '')?.[1] ?? ''
    const [path = '', query = ''] = link.split('?')
    const headers = { ...FORM_HEADERS, 'sec-fetch-site': 'same-origin' }
    expect((await sendRequest(clockedApi.origin, { path, ...createPost(query, headers) })).status).toBe(200)
    expect(await clockedApi.countWaitlistEntries()).toBe(1)
  })

  test.for([
    { description: 'a link that was never sent', link: `/waitlist/confirm?link=${'A'.repeat(43)}` },
    { description: 'a truncated link', link: '/waitlist/confirm?link=AAAA' },
    { description: 'no link', link: '/waitlist/remove?' },
    { description: 'two links', link: `/waitlist/remove?link=${'A'.repeat(43)}&link=${'B'.repeat(43)}` },
    { description: 'a wildcard', link: '/waitlist/remove?link=%25' },
  ])('is not changed by $description, which is 404', async ({ link }) => {
    const countsBefore = [await api.countWaitlistEntries(), await countConfirmed()]
    const refusal = await press(link)
    expect(refusal.status).toBe(404)
    expect(refusal.body).toContain('This link does not work')
    expect([await api.countWaitlistEntries(), await countConfirmed()]).toEqual(countsBefore)
  })

  test('cannot be erased by a form of another site', async () => {
    await join({ email: 'cross@example.org' })
    const [mail] = await mailServer.waitForMails(1, 'cross@example.org')
    const link = findLink(mail?.text ?? '', 'remove')
    expect((await press(link, { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    expect((await press(link)).status).toBe(200)
  })
})

describe('POST /api/waitlist/forget', () => {
  test('responds 202 and stores a mail and a link for any address, but mails only addresses on the list', async () => {
    await join({ email: 'there@example.org' })
    await mailServer.waitForMails(1, 'there@example.org')
    const countRows = () =>
      queryRows(
        'select (select count(*) from mails) as mails, (select count(*) from waitlist_links) as links',
      )
    const increases: unknown[] = []
    for (const email of ['There@Example.org', 'absent@example.org']) {
      const [countsBefore] = await countRows()
      const response = await forget({ email })
      expect([response.status, response.json()]).toEqual([202, { status: 'accepted' }])
      const [countsAfter] = await countRows()
      increases.push([
        Number(countsAfter?.['mails']) - Number(countsBefore?.['mails']),
        Number(countsAfter?.['links']) - Number(countsBefore?.['links']),
      ])
    }
    expect(increases).toEqual([
      [1, 1],
      [1, 1],
    ])
    const [, mail] = await mailServer.waitForMails(2, 'there@example.org')
    expect(mail?.subject).toContain('off the Plainpath waitlist')
    await expect
      .poll(() => queryRows(`select state from mails where kind = 'waitlist-forget' order by state`))
      .toEqual([{ state: 'dropped' }, { state: 'sent' }])
    expect(mailServer.received.some(({ to }) => to.includes('absent@example.org'))).toBe(false)
    expect((await press(findLink(mail?.text ?? '', 'remove'))).status).toBe(200)
    expect((await join({ email: 'there@example.org' })).status).toBe(201)
  })

  test.for([
    { description: 'an invalid address', body: { email: 'nobody' }, code: 'invalid-request' },
    {
      description: 'a line end in the address',
      body: { email: 'a@example.org\r\nBcc: b@example.org' },
      code: 'invalid-request',
    },
    {
      description: 'an unknown member',
      body: { email: 'a@example.org', all: true },
      code: 'invalid-request',
    },
    { description: 'an empty object', body: {}, code: 'invalid-request' },
  ])('refuses $description and stores no mail', async ({ body, code }) => {
    const mailsBefore = await queryRows('select count(*) as mails from mails')
    expectProblem(await forget(body), { status: 400, code })
    expect(await queryRows('select count(*) as mails from mails')).toEqual(mailsBefore)
  })

  test('accepts at most five requests an hour for a mailbox', async () => {
    await using limitedApi = await startResource({ env: { RESOURCE_LIMITS_FACTOR: '1' } })
    const request = { path: '/api/waitlist/forget', ...createPost({ email: 'often@example.org' }) }
    for (let time = 0; time < 5; time++)
      expect((await sendRequest(limitedApi.origin, request)).status).toBe(202)
    expectProblem(await sendRequest(limitedApi.origin, request), { status: 429, code: 'rate-limited' })
  })
})

test('the tables and the log contain no address and no link secret in plaintext', async () => {
  await join({ email: 'canary-person@example.org' })
  const [mail] = await mailServer.waitForMails(1, 'canary-person@example.org')
  const secret = findLink(mail?.text ?? '', 'confirm').split('=')[1] ?? ''
  await press(findLink(mail?.text ?? '', 'confirm'))
  const storedRows = JSON.stringify(
    await queryRows(
      `select e::text as row from waitlist_entries e union all select l::text from waitlist_links l
       union all select m::text from mails m`,
    ),
  )
  expect(secret).toHaveLength(43)
  // PostgreSQL prints bytes in hexadecimal.
  for (const hidden of ['canary-person', Buffer.from('canary-person').toString('hex'), secret])
    expect(storedRows + api.logLines.join('\n')).not.toContain(hidden)
})
