import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MCP_CLIENTS } from './mcp-clients.ts'
import { type System, startSystem } from './start-system.ts'

let system: System
beforeAll(async () => {
  system = await startSystem({ publicMcp: true })
})
afterAll(() => system[Symbol.asyncDispose]())

/** Records the URL, the method and the response status of each request. */
function recordRequests() {
  const requests: { url: string; method: string; status: number }[] = []
  const recordingFetch: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    requests.push({ url: new Request(input).url, method: init?.method ?? 'GET', status: response.status })
    return response
  }
  return { requests, fetch: recordingFetch }
}

describe.for(MCP_CLIENTS)('$name', ({ connect, version }) => {
  test('uses the public address without any OAuth request, although it has credentials', async () => {
    const url = `${system.mcpPublicOrigin}/mcp`
    const credentials = { clientId: 'x', clientSecret: 'y', expectedIssuer: system.origin }
    const { requests, fetch } = recordRequests()
    await using client = await connect(url, { credentials, oldToken: `ppt_${'A'.repeat(43)}`, fetch })
    expect(client.version).toBe(version)
    expect(client.instructions).toContain(`${system.origin}/mcp`)
    const tools = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual([
      'list_guides',
      'search_guides',
      'answer_question',
      'get_guide',
      'get_help',
    ])
    const question = 'When do I renew my green card?'
    const { structuredContent } = await client.call('answer_question', { question })
    expect(structuredContent).toMatchObject({ outcome: 'information' })
    expect(requests.filter((request) => request.url !== url)).toEqual([])
    // A client may also try to open a stream with a GET, which the server refuses with 405.
    expect(requests.filter(({ method, status }) => method === 'POST' && status >= 300)).toEqual([])
  })

  test('without credentials, gets only 401 from the signed-in address', async () => {
    const url = `${system.origin}/mcp`
    const { requests, fetch } = recordRequests()
    // Each SDK words the error differently.
    await expect(connect(url, { fetch })).rejects.toThrow(/401|[Uu]nauthorized|invalid_token/)
    expect(requests.length).toBeGreaterThan(0)
    expect(requests.filter(({ status }) => status !== 401)).toEqual([])
  })
})

test('the origin of the public MCP address does not serve the token endpoint', async () => {
  const response = await fetch(`${system.mcpPublicOrigin}/oauth/token`, { method: 'POST', body: 'x' })
  expect([response.status, await response.text()]).toEqual([
    404,
    `There is nothing here. The MCP server is at ${system.mcpPublicOrigin}/mcp\n`,
  ])
})
