import { DAY_MS, HOUR_MS } from '@plainpath/domain'
import { type MailServer, startMailServer } from '@plainpath/mail/testing'
import { expect, test } from 'vitest'
import { FORM_HEADERS } from './hold-fixture.ts'
import { createPost, expectProblem, type HttpResponse, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

interface MailFixture extends AsyncDisposable {
  readonly api: RunningResource
  readonly mailServer: MailServer
  readonly clock: { now: Date }
  /** Posts JSON, or a form if the body is a string. */
  post(path: string, body: unknown): Promise<HttpResponse>
  queryRows(sql: string, values?: unknown[]): Promise<Record<string, unknown>[]>
  /** Stores this many mails to the domain of an earlier mail, as if they had just been sent and counted. */
  addSentMails(count: number): Promise<void>
  /** Waits until exactly this many mails wait for room under a cap. */
  expectWaiting(count: number): Promise<void>
}

const IS_WAITING = `state = 'queued' and deferred_by is not null and counted_at is null`
const POLL_OPTIONS = { timeout: 10_000 }
/** The most mails to one domain within 24 hours, with a limits factor of 1. */
const DOMAIN_CAP = 2_000

/** Starts the API with production limits and caps, a mail server, and a clock that the test moves. */
async function startMailFixture(): Promise<MailFixture> {
  await using opening = new AsyncDisposableStack()
  const mailServer = opening.use(await startMailServer())
  const clock = { now: new Date() }
  const api = opening.use(
    await startResource({
      env: { RESOURCE_SMTP_URL: mailServer.url, RESOURCE_LIMITS_FACTOR: '1' },
      now: () => clock.now,
    }),
  )
  const queryRows: MailFixture['queryRows'] = async (sql, values) => (await api.db.query(sql, values)).rows
  const resources = opening.move()
  return {
    api,
    mailServer,
    clock,
    queryRows,
    post: (path, body) =>
      sendRequest(api.origin, { path, ...createPost(body, typeof body === 'string' ? FORM_HEADERS : {}) }),
    async addSentMails(count) {
      await queryRows(
        `insert into mails (id, kind, about, message_id, state, created_at, overdue_at, settled_at, counted_at,
           mailbox_hash, domain_hash, hash_key)
         select gen_random_uuid(), 'waitlist-joined', '', gen_random_uuid(), 'sent', $1, $1, $1, $1, id::text::bytea, domain_hash, hash_key
         from (select * from mails where domain_hash is not null limit 1) as mail, generate_series(1, $2::int)`,
        [clock.now, count],
      )
    },
    expectWaiting: (count) =>
      expect
        .poll(() => queryRows(`select id from mails where ${IS_WAITING}`), POLL_OPTIONS)
        .toHaveLength(count),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** Finds the link to a page in a mail. Returns its path and its query, or two empty strings. */
const findLink = (text: string | undefined, page: string) =>
  new RegExp(`(${page})\\?(link=[\\w-]{43})$`, 'm').exec(text ?? '')?.slice(1) ?? ['', '']
const join = (fixture: MailFixture, email: string) => fixture.post('/api/waitlist', { email })

test('mails about joining wait when four fifths of a cap are used, requested mails do not, and a day later all are sent', async () => {
  await using fixture = await startMailFixture()
  const { mailServer, clock, post } = fixture
  expect((await join(fixture, 'ana@example.org')).status).toBe(201)
  await mailServer.waitForMails(1, 'ana@example.org')
  // With the mail to Ana, four fifths of the cap are used. The last fifth is reserved for mails that a person requested.
  await fixture.addSentMails((4 / 5) * DOMAIN_CAP - 1)
  expect((await join(fixture, 'ben@example.org')).status).toBe(201)
  await fixture.expectWaiting(1)
  expect((await post('/api/waitlist/forget', { email: 'ana@example.org' })).status).toBe(202)
  await mailServer.waitForMails(2, 'ana@example.org')
  const form = new URLSearchParams({ topic: 'question', message: 'Canary.', email: 'cleo@example.org' })
  expect((await post('/contact', String(form))).status).toBe(202)
  await mailServer.waitForMails(1, 'cleo@example.org')
  expect(mailServer.received.some(({ to }) => to.includes('ben@example.org'))).toBe(false)
  clock.now = new Date(clock.now.getTime() + DAY_MS)
  await fixture.api.resource.mailer.runUpkeep()
  const [mail] = await mailServer.waitForMails(1, 'ben@example.org')
  const [page = '', link = ''] = findLink(mail?.text, '/waitlist/confirm')
  expect((await post(page, link)).body).toContain('You are confirmed')
})

// A mail waits here for an hour less than the longest time that a mail of its kind may wait.
test.for([
  {
    kind: 'waitlist-forget',
    waitMs: 47 * HOUR_MS,
    lifetimeMs: 7 * DAY_MS,
    page: '/waitlist/remove',
    request: (fixture: MailFixture) => fixture.post('/api/waitlist/forget', { email: 'ana@example.org' }),
  },
  {
    kind: 'contact-confirm',
    waitMs: 22 * HOUR_MS,
    lifetimeMs: DAY_MS,
    page: '/contact/confirm',
    request: (fixture: MailFixture) =>
      fixture.post(
        '/contact',
        String(new URLSearchParams({ topic: 'question', message: 'Canary.', email: 'ana@example.org' })),
      ),
  },
])(
  'the link of a $kind mail that waited works for its whole lifetime after the mail was sent, and no longer',
  async ({ kind, waitMs, lifetimeMs, page: expectedPage, request }) => {
    for (const isInTime of [true, false]) {
      await using fixture = await startMailFixture()
      const { mailServer, clock, api } = fixture
      await join(fixture, 'ana@example.org')
      await mailServer.waitForMails(1)
      await fixture.addSentMails(DOMAIN_CAP)
      expect((await request(fixture)).status).toBe(202)
      await fixture.expectWaiting(1)
      clock.now = new Date(clock.now.getTime() + waitMs)
      // Makes room under the cap.
      await fixture.queryRows('update mails set counted_at = null where counted_at is not null')
      await api.resource.mailer.runUpkeep()
      await api.resource.retention.enforce()
      const [, mail] = await mailServer.waitForMails(2, 'ana@example.org')
      const [page = '', link = ''] = findLink(mail?.text, expectedPage)
      expect(page, kind).toBe(expectedPage)
      clock.now = new Date(clock.now.getTime() + lifetimeMs - (isInTime ? 1_000 : 0))
      await api.resource.retention.enforce()
      expect((await fixture.post(page, link)).status).toBe(isInTime ? 200 : 404)
    }
  },
)

test.for([
  { kind: 'waitlist-joined', path: '/api/waitlist', body: { email: 'ben@example.org' }, acceptedStatus: 201 },
  {
    kind: 'waitlist-forget',
    path: '/api/waitlist/forget',
    body: { email: 'ana@example.org' },
    acceptedStatus: 202,
  },
  {
    kind: 'contact-confirm',
    path: '/contact',
    body: String(new URLSearchParams({ topic: 'question', message: 'Canary.', email: 'ana@example.org' })),
    acceptedStatus: 202,
  },
])(
  'a request for a $kind mail gets 429, and stores nothing, while 40 such mails from its network wait',
  async (row) => {
    await using fixture = await startMailFixture()
    const { queryRows, post } = fixture
    await join(fixture, 'ana@example.org')
    await fixture.mailServer.waitForMails(1)
    await expect
      .poll(() => queryRows(`select id from mails where state = 'sent'`), POLL_OPTIONS)
      .toHaveLength(1)
    // A network may have 40 waiting mails of a kind. These would be given up in an hour, so they wait during the whole test.
    await queryRows(
      `insert into mails (id, kind, about, mail_sealed, message_id, created_at, overdue_at, sender_hash, deferred_by)
     select gen_random_uuid(), $1, '', '', gen_random_uuid(), $2, $2, sender_hash, 'all'
     from mails, generate_series(1, 40)`,
      [row.kind, new Date(fixture.clock.now.getTime() + HOUR_MS)],
    )
    const countRows = () =>
      queryRows(`select (select count(*) from mails) as mails, (select count(*) from waitlist_entries) as entries,
            (select count(*) from waitlist_links) as links, (select count(*) from contact_messages) as messages`)
    const countsBefore = await countRows()
    const refusal = await post(row.path, row.body)
    expect([refusal.status, refusal.headers['retry-after']]).toEqual([429, '600'])
    if (row.path.startsWith('/api')) expectProblem(refusal, { status: 429, code: 'rate-limited' })
    expect(await countRows()).toEqual(countsBefore)
    await queryRows(`delete from mails where id = (select id from mails where ${IS_WAITING} limit 1)`)
    expect((await post(row.path, row.body)).status).toBe(row.acceptedStatus)
  },
)

test('a repeated join queues a dropped mail again, but only once', async () => {
  await using fixture = await startMailFixture()
  const { mailServer, queryRows, clock, api } = fixture
  await join(fixture, 'ana@example.org')
  await mailServer.waitForMails(1)
  await fixture.addSentMails(DOMAIN_CAP)
  const joinResponse = await join(fixture, 'ben@example.org')
  await fixture.expectWaiting(1)
  expect((await join(fixture, 'ben@example.org')).status).toBe(200)
  await fixture.expectWaiting(1)
  clock.now = new Date(clock.now.getTime() + 2 * DAY_MS)
  await queryRows('update mails set counted_at = $1, settled_at = $1 where counted_at is not null', [
    clock.now,
  ])
  await api.resource.mailer.runUpkeep()
  await fixture.expectWaiting(0)
  expect(api.logLines.join('\n')).toContain('a mail found no room under the caps in time')
  // Makes room under the cap.
  await queryRows('update mails set counted_at = null')
  const repeatedResponses = await Promise.all([
    join(fixture, 'ben@example.org'),
    join(fixture, 'Ben@Example.org'),
  ])
  for (const response of repeatedResponses)
    expect([response.status, response.json()]).toEqual([200, { status: 'already_joined' }])
  const [mail] = await mailServer.waitForMails(1, 'ben@example.org')
  expect(mail?.text).toContain(`${String(joinResponse.json()['referralUrl'])}\n`)
  const [page = '', link = ''] = findLink(mail?.text, '/waitlist/confirm')
  expect((await fixture.post(page, link)).status).toBe(200)
  await expect.poll(() => queryRows(`select id from mails where state = 'queued'`), POLL_OPTIONS).toEqual([])
  expect((await join(fixture, 'ben@example.org')).status).toBe(200)
  expect(await queryRows(`select id from mails where state = 'queued'`)).toEqual([])
  // Two links for each of the two entries: the second mail to Ben replaced the links of the first.
  expect(await queryRows('select id from waitlist_links where purpose <> $1', ['forget'])).toHaveLength(4)
  expect(mailServer.received.filter(({ to }) => to[0]?.toLowerCase() === 'ben@example.org')).toHaveLength(1)
})
