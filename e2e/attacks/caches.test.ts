import { expectSafeResponse } from '@plainpath/http/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type System, startSystem } from '../in-process/start-system.ts'
import { basic, createSender, form, type HttpRequest, type HttpResponse, json, type Sender } from '../send.ts'
import { openStoredCounts, type StoredCounts } from '../stored-counts.ts'

const resources = new AsyncDisposableStack()
let system: System
let sender: Sender
let stored: StoredCounts
let agent: { client_id: string; client_secret: string }
beforeAll(async () => {
  system = resources.use(await startSystem())
  sender = resources.use(createSender(system.origin))
  stored = resources.use(await openStoredCounts(system))
  agent = JSON.parse((await sender.send({ method: 'POST', path: '/api/agent/register' })).text)
})
afterAll(() => resources.disposeAsync())

const createCredentials = () => basic(agent.client_id, agent.client_secret)
const expectSafe = (response: HttpResponse) =>
  expectSafeResponse(response, { origin: system.origin, confidential: [agent.client_secret] })

// Web cache deception: a cache that stores files by their extension must not receive a private response under such a path.
describe('private responses are not served under paths that look like files:', () => {
  test.for([
    '/api/agent/x.css',
    '/api/agent.css',
    '/api/agent/.js',
    '/api/agent;x.css',
    '/api/agent%2fx.css',
    '/api/agent%00.css',
    '/api/agent%0a.css',
    '/api/agent/..%2fx.js',
    '/assets/..%2fapi%2fagent',
    '/oauth/token/a.js',
    '/oauth/token.png',
    '/oauth/jwks.json/x.css',
    '/api/waitlist/x.css',
    '/api/contact/x/y.css',
    '/claim/x.css',
    '/claim.css',
    '/contact/x.css',
  ])('%s', async (path) => {
    const response = await sender.send({ path, headers: createCredentials() })
    expect([400, 404]).toContain(response.status)
    expectSafe(response)
    expect(response.text).not.toContain(agent.client_id)
    const agentResponse = await sender.send({ path: '/api/agent', headers: createCredentials() })
    expect([agentResponse.status, agentResponse.headers.get('cache-control')]).toEqual([
      200,
      expect.stringContaining('no-store'),
    ])
  })

  test('and are not cacheable with a file name in the query', async () => {
    for (const query of ['x.css', '/x.css', 'a=b.js']) {
      const path = `/api/agent?${query}`
      const { headers } = await sender.send({ path, headers: createCredentials() })
      expect(headers.get('cache-control')).toContain('no-store')
    }
  })
})

const JOIN = { method: 'POST', path: '/api/waitlist' }
const VALID_JOIN = { email: 'caches@example.org' }

describe('no failure is cacheable, whatever its status:', () => {
  test.for([
    [400, { ...JOIN, ...json('{') }],
    [400, { path: '/api/guides?cursor=x' }],
    [400, { path: '/oauth/authorize' }],
    [401, { path: '/api/agent' }],
    [401, { path: '/api/guides', headers: { authorization: 'Bearer x' } }],
    [
      403,
      {
        ...JOIN,
        ...json(VALID_JOIN),
        headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      },
    ],
    [404, { path: '/nowhere' }],
    [404, { path: '/api/guides/nothing' }],
    [405, { method: 'DELETE', path: '/api/guides' }],
    [405, { path: '/oauth/token' }],
    [406, { path: '/api/guides/avoid-scams', headers: { accept: 'image/png' } }],
    // A body may have 64 KiB, and the request line with the headers 16 KiB.
    [413, { ...JOIN, ...json('x'.repeat(66_000)) }],
    [415, { ...JOIN, headers: { 'content-type': 'text/plain' }, body: '{}' }],
    [421, { path: '/api/guides', headers: { host: 'evil.example' } }],
    [431, { path: `/api/guides?${'x'.repeat(17_000)}` }],
  ] satisfies [number, HttpRequest][])('%i', async ([status, sent]) => {
    const response = await sender.send(sent)
    expect(response.status).toBe(status)
    expect(response.headers.get('cache-control')).toBe('no-store')
    for (const name of ['etag', 'last-modified', 'expires', 'age'])
      expect(response.headers.get(name)).toBeNull()
  })

  test('but successful public responses are', async () => {
    for (const path of ['/api/guides', '/', '/oauth/jwks.json'])
      expect((await sender.send({ path })).headers.get('cache-control')).toBe('public, max-age=300')
  })
})

/** Lists the paths of public documents, except those with parameters. */
const listDocumentPaths = () => [
  ...new Set(
    system.publicEndpoints
      .filter(({ method, path }) => method === 'GET' && !/[{*]/.test(path))
      .map(({ path }) => path)
      .filter((path) => !path.startsWith('/api/agent') && !NOT_PUBLIC_PATHS.has(path)),
  ),
]
/** Paths whose responses are not public documents. */
const NOT_PUBLIC_PATHS = new Set([
  '/oauth/authorize',
  '/claim',
  '/api/health',
  '/waitlist/confirm',
  '/waitlist/remove',
])

test('range requests get the whole document, and HEAD requests its Content-Length', async () => {
  const paths = listDocumentPaths()
  // This check and that of `cacheableCount` make the test fail if it tries too few documents.
  expect(paths.length).toBeGreaterThan(15)
  let cacheableCount = 0
  for (const path of paths) {
    const wholeResponse = await sender.send({ path })
    if (wholeResponse.headers.get('cache-control') !== 'public, max-age=300') continue
    cacheableCount += 1
    const etag = wholeResponse.headers.get('etag') ?? ''
    for (const headers of [
      { range: 'bytes=0-3' },
      { range: 'bytes=5-1' },
      { range: 'bytes=0-0,2-2,4-4' },
      { range: 'bytes=-4', 'if-range': etag },
      // A server that builds a part for each of these ranges needs much memory.
      { range: `bytes=${'0-,'.repeat(500)}0-` },
    ]) {
      const rangeResponse = await sender.send({ path, headers })
      expect([path, rangeResponse.status, rangeResponse.text === wholeResponse.text]).toEqual([
        path,
        200,
        true,
      ])
      expect(rangeResponse.headers.get('content-range')).toBeNull()
      const head = await sender.send({ method: 'HEAD', path, headers })
      expect([head.status, head.text, head.headers.get('content-length')]).toEqual([
        200,
        '',
        rangeResponse.headers.get('content-length'),
      ])
    }
  }
  expect(cacheableCount).toBeGreaterThan(12)
})

test('public documents do not depend on forged or personal request headers, and do not contain them', async () => {
  const canary = 'canary-58b1'
  const headers = {
    'x-forwarded-host': `${canary}.example`,
    'x-forwarded-proto': canary,
    'x-forwarded-prefix': `/${canary}`,
    'x-original-url': `/${canary}`,
    'x-rewrite-url': `/${canary}`,
    forwarded: `host=${canary}.example`,
    'accept-language': canary,
    'user-agent': canary,
    referer: `https://${canary}.example/`,
    cookie: `a=${canary}`,
    origin: `https://${canary}.example`,
  }
  for (const path of listDocumentPaths()) {
    const plain = await sender.send({ path })
    const forged = await sender.send({ path, headers })
    expect([path, forged.status, forged.headers.get('etag')]).toEqual([
      path,
      plain.status,
      plain.headers.get('etag'),
    ])
    expect(forged.text + [...forged.headers.values()].join()).not.toContain(canary)
  }
})

describe('cross-site requests without a preflight store nothing:', () => {
  const listPostPaths = () => [
    ...new Set(system.publicEndpoints.filter(({ method }) => method === 'POST').map(({ path }) => path)),
  ]
  /** The three content types of forms, which need no preflight, and a body without a type. */
  const SIMPLE_CONTENTS: (readonly [string, Pick<HttpRequest, 'headers' | 'body'>])[] = [
    ['text', { headers: { 'content-type': 'text/plain' }, body: JSON.stringify(VALID_JOIN) }],
    ['a form', form({ email: VALID_JOIN.email, client_name: 'x' })],
    [
      'a multipart form',
      {
        headers: { 'content-type': 'multipart/form-data; boundary=x' },
        body: `--x\r\nContent-Disposition: form-data; name="email"\r\n\r\n${VALID_JOIN.email}\r\n--x--\r\n`,
      },
    ],
    ['no type', { headers: {}, body: JSON.stringify(VALID_JOIN) }],
  ]

  test.for(SIMPLE_CONTENTS)('%s', async ([_what, content]) => {
    const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site', ...content.headers }
    const storedBefore = await stored.count()
    for (const path of listPostPaths()) {
      const response = await sender.send({
        method: 'POST',
        path,
        headers,
        ...(content.body && { body: content.body }),
      })
      expect([path, response.status >= 400 && response.status < 500]).toEqual([path, true])
      // Any page may send requests to these paths: a question stores nothing, and /mcp requires a token, which no page has.
      const allowed = ['/api/answers', '/mcp'].includes(path) ? '*' : null
      expect(response.headers.get('access-control-allow-origin'), path).toBe(allowed)
    }
    expect(await stored.count()).toEqual(storedBefore)
  })

  test('even from an older browser, which does not send Sec-Fetch-Site', async () => {
    const storedBefore = await stored.count()
    for (const [, content] of SIMPLE_CONTENTS) {
      const response = await sender.send({ ...JOIN, ...content })
      expect(response.status).toBe(415)
    }
    expect(await stored.count()).toEqual(storedBefore)
    expect((await sender.send({ ...JOIN, ...json(VALID_JOIN) })).status).toBe(201)
  })
})
