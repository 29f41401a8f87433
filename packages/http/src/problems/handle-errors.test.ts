import { Readable } from 'node:stream'
import type { Context } from 'koa'
import { describe, expect, test } from 'vitest'
import { converse, formatHead } from '../../test/raw-http.ts'
import { ORIGIN, startService } from '../../test/start-service.ts'
import type { ErrorFormat } from './handle-errors.ts'
import { Problem, type ProblemDocument } from './problem.ts'
import { getProblemKind, PROBLEM_CODES } from './problems.ts'

const SECRET = 'canary-7f3a'

/** Starts a service that calls `fail` for every request. A `RangeError` stands for a failure of a store. */
const startFailingService = (fail: (ctx: Context) => unknown, format: ErrorFormat = 'problem') =>
  startService({
    errors: {
      chooseErrorFormat: () => format,
      isUnavailable: (thrown) => thrown instanceof RangeError,
      renderPage: ({ title, code }: ProblemDocument) => `<h1>${title} (${code})</h1>`,
    },
    use: [async (ctx) => void (await fail(ctx))],
  })

/** Throws a 410 problem. Its detail has characters that RFC 6749 forbids in `error_description`. */
const throwGuideRetired = () => {
  throw new Problem('guide-retired', { detail: 'Say "no" to §1.' })
}

describe('formats an error', () => {
  test('as a problem with all its members (RFC 9457)', async () => {
    await using service = await startFailingService(() => {
      throw new Problem('invalid-request', {
        errors: [{ pointer: '#/a', detail: 'is missing' }],
        extensions: { policy: 'p' },
      })
    })
    const response = await fetch(`${service.url}/a/b?secret=1`, { headers: { 'x-request-id': 'request-1' } })
    expect(response.status).toBe(400)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(await response.json()).toEqual({
      type: `${ORIGIN}/problems/invalid-request`,
      title: 'The request is not valid',
      status: 400,
      detail: expect.stringContaining('A part of the request is missing'),
      instance: '/a/b',
      code: 'invalid-request',
      request_id: 'request-1',
      errors: [{ pointer: '#/a', detail: 'is missing' }],
      policy: 'p',
    })
  })

  test('with the path percent-encoded where a URI requires it', async () => {
    await using service = await startFailingService(throwGuideRetired)
    // Sent as bytes, because `fetch` would percent-encode the path itself.
    const bytes = Buffer.from(
      formatHead('GET /a<b>"{c}%zz%2F HTTP/1.1', 'Host: h', 'Connection: close'),
      'latin1',
    )
    const { responses } = await converse(service.port, bytes)
    expect(JSON.parse(responses[0]?.body ?? '')).toMatchObject({ instance: '/a%3Cb%3E%22%7Bc%7D%25zz%2F' })
  })

  test('for agents with additional error and error_description', async () => {
    await using service = await startFailingService(throwGuideRetired, 'agent')
    const response = await fetch(service.url)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(await response.json()).toMatchObject({
      code: 'guide-retired',
      detail: 'Say "no" to §1.',
      error: 'invalid_request',
      error_description: "Say 'no' to ?1.",
    })
  })

  test('for OAuth as in RFC 6749 §5.2, as JSON even if Accept excludes it', async () => {
    await using service = await startFailingService(throwGuideRetired, 'oauth')
    const response = await fetch(service.url, { headers: { accept: 'text/html' } })
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(await response.json()).toEqual({
      error: 'invalid_request',
      error_description: "Say 'no' to ?1.",
      error_uri: `${ORIGIN}/problems/guide-retired`,
      code: 'guide-retired',
    })
  })

  test.for([
    { accept: 'text/html', isHtml: true },
    { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', isHtml: true },
    { accept: '*/*', isHtml: false },
    { accept: 'application/json', isHtml: false },
    { accept: 'application/json, text/html', isHtml: false },
    { accept: 'application/json;q=0.1, text/html', isHtml: true },
    { accept: 'image/png', isHtml: false },
    { accept: 'nonsense', isHtml: false },
    // 9 + 247 × 4 + 3 characters are 1,000.
    { accept: `text/html${',a/b'.repeat(247)};;;`, isHtml: true },
    { accept: `text/html${',a/b'.repeat(247)};;;;`, isHtml: false },
    { accept: `text/html${',a/b'.repeat(2_000)}`, isHtml: false },
  ])('as a page only for clients that prefer HTML: $accept', async ({ accept, isHtml }) => {
    await using service = await startFailingService(throwGuideRetired, 'page')
    const response = await fetch(service.url, { headers: { accept } })
    expect(response.status).toBe(410)
    expect(response.headers.get('vary')).toBe('Accept')
    const type = isHtml ? 'text/html; charset=utf-8' : 'application/problem+json'
    expect(response.headers.get('content-type')).toBe(type)
    expect((await response.text()).startsWith('<h1>')).toBe(isHtml)
  })

  test('as JSON in the other formats, even if Accept excludes it', async () => {
    for (const format of ['problem', 'agent', 'oauth'] as const) {
      await using service = await startFailingService(throwGuideRetired, format)
      const response = await fetch(service.url, { headers: { accept: 'text/html' } })
      expect(response.headers.get('content-type')).toContain('json')
    }
  })
})

describe('does not reveal what was thrown:', () => {
  /** Has members that Koa would use for the response: `status`, `expose` and `headers`. */
  class DriverError extends Error {
    override readonly name = 'DriverError'
    readonly detail = `Key (email)=(${SECRET}) already exists`
    readonly status = 400
    readonly expose = true
    readonly headers = { 'x-leak': SECRET }
  }
  test.for([
    { kind: 'an error', thrown: new Error(`select '${SECRET}'`) },
    { kind: 'a driver error that looks like a response', thrown: new DriverError(`"${SECRET}"`) },
    { kind: 'a string', thrown: SECRET },
    { kind: 'nothing', thrown: undefined },
    { kind: 'an error with a cause', thrown: new Error('x', { cause: new Error(`'${SECRET}'`) }) },
  ])('$kind', async ({ thrown }) => {
    for (const format of ['problem', 'agent', 'oauth', 'page'] as const) {
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- third-party code may do so
      await using service = await startFailingService(() => Promise.reject(thrown), format)
      const response = await fetch(service.url, { headers: { accept: 'text/html' } })
      const body = await response.text()
      expect(response.status).toBe(500)
      expect(response.headers.get('x-leak')).toBeNull()
      expect(body).not.toMatch(/canary|DriverError|\bat \/|node:|\.ts/)
      expect(service.logLines.filter((line) => line.includes('internal-error'))).toHaveLength(1)
      expect(service.logLines.join('')).not.toContain(SECRET)
    }
  })
})

test('responds with 503 and Retry-After when a store fails, and logs the cause', async () => {
  await using service = await startFailingService(() => {
    throw new RangeError('no connection')
  })
  const response = await fetch(service.url)
  expect(response.status).toBe(503)
  expect(response.headers.get('retry-after')).toMatch(/^\d+$/)
  expect(await response.json()).toMatchObject({ code: 'unavailable' })
  expect(service.logLines[0]).toMatch(/"level":"error".*"no connection"/)
})

test('logs one error when many requests fail in the same way', async () => {
  await using service = await startFailingService(() => {
    throw new RangeError('no connection')
  })
  const responses = await Promise.all(Array.from({ length: 20 }, () => fetch(service.url)))
  expect(responses.map(({ status }) => status)).toEqual(Array<number>(20).fill(503))
  expect(service.logLines.filter((line) => line.includes('"level":"error"'))).toHaveLength(1)
})

test('logs no error for a mistake of the caller', async () => {
  await using service = await startFailingService(throwGuideRetired)
  await fetch(service.url)
  expect(service.logLines.map((line) => JSON.parse(line).level)).toEqual(['info'])
})

test('makes an error uncacheable, and removes headers of the response that it replaces', async () => {
  await using service = await startFailingService((ctx) => {
    ctx.set({ etag: '"x"', 'cache-control': 'public', location: '/elsewhere', 'content-encoding': 'gzip' })
    ctx.status = 201
    ctx.body = Readable.from(['half'])
    throwGuideRetired()
  })
  const { headers } = await fetch(service.url)
  expect(headers.get('cache-control')).toBe('no-store')
  for (const name of ['etag', 'location', 'content-encoding']) expect(headers.get(name)).toBeNull()
})

test('sends the headers of the problem, also to HEAD without a body', async () => {
  await using service = await startFailingService(() => {
    throw new Problem('token-required', { headers: { 'www-authenticate': 'Bearer' } })
  })
  const getResponse = await fetch(service.url)
  const headResponse = await fetch(service.url, { method: 'HEAD' })
  expect(headResponse.status).toBe(401)
  expect(await headResponse.text()).toBe('')
  for (const name of ['www-authenticate', 'content-type', 'cache-control']) {
    expect(headResponse.headers.get(name)).toBe(getResponse.headers.get(name))
  }
  expect(headResponse.headers.get('content-length')).toMatch(/^\d+$/)
})

test('closes the connection when a response fails midway', async () => {
  await using service = await startFailingService(async (ctx) => {
    ctx.res.writeHead(200, { 'content-length': '100' })
    ctx.res.write('half')
    throw new Error('late')
  })
  const { responses, closed } = await converse(service.port, formatHead('GET / HTTP/1.1', 'Host: h'))
  expect(responses).toEqual([])
  expect(closed).toBe(true)
  expect(service.logLines.join('')).toContain('internal-error')
})

test('does not replace a 404 that a library wrote directly', async () => {
  const content = 'mine'.repeat(1_000_000)
  await using service = await startFailingService((ctx) => {
    ctx.respond = false
    ctx.res.writeHead(404).end(content)
  })
  expect((await (await fetch(service.url)).text()).length).toBe(content.length)
})

test('responds to an error of a library that set ctx.respond to false', async () => {
  await using service = await startFailingService((ctx) => {
    ctx.respond = false
    throwGuideRetired()
  })
  // Without a response, `fetch` would wait for one.
  expect((await fetch(service.url, { signal: AbortSignal.timeout(2_000) })).status).toBe(410)
})

describe('responds with 404 to the unknown path', () => {
  test.for(['/', '//', '//x', '/%zz', '/%00', '/a%2fb', '/./a', '/a;x=1', '/?a=1'])('%s', async (path) => {
    await using service = await startService()
    const bytes = Buffer.from(formatHead(`GET ${path} HTTP/1.1`, 'Host: h'), 'utf8')
    const { responses } = await converse(service.port, bytes, { responses: 1 })
    expect(responses[0]?.status).toBe(404)
    expect(JSON.parse(responses[0]?.body ?? '')).toMatchObject({ code: 'not-found' })
  })
})

test.for([
  'http://[::1/x',
  'http:///x',
  'http://',
  'http://a b',
  '//u@[#x',
  '//u@[\tx',
  '//u@[\fx',
  'http://h:99999999/',
  '*',
])('responds with a 4xx to the target %s, which Koa cannot parse', async (target) => {
  await using service = await startService()
  const bytes = Buffer.from(formatHead(`OPTIONS ${target} HTTP/1.1`, 'Host: h'), 'latin1')
  const { responses } = await converse(service.port, bytes, { responses: 1 })
  expect(responses[0]?.status).toBeGreaterThanOrEqual(400)
  expect(responses[0]?.status).toBeLessThan(500)
  expect(responses[0]?.headers['content-type']).toBe('application/problem+json')
  expect(service.logLines.join('')).not.toContain('"level":"error"')
})

test('gives every problem an error status, and texts and codes in the right form', () => {
  for (const code of PROBLEM_CODES) {
    const { status, title, meaning, remedy, oauth } = getProblemKind(code)
    expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/)
    expect(status).toBeGreaterThanOrEqual(400)
    expect(title).not.toMatch(/\.$/)
    expect(meaning).toMatch(/\.$/)
    expect(remedy).toMatch(/\.$/)
    if (oauth) expect(oauth).toMatch(/^[a-z_]+$/)
  }
})
