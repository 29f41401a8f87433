import { openPool } from '@plainpath/postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type System, startSystem } from '../in-process/start-system.ts'
import { basic, createSender, form, type HttpRequest, json, type Sender } from '../send.ts'

const resources = new AsyncDisposableStack()
let system: System
let sender: Sender
beforeAll(async () => {
  system = resources.use(await startSystem({ limitsFactor: 1_000_000 }))
  sender = resources.use(createSender(system.origin))
})
afterAll(() => resources.disposeAsync())

/** A text as long as the random part of a token. */
const CANARY = 'Canary58b1Canary58b1Canary58b1Canary58b1Can'
const TOKEN = `ppt_${CANARY}`
const EMAIL = 'canary.person@example.org'
const listPostPaths = () => [
  ...new Set(system.publicEndpoints.filter(({ method }) => method === 'POST').map(({ path }) => path)),
]

/**
 * Sends requests, and returns their log lines. Checks that each request has a line, except those that got 401, 429 or 503:
 * in a flood, such refusals are only counted.
 */
async function sendAndReadLog(
  requests: readonly HttpRequest[],
): Promise<{ lines: string[]; statuses: number[] }> {
  const linesBefore = system.logged.length
  const statuses: number[] = []
  for (const request of requests) statuses.push((await sender.send(request)).status)
  const lines = system.logged.slice(linesBefore)
  const refusalCount = statuses.filter((status) => [401, 429, 503].includes(status)).length
  expect(lines.length).toBeGreaterThanOrEqual(requests.length - refusalCount)
  return { lines, statuses }
}

describe('tokens, secrets and e-mail addresses are not logged, wherever a client sends them:', () => {
  test.for<[string, (path: string) => HttpRequest]>([
    ['the query', (path) => ({ path: `${path}?access_token=${TOKEN}&email=${EMAIL}` })],
    ['the path', (path) => ({ path: `${path}/${TOKEN}/${EMAIL}` })],
    ['a matrix parameter', (path) => ({ path: `${path};token=${TOKEN}` })],
    ['a POST’s query', (path) => ({ method: 'POST', path: `${path}?client_secret=${TOKEN}`, ...json({}) })],
    ['the Referer', (path) => ({ path, headers: { referer: `https://a.example/?t=${TOKEN}&e=${EMAIL}` } })],
    ['a cookie', (path) => ({ path, headers: { cookie: `token=${TOKEN}` } })],
    ['an unknown scheme', (path) => ({ path, headers: { authorization: `Digest ${TOKEN}` } })],
    ['a wrong bearer token', (path) => ({ path, headers: { authorization: `Bearer ${TOKEN}` } })],
    ['a wrong secret', (path) => ({ path, headers: basic(`agt_${'A'.repeat(22)}`, TOKEN) })],
    ['the request id', (path) => ({ path, headers: { 'x-request-id': `${TOKEN} ${EMAIL}` } })],
    ['the user agent', (path) => ({ path, headers: { 'user-agent': `${TOKEN} ${EMAIL}` } })],
    ['the Host', (path) => ({ path, headers: { host: `${CANARY.toLowerCase()}.example` } })],
    ['a method', (path) => ({ method: 'PROPFIND', path: `${path}?${TOKEN}` })],
    [
      'a form',
      (path) => ({ method: 'POST', path, ...form({ token: TOKEN, client_secret: TOKEN, email: EMAIL }) }),
    ],
    [
      'JSON of another shape',
      (path) => ({ method: 'POST', path, ...json({ [TOKEN]: EMAIL, email: [EMAIL] }) }),
    ],
  ])('%s', async ([_place, createRequest]) => {
    const paths = [
      ...listPostPaths(),
      '/api/agent',
      '/api/guides',
      '/api/guides/avoid-scams',
      '/',
      '/claim',
      '/nowhere',
    ]
    const { lines } = await sendAndReadLog(paths.map(createRequest))
    const text = lines.join('').toLowerCase()
    for (const canary of [CANARY, 'canary.person', encodeURIComponent(EMAIL)])
      expect(text).not.toContain(canary.toLowerCase())
    for (const line of lines) expect(JSON.parse(line)).toHaveProperty('level')
  })
})

test('malformed JSON is not logged', async () => {
  const bodies = [`{"email":"${EMAIL}"`, `{"email":"${EMAIL}",}`, `"${EMAIL}`, `{"message":"${TOKEN}"}}`]
  const { lines, statuses } = await sendAndReadLog(
    listPostPaths().flatMap((path) => bodies.map((body) => ({ method: 'POST', path, ...json(body) }))),
  )
  expect(statuses.every((status) => status >= 400 && status < 500)).toBe(true)
  expect(lines.join('')).not.toMatch(/canary/i)
  const validResponse = await sender.send({
    method: 'POST',
    path: '/api/waitlist',
    ...json({ email: 'sound@example.org' }),
  })
  expect(validResponse.status).toBe(201)
})

describe('a client cannot forge a log line:', () => {
  /** A log line that the client would like to appear. */
  const FORGED = '{"level":"info","msg":"forged"}'
  test.for([
    ['a line end', `x\n${FORGED}`],
    ['a carriage return', `x\r\n${FORGED}`],
    ['an encoded line end', `x%0a${encodeURIComponent(FORGED)}`],
    ['a line separator', `x\u2028${FORGED}\u2029`],
    ['a quote and a brace', `x"},${FORGED},{"x":"`],
    ['terminal escape sequences', `\u001b[2J\u001b]0;forged\u0007\u009b31mforged`],
    ['a backspace', `forged\b\b\b\b`],
    ['a change of text direction', `\u202eforged\u202c`],
    ['a very long text', `forged${'x'.repeat(2_000)}`],
  ] as const)('%s', async ([_what, text]) => {
    const inHeader = text.replaceAll(/[^\x20-\x7e]/g, (character) => encodeURIComponent(character))
    const inPath = encodeURIComponent(text)
    const { lines } = await sendAndReadLog([
      { method: 'POST', path: '/api/agent/register', ...json({ client_name: text }) },
      { method: 'POST', path: '/api/waitlist', ...json({ email: text, referredBySlug: text }) },
      {
        method: 'POST',
        path: '/oauth/token',
        ...form({ grant_type: text, client_id: text, client_secret: text }),
      },
      { path: `/api/guides?q=${inPath}&cursor=${inPath}` },
      { path: `/${inPath}` },
      { path: `/api/guides/${inPath}` },
      { path: '/', headers: { 'user-agent': inHeader, referer: inHeader, 'x-request-id': inHeader } },
      { path: '/api/agent', headers: basic(text, text) },
    ])
    for (const line of lines) {
      expect(line.endsWith('\n') ? line.slice(0, -1) : line).toMatch(/^\{[\x20-\x7e]*\}$/)
      expect(Object.keys(JSON.parse(line))).not.toContain('x')
      expect(line).not.toContain('forged')
    }
  })
})

describe('the values that a database error quotes appear neither in the response nor in the log:', () => {
  test.for([
    [
      'auth',
      'agents',
      () => ({ method: 'POST', path: '/api/agent/register', ...json({ client_name: CANARY }) }),
    ],
    [
      'resource',
      'waitlist_entries',
      () => ({ method: 'POST', path: '/api/waitlist', ...json({ email: `${CANARY}@example.org` }) }),
    ],
  ] as const)('%s, table %s', async ([app, table, createRequest]) => {
    await using db = openPool(system.adminUrls[app], { max: 1 })
    await db.query(`create function quote_it() returns trigger language plpgsql as
      $$ begin raise exception 'Key (email)=(%) of "%" exists', '${EMAIL}', '${CANARY}'; end $$`)
    await db.query(
      `create trigger quote_it before insert on ${table} for each row execute function quote_it()`,
    )
    const linesBefore = system.logged.length
    try {
      const response = await sender.send(createRequest())
      expect(response.status).toBe(500)
      expect(JSON.parse(response.text)).toMatchObject({ code: 'internal-error' })
      expect(response.text).not.toMatch(new RegExp(`${table}|Key|P0001|canary`, 'i'))
      const lines = system.logged.slice(linesBefore).join('')
      expect(lines).toContain('"level":"error"')
      expect(lines).toContain('P0001')
      expect(lines).not.toMatch(/canary/i)
    } finally {
      await db.query('drop function quote_it cascade')
    }
    expect((await sender.send(createRequest())).status).toBe(201)
  })
})
