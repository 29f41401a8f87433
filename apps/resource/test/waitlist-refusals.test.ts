import type { OutgoingHttpHeaders } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPost, expectProblem, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

let api: RunningResource
beforeAll(async () => {
  api = await startResource()
})
afterAll(() => api[Symbol.asyncDispose]())

const CANARY = 'canary-7f3a'
const VALID_BODY = { email: `${CANARY}@example.org` }
const send = (body: unknown, headers: OutgoingHttpHeaders = {}) =>
  sendRequest(api.origin, { path: '/api/waitlist', ...createPost(body, headers) })

/** A request that the API refuses, and the expected response. The defaults are a valid body and a 400 `invalid-request`. */
interface RefusedRequest {
  title: string
  body?: unknown
  headers?: OutgoingHttpHeaders
  status?: number
  code?: string
  /** The pointers in the `errors` of the response. */
  pointers?: string[]
}
const EMAIL_POINTERS = ['#/email']
const withMember = (name: string, value: unknown) => ({ body: { ...VALID_BODY, [name]: value } })

/** Bodies that the API does not accept as a JSON object with the right members. */
const INVALID_BODIES: RefusedRequest[] = [
  { title: 'an empty body', body: '' },
  { title: 'a body that is not JSON', body: '{' },
  { title: 'truncated JSON with an address', body: `{"email":"${VALID_BODY.email}"` },
  { title: 'trailing garbage', body: `${JSON.stringify(VALID_BODY)} x` },
  { title: 'two documents', body: `${JSON.stringify(VALID_BODY)}{}` },
  { title: 'a comment', body: `{"email":"${VALID_BODY.email}"/* */}` },
  { title: 'a trailing comma', body: `{"email":"${VALID_BODY.email}",}` },
  { title: 'single quotes', body: `{'email':'${VALID_BODY.email}'}` },
  { title: 'NaN', body: 'NaN' },
  { title: 'a member named twice', body: `{"email":"a@example.org","email":"${VALID_BODY.email}"}` },
  {
    title: 'a member named twice, once escaped',
    body: `{"\\u0065mail":"a@example.org","email":"${VALID_BODY.email}"}`,
  },
  { title: '__proto__', body: `{"email":"${VALID_BODY.email}","__proto__":{}}` },
  { title: 'constructor', body: { ...VALID_BODY, constructor: { prototype: {} } } },
  {
    title: 'a number beyond the range of a double',
    body: `{"email":"${VALID_BODY.email}","referredBySlug":1e400}`,
  },
  { title: 'a lone surrogate', body: `{"email":"${VALID_BODY.email}","referredBySlug":"\\ud800"}` },
  { title: 'NUL', body: `{"email":"${VALID_BODY.email}","referredBySlug":"a\\u0000b"}` },
  { title: 'a byte order mark', body: `\ufeff${JSON.stringify(VALID_BODY)}` },
  {
    title: 'bytes that are not UTF-8',
    body: Buffer.concat([Buffer.from('{"email":"'), Buffer.from([0xff]), Buffer.from('@example.org"}')]),
  },
  {
    title: 'overlong UTF-8',
    body: Buffer.concat([
      Buffer.from('{"email":"'),
      Buffer.from([0xc0, 0xaf]),
      Buffer.from('@example.org"}'),
    ]),
  },
  { title: 'UTF-16', body: Buffer.from(JSON.stringify(VALID_BODY), 'utf16le') },
  { title: '17 levels of nesting', body: `${'['.repeat(17)}${']'.repeat(17)}` },
  { title: '8000 levels of nesting', body: '['.repeat(8000) },
  {
    title: 'a thousand unknown members',
    body: Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`m${n}`, 1])),
  },
  ...[null, true, 0, 'text', [], [VALID_BODY]].map((body) => ({
    title: `${JSON.stringify(body)} as the body`,
    body: JSON.stringify(body),
  })),
]

const INVALID_MEMBERS: RefusedRequest[] = [
  { title: 'no e-mail', body: {}, pointers: EMAIL_POINTERS },
  ...[null, true, 0, {}, { toString: 1 }, [VALID_BODY.email]].map((email) => ({
    title: `${JSON.stringify(email)} as the e-mail`,
    body: { email },
    pointers: EMAIL_POINTERS,
  })),
  ...[1, true, {}, ['a'], 'x'.repeat(101)].map((slug) => ({
    title: `${JSON.stringify(slug).slice(0, 20)} as the referrer`,
    ...withMember('referredBySlug', slug),
    pointers: ['#/referredBySlug'],
  })),
  { title: 'an unknown member, by name', ...withMember('admin', true), pointers: ['#/admin'] },
  { title: 'a member in another case', ...withMember('Email', VALID_BODY.email), pointers: ['#/Email'] },
  {
    title: 'a member in snake case',
    ...withMember('referred_by_slug', 'a'),
    pointers: ['#/referred_by_slug'],
  },
  {
    title: 'several invalid members, and names them all in one response',
    body: { email: 1, referredBySlug: 1, admin: 1 },
    pointers: ['#/email', '#/referredBySlug', '#/admin'],
  },
]

const INVALID_ADDRESSES: RefusedRequest[] = [
  '',
  ' ',
  'a',
  'a@',
  '@b',
  '@',
  'a@b',
  'a@localhost',
  'a@b@c.org',
  'a@[127.0.0.1]',
  'a@127.0.0.1',
  'a@b..org',
  'a@-b.org',
  '"a b"@x.org',
  '"x@gmail.com y"@internal.org',
  '<a@x.org>',
  '"n" <a@x.org>',
  'a@x.org,evil@z.org',
  'a@x.org;b@x.org',
  'a@x.org\r\nBcc: e@z.org',
  'a@x.org%0d%0a',
  'a\u2028@x.org',
  'a\u200bb@x.org',
  'a\u202eb@x.org',
  'a\u{e0041}@x.org',
  'a@xn--a',
  'a@xn--a.org',
  'a@a\u200db.org',
  'a@b.org.',
  '.a@x.org',
  'a.@x.org',
  'a..b@x.org',
  'a b@x.org',
  `${'a'.repeat(65)}@x.org`,
  `a@${'b'.repeat(64)}.org`,
  `a@${'b.'.repeat(130)}org`,
  `${'\u00fc'.repeat(33)}@x.org`,
].map((email) => ({
  title: `the address ${JSON.stringify(email).slice(0, 40)}`,
  body: { email },
  pointers: EMAIL_POINTERS,
}))

/** Addresses that make a careless regular expression backtrack. They are almost as long as a body can be. */
const SLOW_ADDRESSES: RefusedRequest[] = [
  'a'.repeat(65_000),
  `${'a.'.repeat(32_000)}@`,
  `${'a'.repeat(32_000)}@${'b'.repeat(32_000)}`,
  `a@${'a-'.repeat(32_000)}.org`,
  `a@${'b.'.repeat(32_000)}`,
  `a@${'xn--'.repeat(16_000)}`,
  `${'+'.repeat(64_000)}@x`,
  `a${'@'.repeat(64_000)}`,
  `${' '.repeat(64_000)}a`,
  `${'\u0300'.repeat(32_000)}@x.org`,
].map((email) => ({
  title: `the address ${JSON.stringify(email.slice(0, 8))}… of ${email.length} characters`,
  body: { email },
  pointers: EMAIL_POINTERS,
}))

const INVALID_REQUESTS: RefusedRequest[] = [
  ...[
    'text/plain',
    'application/json5',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    '',
    'application/jsonp',
  ].map((type) => ({
    title: `the media type "${type}"`,
    headers: { 'content-type': type },
    status: 415,
    code: 'unsupported-media-type',
  })),
  ...['latin1', 'utf-7', 'utf-16', 'nonsense'].map((charset) => ({
    title: `the charset ${charset}`,
    headers: { 'content-type': `application/json; charset=${charset}` },
    status: 415,
    code: 'unsupported-media-type',
  })),
  ...['gzip', 'br', 'identity', 'gzip, gzip'].map((encoding) => ({
    title: `Content-Encoding: ${encoding}`,
    headers: { 'content-encoding': encoding },
    status: 415,
    code: 'unsupported-media-type',
  })),
  {
    title: 'a body of 64 KiB and a byte',
    body: JSON.stringify(VALID_BODY).padEnd(64 * 1024 + 1, ' '),
    status: 413,
    code: 'content-too-large',
  },
  {
    title: 'a body of 1 MiB',
    body: JSON.stringify(VALID_BODY).padEnd(1024 * 1024, ' '),
    status: 413,
    code: 'content-too-large',
  },
  {
    title: 'a chunked body of 65 KiB',
    body: JSON.stringify(VALID_BODY).padEnd(65 * 1024, ' '),
    headers: { 'content-length': undefined, 'transfer-encoding': 'chunked' },
    status: 413,
    code: 'content-too-large',
  },
  {
    title: 'a cross-site request of a browser',
    headers: { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    status: 403,
    code: 'cross-site-request',
  },
  { title: 'another Host', headers: { host: 'evil.example' }, status: 421, code: 'misdirected-request' },
]

describe('POST /api/waitlist refuses', () => {
  test.for([
    ...INVALID_BODIES,
    ...INVALID_MEMBERS,
    ...INVALID_ADDRESSES,
    ...SLOW_ADDRESSES,
    ...INVALID_REQUESTS,
  ])('$title', async (request) => {
    const { body = VALID_BODY, headers, status = 400, code = 'invalid-request', pointers } = request
    const startedAt = performance.now()
    const response = await send(body, headers)
    expectProblem(response, { status, code })
    // Bounds the time of a regular expression that backtracks, with room for a busy machine.
    expect(performance.now() - startedAt).toBeLessThan(2_000)
    if (pointers) {
      const errors = response.json()['errors'] as { pointer: string; detail: string }[]
      expect([...new Set(errors.map(({ pointer }) => pointer))]).toEqual(pointers)
    }
    expect(response.body).not.toContain(CANARY)
    expect(await api.countWaitlistEntries()).toBe(0)
  })

  test('these requests without logging their content, a warning or an error', () => {
    // Without this, the test would also pass if nothing was logged.
    expect(api.logLines.length).toBeGreaterThan(90)
    expect(api.logLines.join('')).not.toMatch(/"level":"(warn|error)"/)
    expect(api.logLines.join('')).not.toMatch(new RegExp(`${CANARY}|@|evil`))
  })
})

test('POST /api/waitlist accepts the valid body', async () => {
  expect((await send(VALID_BODY)).status).toBe(201)
})
