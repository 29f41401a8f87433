import { openPool } from '@plainpath/postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type System, startSystem } from '../in-process/start-system.ts'
import { basic, createSender, form, type HttpRequest, json, type Sender } from '../send.ts'

const resources = new AsyncDisposableStack()
let system: System
let sender: Sender
beforeAll(async () => {
  // The tests must not reach the rate limits, which would refuse the requests early.
  system = resources.use(await startSystem({ limitsFactor: 1_000_000 }))
  sender = resources.use(createSender(system.origin))
})
afterAll(() => resources.disposeAsync())

/** A text that must not appear in any log line. It is as long as the random part of a token. */
const CANARY = 'Canary58b1Canary58b1Canary58b1Canary58b1Can'
const TOKEN = `ppt_${CANARY}`
const EMAIL = 'canary.person@example.org'
const listPostPaths = () => [
  ...new Set(system.publicEndpoints.filter(({ method }) => method === 'POST').map(({ path }) => path)),
]

/**
 * Sends requests, and returns their log lines. Checks that each response with a status other than 401, 429 and 503 has a line with
 * its id and status. Of responses with these three, at most 20 a second are logged (`request-context.ts`).
 */
async function sendAndReadLog(
  requests: readonly HttpRequest[],
): Promise<{ lines: string[]; statuses: number[] }> {
  const linesBefore = system.logged.length
  const responses: { request_id: string | null; status: number }[] = []
  for (const request of requests) {
    const { headers, status } = await sender.send(request)
    responses.push({ request_id: headers.get('x-request-id'), status })
  }
  const lines = system.logged.slice(linesBefore)
  const records = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  const loggedResponses = records.map(({ request_id, status }) => ({ request_id, status }))
  for (const response of responses.filter(({ status }) => ![401, 429, 503].includes(status)))
    expect(loggedResponses).toContainEqual(response)
  return { lines, statuses: responses.map(({ status }) => status) }
}

describe('tokens, secrets and e-mail addresses are not logged, wherever a client sends them:', () => {
  test.for<[string, (path: string) => HttpRequest]>([
    ['in the query', (path) => ({ path: `${path}?access_token=${TOKEN}&email=${EMAIL}` })],
    ['in the path', (path) => ({ path: `${path}/${TOKEN}/${EMAIL}` })],
    ['in a matrix parameter', (path) => ({ path: `${path};token=${TOKEN}` })],
    [
      'in the query of a POST request',
      (path) => ({ method: 'POST', path: `${path}?client_secret=${TOKEN}`, ...json({}) }),
    ],
    [
      'in the Referer header',
      (path) => ({ path, headers: { referer: `https://a.example/?t=${TOKEN}&e=${EMAIL}` } }),
    ],
    ['in a cookie', (path) => ({ path, headers: { cookie: `token=${TOKEN}` } })],
    [
      'with an unknown authentication scheme',
      (path) => ({ path, headers: { authorization: `Digest ${TOKEN}` } }),
    ],
    ['as a bearer token', (path) => ({ path, headers: { authorization: `Bearer ${TOKEN}` } })],
    ['as a client secret', (path) => ({ path, headers: basic(`agt_${'A'.repeat(22)}`, TOKEN) })],
    ['as the request id', (path) => ({ path, headers: { 'x-request-id': `${TOKEN} ${EMAIL}` } })],
    ['as the user agent', (path) => ({ path, headers: { 'user-agent': `${TOKEN} ${EMAIL}` } })],
    ['in the Host header', (path) => ({ path, headers: { host: `${CANARY.toLowerCase()}.example` } })],
    [
      'in the query of a request with an unsupported method',
      (path) => ({ method: 'PROPFIND', path: `${path}?${TOKEN}` }),
    ],
    [
      'in a form',
      (path) => ({ method: 'POST', path, ...form({ token: TOKEN, client_secret: TOKEN, email: EMAIL }) }),
    ],
    [
      'in JSON with unexpected members',
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
    // The Base64 text is a part of the Authorization header with the client secret.
    for (const canary of [CANARY, 'canary.person', btoa(TOKEN)])
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
  // A valid body still succeeds.
  const validResponse = await sender.send({
    method: 'POST',
    path: '/api/waitlist',
    ...json({ email: 'valid@example.org' }),
  })
  expect(validResponse.status).toBe(201)
})

describe('a client cannot forge a log line:', () => {
  /** The log line that the client tries to forge. */
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
    const headerText = text.replaceAll(/[^\x20-\x7e]/g, (character) => encodeURIComponent(character))
    const encodedText = encodeURIComponent(text)
    const { lines } = await sendAndReadLog([
      { method: 'POST', path: '/api/agent/register', ...json({ client_name: text }) },
      { method: 'POST', path: '/api/waitlist', ...json({ email: text, referredBySlug: text }) },
      {
        method: 'POST',
        path: '/oauth/token',
        ...form({ grant_type: text, client_id: text, client_secret: text }),
      },
      { path: `/api/guides?q=${encodedText}&cursor=${encodedText}` },
      { path: `/${encodedText}` },
      { path: `/api/guides/${encodedText}` },
      { path: '/', headers: { 'user-agent': headerText, referer: headerText, 'x-request-id': headerText } },
      { path: '/api/agent', headers: basic(text, text) },
    ])
    for (const line of lines) {
      expect(line.endsWith('\n') ? line.slice(0, -1) : line).toMatch(/^\{[\x20-\x7e]*\}$/)
      // `x` is the member that 'a quote and a brace' tries to add.
      expect(Object.keys(JSON.parse(line))).not.toContain('x')
      expect(line).not.toContain('forged')
      // The lines of these requests have about 200 characters.
      expect(line.length).toBeLessThan(400)
    }
  })
})

describe('neither the response nor the log contains the values that a database error quotes:', () => {
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
    await db.query(`create function raise_quoting_error() returns trigger language plpgsql as
      $$ begin raise exception 'Key (email)=(%) of "%" exists', '${EMAIL}', '${CANARY}'; end $$`)
    await db.query(
      `create trigger raise_quoting_error before insert on ${table} for each row execute function raise_quoting_error()`,
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
      await db.query('drop function raise_quoting_error cascade')
    }
    expect((await sender.send(createRequest())).status).toBe(201)
  })
})
