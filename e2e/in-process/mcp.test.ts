import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Credentials, MCP_CLIENTS } from './mcp-clients.ts'
import { type System, startSystem } from './start-system.ts'

let system: System
let mcpUrl: string
beforeAll(async () => {
  system = await startSystem()
  mcpUrl = `${system.origin}/api/mcp`
})
afterAll(() => system[Symbol.asyncDispose]())

async function register(): Promise<Credentials> {
  const response = await fetch(`${system.origin}/api/agent/register`, { method: 'POST' })
  const agent = (await response.json()) as { client_id: string; client_secret: string }
  return { clientId: agent.client_id, clientSecret: agent.client_secret, expectedIssuer: system.origin }
}

const createAddress = () => `ana-${crypto.randomUUID()}@example.org`

/** Records each POST to the MCP server: whether it has a token, and the status of its response. */
function recordRequests() {
  const requests: { hasToken: boolean; status: number }[] = []
  const recordingFetch: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    const hasToken = new Headers(init?.headers).has('authorization')
    if (new Request(input).url === mcpUrl && init?.method === 'POST')
      requests.push({ hasToken, status: response.status })
    return response
  }
  return { requests, fetch: recordingFetch }
}

describe.for(MCP_CLIENTS)('with $name, an agent that knows the MCP address', ({ connect, version }) => {
  test('lists the tools, reads guides, asks, and joins the waitlist without a token', async () => {
    const { requests, fetch } = recordRequests()
    await using client = await connect(mcpUrl, { fetch })
    expect(client.version).toBe(version)
    const tools = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual([
      'list_guides',
      'search_guides',
      'answer_question',
      'get_guide',
      'get_help',
      'join_waitlist',
      'send_contact_message',
      'get_contact_message',
      'withdraw_contact_message',
    ])

    const list = await client.call('list_guides', {})
    const guidesOfRoute = await (await globalThis.fetch(`${system.origin}/api/guides`)).json()
    expect(list.structuredContent).toEqual(guidesOfRoute)
    const { guides } = guidesOfRoute as { guides: { slug: string }[] }
    const slug = guides[0]?.slug ?? ''

    const guide = await client.call('get_guide', { slug })
    expect(guide.structuredContent).toEqual(
      await (await globalThis.fetch(`${system.origin}/api/guides/${slug}`)).json(),
    )
    expect(guide.content[0]?.text).toContain('## Sources')

    const foundGuides = await client.call('search_guides', { query: 'work permit', limit: 3 })
    expect(foundGuides.structuredContent).toMatchObject({ guides: [{ slug: 'work-permit' }, {}, {}] })

    const question = 'When do I renew my green card?'
    const answer = await client.call('answer_question', { question })
    const postedAnswer = await globalThis.fetch(`${system.origin}/api/answers`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ question }),
    })
    expect(answer.structuredContent).toEqual(await postedAnswer.json())
    expect(answer.content[0]?.text).toMatch(
      /^## .+[\s\S]*call `answer_question` again with the answers in `facts`/,
    )
    const handOffAnswer = await client.call('answer_question', { question, facts: { 'long-absence': true } })
    expect(handOffAnswer.structuredContent).toMatchObject({
      outcome: 'hand_off',
      handOff: { reasons: [{ trigger: 'long-absence', because: 'facts' }] },
    })
    expect(handOffAnswer.content[0]?.text).toMatch(/^# This needs an attorney/)

    const email = createAddress()
    const firstJoin = await client.call('join_waitlist', { email })
    expect(firstJoin.structuredContent).toMatchObject({ status: 'joined', referralSlug: expect.any(String) })
    const secondJoin = await client.call('join_waitlist', { email: email.toUpperCase() })
    expect(secondJoin.structuredContent).toEqual({ status: 'already_joined' })
    expect(requests.filter(({ hasToken }) => hasToken)).toEqual([])
    expect(requests.every(({ status }) => status < 300)).toBe(true)
  })

  test('gets a token with nothing but the address and the credentials of a new registration, and uses it', async () => {
    const { requests, fetch } = recordRequests()
    await using client = await connect(mcpUrl, { credentials: await register(), signIn: true, fetch })
    expect(await client.listTools()).toHaveLength(9)
    const list = await client.call('list_guides', { limit: 1 })
    expect(list.structuredContent).toMatchObject({ guides: [{}], next: expect.any(String) })
    const next = list.structuredContent?.['next']
    expect((await client.call('list_guides', { limit: 1, cursor: next })).isError).toBeFalsy()
    expect((await client.call('join_waitlist', { email: createAddress() })).isError).toBeFalsy()
    expect(requests.length).toBeGreaterThan(3)
    expect(requests.filter(({ hasToken, status }) => !hasToken || status >= 300)).toEqual([])
  })

  test('is challenged for an invalid token, gets another token and continues', async () => {
    const { requests, fetch } = recordRequests()
    const oldToken = `ppt_${'A'.repeat(43)}`
    await using client = await connect(mcpUrl, { credentials: await register(), oldToken, fetch })
    expect((await client.call('list_guides', {})).isError).toBeFalsy()
    expect(requests[0]).toEqual({ hasToken: true, status: 401 })
    expect(requests.slice(1).filter(({ hasToken, status }) => !hasToken || status >= 300)).toEqual([])
  })

  test('learns which arguments are wrong, and how to correct them', async () => {
    await using client = await connect(mcpUrl, {})
    for (const [name, args, words] of [
      ['get_guide', { slug: 'no-such-guide' }, /Call list_guides for the slugs/],
      ['get_guide', { slug: 'work-permit', version: 99 }, /no version 99/],
      ['get_guide', {}, /slug/],
      ['list_guides', { cursor: 'forged' }, /invalid-cursor/],
      ['list_guides', { limit: 0 }, /limit/],
      ['search_guides', { query: '  ' }, /must say what to look for/],
      ['answer_question', { question: ' ' }, /must contain text/],
      [
        'answer_question',
        { question: 'When do I renew?', facts: { 'no-such-trigger': true } },
        /no-such-trigger/,
      ],
      ['join_waitlist', { email: 'nobody' }, /must be an e-mail address/],
      ['join_waitlist', { email: 'a@example.org', name: 'Ana' }, /name/],
    ] as const) {
      const result = await client.call(name, args)
      expect(result.isError).toBe(true)
      expect(result.content[0]?.text).toMatch(words)
    }
  })
})

describe('a form with check questions, in a client that declares forms', () => {
  const question = 'When do I renew my green card?'
  type FormReply = { action: 'accept'; content: Record<string, string> } | { action: 'decline' }

  /** Asks the question with a client that fills forms in. @returns the result, and how often a form was shown */
  async function askWithForm(mode: 'auto' | 'legacy', reply: FormReply) {
    const client = new Client(
      { name: 'plainpath-test', version: '1.0.0' },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
    )
    let formCount = 0
    client.setRequestHandler('elicitation/create', () => {
      formCount += 1
      return reply
    })
    await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl)))
    const result = await client.callTool({ name: 'answer_question', arguments: { question } })
    await client.close()
    return { formCount, result }
  }

  test('is shown once, and the SDK sends the reply back', async () => {
    const afterYes = await askWithForm('auto', { action: 'accept', content: { 'long-absence': 'Yes' } })
    expect(afterYes).toMatchObject({ formCount: 1, result: { structuredContent: { outcome: 'hand_off' } } })
    const afterDecline = await askWithForm('auto', { action: 'decline' })
    expect(afterDecline).toMatchObject({
      formCount: 1,
      result: { structuredContent: { outcome: 'information' } },
    })
  })

  test('is not shown in the revisions of 2025, in which the first response is the answer', async () => {
    const { formCount, result } = await askWithForm('legacy', { action: 'decline' })
    expect(formCount).toBe(0)
    expect(result).toMatchObject({ structuredContent: { outcome: 'information' } })
  })
})

interface Card {
  name: string
  version: string
  serverInfo: { name: string; version: string }
  remotes: { url: string; supportedProtocolVersions: string[] }[]
  capabilities: object
  tools: { name: string }[]
}

describe('the server card', () => {
  const readCard = async (path: string) => (await fetch(`${system.origin}${path}`)).text()

  test('has the same bytes at all its addresses', async () => {
    const card = await readCard('/api/mcp/server-card')
    expect(await readCard('/.well-known/mcp/server-card.json')).toBe(card)
    expect(await readCard('/.well-known/mcp.json')).toBe(card)
  })

  test('matches the responses of the server', async () => {
    const card = JSON.parse(await readCard('/.well-known/mcp/server-card.json')) as Card
    expect(card.remotes.map((remote) => remote.url)).toEqual([mcpUrl, `${system.origin}/mcp`])
    const discovery = await call('server/discover')
    expect(discovery.status).toBe(200)
    const { result } = JSON.parse(discovery.text)
    expect(result).toMatchObject({ resultType: 'complete', ttlMs: 300_000, cacheScope: 'public' })
    expect(card.remotes[0]?.supportedProtocolVersions).toEqual(
      expect.arrayContaining(result.supportedVersions),
    )
    expect(result.capabilities).toEqual(card.capabilities)
    const serverInfo = result._meta['io.modelcontextprotocol/serverInfo']
    expect(serverInfo).toMatchObject(card.serverInfo)
    expect(card).toMatchObject({ name: serverInfo.name, version: serverInfo.version })

    const toolList = JSON.parse((await call('tools/list')).text).result
    expect(toolList).toMatchObject({ ttlMs: 300_000, cacheScope: 'public' })
    const listedTools = toolList.tools.map((tool: Record<string, unknown>) => ({
      name: tool['name'],
      title: tool['title'],
      description: tool['description'],
      annotations: tool['annotations'],
    }))
    expect(card.tools).toEqual(listedTools)
  })

  test('names only revisions that the server supports', async () => {
    const card = JSON.parse(await readCard('/api/mcp/server-card')) as Card
    const [newest, ...older] = card.remotes[0]?.supportedProtocolVersions ?? []
    expect(newest).toBe('2026-07-28')
    for (const version of older) {
      const clientInfo = { name: 'test', version: '1' }
      const params = { protocolVersion: version, capabilities: {}, clientInfo }
      const response = await send({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
      expect(response.text).toContain(`"protocolVersion":"${version}"`)
    }
  })
})

interface ReceivedResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

const BOTH_TYPES = 'application/json, text/event-stream'

async function send(
  body: unknown,
  headers: Record<string, string> = {},
  method = 'POST',
): Promise<ReceivedResponse> {
  const response = await fetch(mcpUrl, {
    method,
    headers: { accept: BOTH_TYPES, 'content-type': 'application/json', ...headers },
    ...(method === 'POST' && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** Calls a method in revision 2026-07-28, with the headers that this revision requires. */
const call = (method: string, params: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
  send(
    { jsonrpc: '2.0', id: 7, method, params: { ...params, _meta: META } },
    {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof params['name'] === 'string' && { 'mcp-name': params['name'] }),
      ...headers,
    },
  )

const readErrorCode = (response: ReceivedResponse) => ({
  status: response.status,
  code: JSON.parse(response.text).error?.code,
})
const readProblemCode = (response: ReceivedResponse) => ({
  status: response.status,
  code: JSON.parse(response.text).code,
})

describe('the endpoint', () => {
  test('rejects headers that contradict the message, and unknown revisions and methods', async () => {
    expect(readErrorCode(await call('tools/list', {}, { 'mcp-method': 'tools/call' }))).toEqual({
      status: 400,
      code: -32020,
    })
    const unsupportedMeta = { ...META, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' }
    const unsupportedRevision = await send(
      { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: unsupportedMeta } },
      { 'mcp-protocol-version': '2099-01-01', 'mcp-method': 'tools/list' },
    )
    expect(readErrorCode(unsupportedRevision)).toEqual({ status: 400, code: -32022 })
    expect(readErrorCode(await call('resources/list'))).toEqual({ status: 404, code: -32601 })
  })

  test('opens neither a stream nor a session', async () => {
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const refusal = await send(undefined, {}, method)
      expect(readProblemCode(refusal)).toEqual({ status: 405, code: 'method-not-allowed' })
      expect(refusal.headers.get('allow')).toBe('POST')
    }
    const listening = await call('subscriptions/listen', { notifications: { toolsListChanged: true } })
    expect(JSON.parse(listening.text)).toHaveProperty('error')
    expect((await call('tools/list')).headers.has('mcp-session-id')).toBe(false)
  })

  test('challenges a request with an invalid token, as the routes do', async () => {
    const refusal = await call('tools/list', {}, { authorization: `Bearer ppt_${'B'.repeat(43)}` })
    expect(readProblemCode(refusal)).toEqual({ status: 401, code: 'invalid-token' })
    expect(refusal.headers.get('www-authenticate')).toBe(
      `Bearer realm="plainpath", error="invalid_token", scope="guides:read waitlist:write", resource_metadata="${system.origin}/.well-known/oauth-protected-resource/api/mcp"`,
    )
  })

  test('rejects cross-site requests', async () => {
    for (const origin of ['https://evil.example', 'null', `${system.origin}.evil.example`]) {
      expect(readProblemCode(await call('tools/list', {}, { origin }))).toEqual({
        status: 403,
        code: 'cross-site-request',
      })
    }
    expect((await call('tools/list', {}, { origin: system.origin })).status).toBe(200)
  })

  test('accepts only a single JSON message, of at most 64 KiB', async () => {
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
    expect((await send(ping)).status).toBe(200)
    expect(readProblemCode(await send([ping, ping]))).toEqual({ status: 400, code: 'invalid-request' })
    expect(readProblemCode(await send('{'))).toEqual({ status: 400, code: 'invalid-request' })
    expect(readProblemCode(await send('')).status).toBe(400)
    const large = { ...ping, params: { text: 'x'.repeat(64 * 1024) } }
    expect(readProblemCode(await send(large))).toEqual({ status: 413, code: 'content-too-large' })
    expect((await send(ping, { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await send({ jsonrpc: '2.0', method: 'notifications/initialized' })).status).toBe(202)
    expect((await send({ jsonrpc: '2.0', id: 1, result: {} })).status).toBe(202)
  })

  test('sends the headers that every response has, and forbids caching', async () => {
    const { headers } = await call('tools/list')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('x-request-id')).toMatch(/./)
    expect(headers.get('content-type')).toBe('application/json')
    expect(headers.get('ratelimit-policy')).toMatch(/"reads-address".*"reads-anonymous"/)
  })
})

test('a join through the tool counts against the limits of POST /api/waitlist', async () => {
  await using strictSystem = await startSystem({ limitsFactor: 1 })
  const address = `${strictSystem.origin}/api/mcp`
  const email = createAddress()
  const joinByTool = (to: string) =>
    fetch(address, {
      method: 'POST',
      headers: { accept: BOTH_TYPES, 'content-type': 'application/json' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'join_waitlist', arguments: { email: to } },
      }),
    })
  const joinByRoute = (to: string) =>
    fetch(`${strictSystem.origin}/api/waitlist`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: to }),
    })
  expect((await joinByRoute(email)).status).toBe(201)
  for (const spelling of [email, email.toUpperCase(), email, email])
    expect((await joinByTool(spelling)).status).toBe(200)
  const refusal = await joinByTool(email)
  expect(refusal.status).toBe(200)
  expect(refusal.headers.get('ratelimit')).toContain('"waitlist-email";r=0')
  expect(await refusal.text()).toMatch(/waitlist-email.*in \d+ seconds\. \(rate-limited\).*"isError":true/)
  expect((await joinByRoute(email)).status).toBe(429)
  const otherJoin = await joinByTool(createAddress())
  expect(otherJoin.status).toBe(200)
  expect(otherJoin.headers.get('ratelimit-policy')).toMatch(/"waitlist-address";q=120/)
})

test('neither the tool nor an argument of a call is logged', async () => {
  const email = createAddress()
  const query = `word-${crypto.randomUUID()}`
  await call('tools/call', { name: 'join_waitlist', arguments: { email } })
  await call('tools/call', { name: 'search_guides', arguments: { query } })
  await call('tools/call', { name: 'answer_question', arguments: { question: `My ${query} was arrested` } })
  await call('tools/call', {
    name: 'answer_question',
    arguments: { question: query, facts: { [query]: true } },
  })
  await call('tools/call', { name: 'get_guide', arguments: { slug: 'no-such-guide', wrong: query } })
  const lines = system.logged.join('\n')
  expect(lines).toContain('"/api/mcp"')
  for (const secret of [email, query, 'no-such-guide', 'join_waitlist']) expect(lines).not.toContain(secret)
})
