import { createServiceUrls, MCP_TOOLS, type McpToolName } from '@plainpath/metadata'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findUnusedUrl } from './fake-authorization-server.ts'
import { createToolCall, ERAS, FIRST_MESSAGE, parseMessage, sendMessage } from './mcp-messages.ts'
import { sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

/** The host of the public MCP server. The requests go to the port of the API, which chooses the MCP server by `Host`. */
const HOST = 'localhost:8099'
const PUBLIC_ORIGIN = `http://${HOST}`

let api: RunningResource
let apiWithoutPublicMcp: RunningResource
beforeAll(async () => {
  // The public MCP server must work without the authorization server.
  api = await startResource({
    env: { RESOURCE_MCP_PUBLIC_ORIGIN: PUBLIC_ORIGIN, RESOURCE_AUTH_URL: await findUnusedUrl() },
  })
  apiWithoutPublicMcp = await startResource()
})
afterAll(async () => {
  await api[Symbol.asyncDispose]()
  await apiWithoutPublicMcp[Symbol.asyncDispose]()
})

type Overrides = Parameters<typeof sendMessage>[3]
const send = (message: Parameters<typeof sendMessage>[2], overrides: Overrides = {}) =>
  sendMessage(api.origin, '/mcp', message, {
    ...overrides,
    headers: { host: HOST, ...overrides?.headers },
  })
const get = (path: string, headers = {}, method = 'GET') =>
  sendRequest(api.origin, { method, path, headers: { host: HOST, ...headers } })

const READ_TOOLS = ['list_guides', 'search_guides', 'answer_question', 'get_guide', 'get_help']
const OTHER_TOOLS = Object.keys(MCP_TOOLS).filter((name) => !READ_TOOLS.includes(name))

describe.for(ERAS)('a client of %s', (era) => {
  test('connects without a token, and learns the signed-in address', async () => {
    const { result } = parseMessage(await send(FIRST_MESSAGE[era]))
    expect(result.instructions).toContain(`${api.origin}/mcp`)
    expect(result.instructions).not.toContain('send_contact_message')
    expect(result.capabilities).toEqual({ tools: { listChanged: false } })
  })

  test('gets the tools that only read, and cannot call the others', async () => {
    const { result } = parseMessage(await send({ era, method: 'tools/list' }))
    const { tools } = result as { tools: { name: McpToolName; annotations: { readOnlyHint: boolean } }[] }
    expect(tools.map(({ name }) => name)).toEqual(READ_TOOLS)
    for (const { name, annotations } of tools) {
      expect(annotations.readOnlyHint).toBe(true)
      expect(MCP_TOOLS[name].description).not.toContain('token')
    }
    for (const name of OTHER_TOOLS) {
      const response = parseMessage(await send(createToolCall(name, { email: 'ana@example.org' }, era)))
      // An unknown tool is reported as a tool error, or as the JSON-RPC error `Invalid params` (-32602).
      expect(response.result?.isError ?? response.error.code === -32602, name).toBe(true)
    }
    expect(await api.countWaitlistEntries()).toBe(0)
  })

  test('searches and reads guides, gets an answer, and gets help', async () => {
    const call = async (name: string, args: object) =>
      parseMessage(await send(createToolCall(name, args, era))).result.structuredContent
    const { guides } = await call('search_guides', { query: 'work permit' })
    expect(await call('get_guide', { slug: guides[0].slug })).toMatchObject({ slug: guides[0].slug })
    const answer = await call('answer_question', { question: 'When do I renew my green card?' })
    expect(answer).toMatchObject({ outcome: 'information' })
    const { help, prepare, page } = await call('get_help', {})
    expect(help[0]).toEqual({ title: 'If you are in danger now', phone: '911' })
    expect(help[1].phone).toBe('988')
    expect([help.length, prepare.length, page]).toEqual([8, 6, expect.stringMatching(/\/get-help$/)])
  })
})

describe('no request gets a challenge', () => {
  test.for<[string, Overrides]>([
    ['a malformed token', { headers: { authorization: 'Bearer nonsense' } }],
    ['an unknown token', { headers: { authorization: `Bearer ppt_${'A'.repeat(43)}` } }],
    [
      'a token bound to a key, without its proof',
      { headers: { authorization: `DPoP ppt_${'A'.repeat(43)}` } },
    ],
    ['Basic credentials', { headers: { authorization: 'Basic YTpi' } }],
    ['another scheme', { headers: { authorization: 'Negotiate x' } }],
    ['an empty Authorization header', { headers: { authorization: '' } }],
    ['the user agent of ChatGPT', { headers: { 'user-agent': 'openai-mcp/1.0.0 (ChatGPT)' } }],
    ['a cookie', { headers: { cookie: 'session=1' } }],
  ])('with %s, while the authorization server is unavailable', async ([, overrides]) => {
    for (const message of [{ method: 'tools/list' }, createToolCall('list_guides')]) {
      const response = await send(message, overrides)
      expect(response.status).toBe(200)
      expect(response.headers).not.toHaveProperty('www-authenticate')
      // The request counts as one without a token.
      expect(response.headers['ratelimit-policy']).toMatch(/^"reads-address";.*"reads-anonymous"/)
    }
    expect(api.auth.requests.introspection).toBe(0)
  })

  test('with a token in the query', async () => {
    const overrides = { headers: { host: HOST } }
    const response = await sendMessage(
      api.origin,
      '/mcp?access_token=ppt_x',
      { method: 'tools/list' },
      overrides,
    )
    expect(response.status).toBe(200)
    expect((await get('/?access_token=ppt_x')).status).toBe(404)
  })
})

const METADATA_DOCUMENTS = [
  'oauth-authorization-server',
  'openid-configuration',
  'oauth-protected-resource',
  'oauth-client',
]

test.for([
  ...METADATA_DOCUMENTS.flatMap((name) => [
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
    const response = await get(path, { accept, authorization: 'Bearer x' }, method)
    expect(response.status).toBe(404)
    expect(response.headers['content-type']).toBe('text/plain; charset=utf-8')
    expect(response.headers['cache-control']).toBe('no-store')
    for (const name of ['location', 'www-authenticate', 'link'])
      expect(response.headers).not.toHaveProperty(name)
    if (method !== 'HEAD') expect(response.body).toContain(`${PUBLIC_ORIGIN}/mcp`)
  }
})

test.for(['GET', 'HEAD', 'DELETE', 'PUT'])('%s /mcp is 405 and allows only POST', async (method) => {
  const response = await get('/mcp', { accept: 'text/event-stream' }, method)
  expect([response.status, response.headers['allow']]).toEqual([405, 'POST'])
})

test('a script of any origin may send requests, without credentials', async () => {
  for (const origin of ['https://app.example.org', 'http://localhost:6274', 'null']) {
    const headers = { origin, 'sec-fetch-site': 'cross-site' }
    const response = await send({ method: 'tools/list' }, { headers })
    expect(response.status).toBe(200)
    expect(response.headers['access-control-allow-origin']).toBe('*')
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

test('the Host or the absolute target decides which MCP server responds, and no other header', async () => {
  const message = { method: 'tools/list' }
  expect((await send(message, { headers: { host: 'LOCALHOST:8099' } })).status).toBe(200)
  // The same path on the other origin is the signed-in address.
  expect((await sendMessage(api.origin, '/mcp', message)).status).toBe(401)
  for (const host of ['localhost', 'localhost:80', 'mcp.localhost:8099', 'localhost.evil.example:8099'])
    expect((await send(message, { headers: { host } })).status).toBe(421)
  for (const [name, value] of [
    ['x-forwarded-host', HOST],
    ['forwarded', `host=${HOST}`],
  ] as const)
    expect((await sendMessage(api.origin, '/mcp', message, { headers: { [name]: value } })).status).toBe(401)
  // The authority of an absolute target takes precedence (RFC 9112 §3.2.2), so both must name the same host.
  const getStatus = async (target: string, host: string) =>
    (await sendRequest(api.origin, { path: target, headers: { host } })).status
  expect(await getStatus(`${PUBLIC_ORIGIN}/.well-known/openid-configuration`, HOST)).toBe(404)
  expect(await getStatus(`${api.origin}/api/guides`, HOST)).toBe(421)
  expect(await getStatus(`${PUBLIC_ORIGIN}/api/guides`, new URL(api.origin).host)).toBe(421)
})

test('an error is JSON that names a page of the main origin', async () => {
  const response = await send({ method: 'tools/list' }, { body: '[]' })
  expect(response.status).toBe(400)
  expect(response.headers['content-type']).toMatch(/^application\/json/)
  expect(response.json()).toMatchObject({ error_uri: `${api.origin}/problems/invalid-request` })
})

test('without a configured origin, the public MCP server is not served, and its host is 421', async () => {
  const overrides = { headers: { host: HOST } }
  expect(
    (await sendMessage(apiWithoutPublicMcp.origin, '/mcp', { method: 'tools/list' }, overrides)).status,
  ).toBe(421)
})

test('the server card and the API catalog name the public address only if it is configured', async () => {
  const { publicMcp = '' } = createServiceUrls(api.origin, PUBLIC_ORIGIN)
  for (const path of ['/api/mcp/server-card', '/.well-known/api-catalog']) {
    expect((await sendRequest(api.origin, { path })).body).toContain(`"${publicMcp}"`)
    const bodyWithoutPublicMcp = (await sendRequest(apiWithoutPublicMcp.origin, { path })).body
    expect(bodyWithoutPublicMcp).toContain(`"${apiWithoutPublicMcp.origin}/mcp"`)
    expect(bodyWithoutPublicMcp).not.toContain('undefined')
  }
})
