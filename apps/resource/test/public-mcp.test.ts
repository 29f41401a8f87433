import { MCP_TOOLS, type McpToolName, serviceUrls } from '@plainpath/metadata'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deadUrl } from './fake-authorization-server.ts'
import { ERAS, FIRST_MESSAGE, readMessage, sendMessage, toolCall } from './mcp-messages.ts'
import { sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

const HOST = 'localhost:8099'
const PUBLIC = `http://${HOST}`
const env = { RESOURCE_MCP_PUBLIC_ORIGIN: PUBLIC }

let api: RunningResource
let without: RunningResource
beforeAll(async () => {
  api = await startResource({ env: { ...env, RESOURCE_AUTH_URL: await deadUrl() } })
  without = await startResource()
})
afterAll(async () => {
  await api[Symbol.asyncDispose]()
  await without[Symbol.asyncDispose]()
})

type More = Parameters<typeof sendMessage>[3]
const send = (message: Parameters<typeof sendMessage>[2], more: More = {}) =>
  sendMessage(api.origin, '/mcp', message, { ...more, headers: { host: HOST, ...more?.headers } })
const get = (path: string, headers = {}, method = 'GET') =>
  sendRequest(api.origin, { method, path, headers: { host: HOST, ...headers } })

const READS = ['list_guides', 'search_guides', 'answer_question', 'get_guide', 'get_help']
const OTHERS = Object.keys(MCP_TOOLS).filter((name) => !READS.includes(name))

describe.for(ERAS)('a client of %s', (era) => {
  test('connects without a token, and learns of the signed-in address', async () => {
    const { result } = readMessage(await send(FIRST_MESSAGE[era]))
    expect(result.instructions).toContain(`${api.origin}/mcp`)
    expect(result.instructions).not.toContain('send_contact_message')
    expect(result.capabilities).toEqual({ tools: { listChanged: false } })
  })

  test('lists the tools that only read, and can call no other', async () => {
    const { result } = readMessage(await send({ era, method: 'tools/list' }))
    const { tools } = result as { tools: { name: McpToolName; annotations: { readOnlyHint: boolean } }[] }
    expect(tools.map(({ name }) => name)).toEqual(READS)
    for (const { name, annotations } of tools) {
      expect(annotations.readOnlyHint).toBe(true)
      expect(MCP_TOOLS[name].description).not.toContain('token')
    }
    for (const name of OTHERS) {
      const called = readMessage(await send(toolCall(name, { email: 'ana@example.org' }, era)))
      expect(called.result?.isError ?? called.error.code === -32602, name).toBe(true)
    }
    expect(await api.entries()).toBe(0)
  })

  test('searches, asks, reads and finds help', async () => {
    const call = async (name: string, args: object) =>
      readMessage(await send(toolCall(name, args, era))).result.structuredContent
    const { guides } = await call('search_guides', { query: 'work permit' })
    expect(await call('get_guide', { slug: guides[0].slug })).toMatchObject({ slug: guides[0].slug })
    const answer = await call('answer_question', { question: 'When do I renew my green card?' })
    expect(answer).toMatchObject({ outcome: 'information' })
    const { help, prepare, page } = await call('get_help', {})
    expect(help[0]).toEqual({ title: 'If you are in danger now', phone: '911' })
    expect([help.length, prepare.length, page]).toEqual([7, 6, expect.stringMatching(/\/get-help$/)])
  })
})

describe('no request is asked to sign in', () => {
  test.for<[string, More]>([
    ['a token that is none', { headers: { authorization: 'Bearer nonsense' } }],
    ['an unknown token', { headers: { authorization: `Bearer ppt_${'A'.repeat(43)}` } }],
    [
      'a token bound to a key, without its proof',
      { headers: { authorization: `DPoP ppt_${'A'.repeat(43)}` } },
    ],
    ['credentials', { headers: { authorization: 'Basic YTpi' } }],
    ['another scheme', { headers: { authorization: 'Negotiate x' } }],
    ['an empty header', { headers: { authorization: '' } }],
    ['the host of ChatGPT', { headers: { 'user-agent': 'openai-mcp/1.0.0 (ChatGPT)' } }],
    ['a cookie', { headers: { cookie: 'session=1' } }],
  ])('with %s, while the authorization server is unavailable', async ([, more]) => {
    for (const message of [{ method: 'tools/list' }, toolCall('list_guides')]) {
      const answered = await send(message, more)
      expect(answered.status).toBe(200)
      expect(answered.headers).not.toHaveProperty('www-authenticate')
      // It counts as any request without a token.
      expect(answered.headers['ratelimit-policy']).toMatch(/^"reads-address";.*"reads-anonymous"/)
    }
    expect(api.auth.requests.introspection).toBe(0)
  })

  test('with a token in the address', async () => {
    const sent = { headers: { host: HOST } }
    const answered = await sendMessage(api.origin, '/mcp?access_token=ppt_x', { method: 'tools/list' }, sent)
    expect(answered.status).toBe(200)
    expect((await get('/?access_token=ppt_x')).status).toBe(404)
  })
})

const DOCUMENTS = [
  'oauth-authorization-server',
  'openid-configuration',
  'oauth-protected-resource',
  'oauth-client',
]

test.for([
  ...DOCUMENTS.flatMap((name) => [
    `/.well-known/${name}`,
    `/.well-known/${name}/mcp`,
    `/.well-known/${name}/api/mcp`,
    `/mcp/.well-known/${name}`,
  ]),
  '/.well-known/mcp.json',
  '/.well-known/ai-catalog.json',
  '/oauth/authorize?client_id=x',
  '/oauth/register',
  '/oauth/token',
  '/register',
  '/authorize',
  '/token',
  '/',
  '/index.html',
  '/mcp/',
  '/mcp/server-card',
  '/MCP',
  '/sse',
  '/api',
  '/api/mcp',
  '/api/guides',
  '/api/guides/work-permit',
  '/api/health',
  '/guides/work-permit',
  '/auth.md',
  '/claim',
  '/docs',
  '/robots.txt',
])('%s is a plain 404', async (path) => {
  for (const [method, accept] of [
    ['GET', 'text/html'],
    ['GET', 'application/json'],
    ['HEAD', '*/*'],
    ['POST', '*/*'],
  ] as const) {
    const answered = await get(path, { accept, authorization: 'Bearer x' }, method)
    expect(answered.status).toBe(404)
    expect(answered.headers['content-type']).toBe('text/plain; charset=utf-8')
    expect(answered.headers['cache-control']).toBe('no-store')
    for (const name of ['location', 'www-authenticate', 'link'])
      expect(answered.headers).not.toHaveProperty(name)
    if (method !== 'HEAD') expect(answered.body).toContain(`${PUBLIC}/mcp`)
  }
})

test.for(['GET', 'HEAD', 'DELETE', 'PUT'])(
  '%s /mcp is 405: there is no stream and no session',
  async (method) => {
    const answered = await get('/mcp', { accept: 'text/event-stream' }, method)
    expect([answered.status, answered.headers['allow']]).toEqual([405, 'POST'])
  },
)

test('a script of any origin may call, without credentials', async () => {
  for (const origin of ['https://app.example.org', 'http://localhost:6274', 'null']) {
    const headers = { origin, 'sec-fetch-site': 'cross-site' }
    const answered = await send({ method: 'tools/list' }, { headers })
    expect(answered.status).toBe(200)
    expect(answered.headers['access-control-allow-origin']).toBe('*')
    const preflightHeaders = {
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization',
    }
    const preflight = await get('/mcp', { origin, ...preflightHeaders }, 'OPTIONS')
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-headers': expect.stringMatching(/Authorization.*MCP-Protocol-Version/),
    })
    expect(preflight.headers).not.toHaveProperty('access-control-allow-credentials')
  }
})

test('only the Host decides which MCP server responds', async () => {
  const list = { method: 'tools/list' }
  expect((await send(list, { headers: { host: 'LOCALHOST:8099' } })).status).toBe(200)
  // The same path on the other origin is the signed-in address.
  expect((await sendMessage(api.origin, '/mcp', list)).status).toBe(401)
  for (const host of ['localhost', 'localhost:80', 'mcp.localhost:8099', 'localhost.evil.example:8099'])
    expect((await send(list, { headers: { host } })).status).toBe(421)
  for (const [name, value] of [
    ['x-forwarded-host', HOST],
    ['forwarded', `host=${HOST}`],
  ] as const)
    expect((await sendMessage(api.origin, '/mcp', list, { headers: { [name]: value } })).status).toBe(401)
  // The authority of an absolute target takes precedence (RFC 9112 §3.2.2), so both must name the same host.
  const absolute = async (target: string, host: string) =>
    (await sendRequest(api.origin, { path: target, headers: { host } })).status
  expect(await absolute(`${PUBLIC}/.well-known/openid-configuration`, HOST)).toBe(404)
  expect(await absolute(`${api.origin}/api/guides`, HOST)).toBe(421)
  expect(await absolute(`${PUBLIC}/api/guides`, new URL(api.origin).host)).toBe(421)
})

test('errors are JSON that names pages of the main origin', async () => {
  const answered = await send({ method: 'tools/list' }, { body: '[]' })
  expect(answered.status).toBe(400)
  expect(answered.headers['content-type']).toMatch(/^application\/json/)
  expect(answered.json()).toMatchObject({ error_uri: `${api.origin}/problems/invalid-request` })
})

test('is not served on any host without a configured origin', async () => {
  const sent = { headers: { host: HOST } }
  expect((await sendMessage(without.origin, '/mcp', { method: 'tools/list' }, sent)).status).toBe(421)
})

test('the card and the catalog name the public address only if it is configured', async () => {
  const { publicMcp = '' } = serviceUrls(api.origin, PUBLIC)
  for (const path of ['/api/mcp/server-card', '/.well-known/api-catalog']) {
    expect((await sendRequest(api.origin, { path })).body).toContain(`"${publicMcp}"`)
    const other = (await sendRequest(without.origin, { path })).body
    expect(other).toContain(`"${without.origin}/mcp"`)
    expect(other).not.toContain('undefined')
  }
})
