import { DAY_MS, HOUR_MS } from '@plainpath/domain'
import { type MailServer, startMailServer } from '@plainpath/mail/testing'
import { expect, test } from 'vitest'
import { FORM } from './contact-people.ts'
import { expectProblem, type HttpResponse, posting, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

interface Flooded extends AsyncDisposable {
  readonly api: RunningResource
  readonly server: MailServer
  readonly clock: { now: Date }
  post(path: string, body: unknown): Promise<HttpResponse>
  rows(sql: string, values?: unknown[]): Promise<Record<string, unknown>[]>
  /** Stores this many mails to example.org as sent and counted now. */
  fill(mails: number): Promise<void>
  /** Waits until this many mails wait for room. */
  waiting(count: number): Promise<void>
}

const WAITING = `state = 'queued' and deferred_by is not null and counted_at is null`
const POLL = { timeout: 10_000 }

/** The API with production limits, and a clock that the test moves. */
async function startFlooded(): Promise<Flooded> {
  await using opening = new AsyncDisposableStack()
  const server = opening.use(await startMailServer())
  const clock = { now: new Date() }
  const api = opening.use(
    await startResource({
      env: { RESOURCE_SMTP_URL: server.url, RESOURCE_LIMITS_FACTOR: '1' },
      now: () => clock.now,
    }),
  )
  const rows: Flooded['rows'] = async (sql, values) => (await api.db.query(sql, values)).rows
  const resources = opening.move()
  return {
    api,
    server,
    clock,
    rows,
    post: (path, body) =>
      sendRequest(api.origin, { path, ...posting(body, typeof body === 'string' ? FORM : {}) }),
    async fill(mails) {
      await rows(
        `insert into mails (id, kind, about, message_id, state, created_at, overdue_at, settled_at, counted_at,
           mailbox_hash, domain_hash, hash_key)
         select gen_random_uuid(), 'waitlist-joined', '', gen_random_uuid(), 'sent', $1, $1, $1, $1, id::text::bytea, domain_hash, hash_key
         from (select * from mails where domain_hash is not null limit 1) as mail, generate_series(1, $2::int)`,
        [clock.now, mails],
      )
    },
    waiting: (count) =>
      expect.poll(() => rows(`select id from mails where ${WAITING}`), POLL).toHaveLength(count),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

const linkIn = (text: string | undefined, page: string) =>
  new RegExp(`(${page})\\?(link=[\\w-]{43})$`, 'm').exec(text ?? '')?.slice(1) ?? ['', '']
const join = (flooded: Flooded, email: string) => flooded.post('/api/waitlist', { email })

test('mails of joins cannot use up the reserve for mails that people ask for: they wait, and are sent the next day', async () => {
  await using flooded = await startFlooded()
  const { server, clock, post } = flooded
  expect((await join(flooded, 'ana@example.org')).status).toBe(201)
  await server.mails(1, 'ana@example.org')
  await flooded.fill(1_599)
  expect((await join(flooded, 'ben@example.org')).status).toBe(201)
  await flooded.waiting(1)
  expect((await post('/api/waitlist/forget', { email: 'ana@example.org' })).status).toBe(202)
  await server.mails(2, 'ana@example.org')
  const form = new URLSearchParams({ topic: 'question', message: 'Canary.', email: 'cleo@example.org' })
  expect((await post('/contact', String(form))).status).toBe(202)
  await server.mails(1, 'cleo@example.org')
  expect(server.received.some(({ to }) => to.includes('ben@example.org'))).toBe(false)
  clock.now = new Date(clock.now.getTime() + DAY_MS)
  await flooded.api.resource.mailer.upkeep()
  const [mail] = await server.mails(1, 'ben@example.org')
  const [page = '', link = ''] = linkIn(mail?.text, '/waitlist/confirm')
  expect((await post(page, link)).body).toContain('You are confirmed')
})

test.for([
  {
    kind: 'waitlist-forget',
    waits: 47 * HOUR_MS,
    lasts: 7 * DAY_MS,
    page: '/waitlist/remove',
    request: (flooded: Flooded) => flooded.post('/api/waitlist/forget', { email: 'ana@example.org' }),
  },
  {
    kind: 'contact-confirm',
    waits: 22 * HOUR_MS,
    lasts: DAY_MS,
    page: '/contact/confirm',
    request: (flooded: Flooded) =>
      flooded.post(
        '/contact',
        String(new URLSearchParams({ topic: 'question', message: 'Canary.', email: 'ana@example.org' })),
      ),
  },
])(
  'the link of a $kind mail that waited works for the time that the mail states',
  async ({ kind, ...row }) => {
    for (const early of [true, false]) {
      await using flooded = await startFlooded()
      const { server, clock, api } = flooded
      await join(flooded, 'ana@example.org')
      await server.mails(1)
      await flooded.fill(2_000)
      expect((await row.request(flooded)).status).toBe(202)
      await flooded.waiting(1)
      clock.now = new Date(clock.now.getTime() + row.waits)
      await flooded.rows('update mails set counted_at = null where counted_at is not null')
      await api.resource.mailer.upkeep()
      await api.resource.retention.enforce()
      const [, mail] = await server.mails(2, 'ana@example.org')
      const [page = '', link = ''] = linkIn(mail?.text, row.page)
      expect(page, kind).toBe(row.page)
      clock.now = new Date(clock.now.getTime() + row.lasts - (early ? 1_000 : 0))
      await api.resource.retention.enforce()
      expect((await flooded.post(page, link)).status).toBe(early ? 200 : 404)
    }
  },
)

test.for([
  { kind: 'waitlist-joined', path: '/api/waitlist', body: { email: 'ben@example.org' }, positive: 201 },
  {
    kind: 'waitlist-forget',
    path: '/api/waitlist/forget',
    body: { email: 'ana@example.org' },
    positive: 202,
  },
  {
    kind: 'contact-confirm',
    path: '/contact',
    body: String(new URLSearchParams({ topic: 'question', message: 'Canary.', email: 'ana@example.org' })),
    positive: 202,
  },
])('refuses with 429 and stores nothing while 40 mails of kind $kind of the network wait', async (row) => {
  await using flooded = await startFlooded()
  const { rows, post } = flooded
  await join(flooded, 'ana@example.org')
  await flooded.server.mails(1)
  await expect.poll(() => rows(`select id from mails where state = 'sent'`), POLL).toHaveLength(1)
  await rows(
    `insert into mails (id, kind, about, mail_sealed, message_id, created_at, overdue_at, sender_hash, deferred_by)
     select gen_random_uuid(), $1, '', '', gen_random_uuid(), $2, $2, sender_hash, 'all'
     from mails, generate_series(1, 40)`,
    [row.kind, new Date(flooded.clock.now.getTime() + HOUR_MS)],
  )
  const stored = () =>
    rows(`select (select count(*) from mails) as mails, (select count(*) from waitlist_entries) as entries,
            (select count(*) from waitlist_links) as links, (select count(*) from contact_messages) as messages`)
  const storedBefore = await stored()
  const refused = await post(row.path, row.body)
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, '600'])
  if (row.path.startsWith('/api')) expectProblem(refused, { status: 429, code: 'rate-limited' })
  expect(await stored()).toEqual(storedBefore)
  await rows(`delete from mails where id = (select id from mails where ${WAITING} limit 1)`)
  expect((await post(row.path, row.body)).status).toBe(row.positive)
})

test('a repeated join queues a dropped mail again, once, with new links', async () => {
  await using flooded = await startFlooded()
  const { server, rows, clock, api } = flooded
  await join(flooded, 'ana@example.org')
  await server.mails(1)
  await flooded.fill(2_000)
  const joined = await join(flooded, 'ben@example.org')
  await flooded.waiting(1)
  expect((await join(flooded, 'ben@example.org')).status).toBe(200)
  await flooded.waiting(1)
  clock.now = new Date(clock.now.getTime() + 2 * DAY_MS)
  await rows('update mails set counted_at = $1, settled_at = $1 where counted_at is not null', [clock.now])
  await api.resource.mailer.upkeep()
  await flooded.waiting(0)
  expect(api.logged.join('\n')).toContain('a mail found no room under the caps in time')
  await rows('update mails set counted_at = null')
  const again = await Promise.all([join(flooded, 'ben@example.org'), join(flooded, 'Ben@Example.org')])
  for (const response of again)
    expect([response.status, response.json()]).toEqual([200, { status: 'already_joined' }])
  const [mail] = await server.mails(1, 'ben@example.org')
  expect(mail?.text).toContain(`${String(joined.json()['referralUrl'])}\n`)
  const [page = '', link = ''] = linkIn(mail?.text, '/waitlist/confirm')
  expect((await flooded.post(page, link)).status).toBe(200)
  await expect.poll(() => rows(`select id from mails where state = 'queued'`), POLL).toEqual([])
  expect((await join(flooded, 'ben@example.org')).status).toBe(200)
  expect(await rows(`select id from mails where state = 'queued'`)).toEqual([])
  expect(await rows('select id from waitlist_links where purpose <> $1', ['forget'])).toHaveLength(4)
  expect(server.received.filter(({ to }) => to[0]?.toLowerCase() === 'ben@example.org')).toHaveLength(1)
})
