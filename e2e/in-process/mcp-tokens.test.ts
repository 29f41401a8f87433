import { generateKeyPairSync } from 'node:crypto'
import { type AgentDocuments, startAgentDocuments } from '@plainpath/auth/agent-documents'
import { createServiceUrls } from '@plainpath/metadata'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Credentials, type KeyCredentials, MCP_CLIENTS } from './mcp-clients.ts'
import { type System, startSystem } from './start-system.ts'

const resources = new AsyncDisposableStack()
let documents: AgentDocuments
let system: System
let mcpUrl: string
beforeAll(async () => {
  documents = resources.use(await startAgentDocuments())
  system = resources.use(await startSystem({ documents }))
  mcpUrl = `${system.origin}/api/mcp`
})
afterAll(() => resources.disposeAsync())

async function register(): Promise<Credentials> {
  const response = await fetch(`${system.origin}/api/agent/register`, { method: 'POST' })
  const agent = (await response.json()) as { client_id: string; client_secret: string }
  return { clientId: agent.client_id, clientSecret: agent.client_secret, expectedIssuer: system.origin }
}

/** Publishes the document of an agent that does not register. `countFetches` returns how often the server has fetched it. */
function publishDocument(): { credentials: KeyCredentials; countFetches(): number } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { client_id: clientId, countFetches } = documents.publish([
    { jwk: publicKey.export({ format: 'jwk' }) },
  ])
  const jwk = { ...privateKey.export({ format: 'jwk' }) }
  return {
    credentials: { clientId, privateKey: jwk, algorithm: 'ES256', expectedIssuer: system.origin },
    countFetches,
  }
}

interface Post {
  readonly url: string
  readonly status: number
  readonly authorization: string | null
  /** The token in the response to a token request. */
  readonly token?: string
  /** The parameter `resource` of a token request. */
  readonly resource?: string | null
}

/** Records the POST requests of a client. */
function recordPosts() {
  const posts: Post[] = []
  const recordingFetch: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    const { url } = new Request(input)
    const { status } = response
    const authorization = new Headers(init?.headers).get('authorization')
    if (url === `${system.origin}/oauth/token`) {
      const { access_token: token } = (await response.clone().json()) as { access_token: string }
      const resource = new URLSearchParams(init?.body as URLSearchParams).get('resource')
      posts.push({ url, status, authorization, token, resource })
    } else if (init?.method === 'POST') posts.push({ url, status, authorization })
    return response
  }
  return { posts, fetch: recordingFetch }
}

const readGuides = (token: string) =>
  fetch(`${system.origin}/api/guides`, { headers: { authorization: `Bearer ${token}` } })

async function issueToken({ clientId, clientSecret }: Credentials, resource: string): Promise<string> {
  const response = await fetch(`${system.origin}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource }),
  })
  return ((await response.json()) as { access_token: string }).access_token
}

describe.for(MCP_CLIENTS)('with $name, an agent', ({ connect }) => {
  test('requests its token for the MCP server, and the API accepts the token too', async () => {
    const { posts, fetch } = recordPosts()
    // This token was never issued. The 401 makes the client request one.
    const oldToken = `ppt_${'A'.repeat(43)}`
    await using client = await connect(mcpUrl, { credentials: await register(), oldToken, fetch })
    expect((await client.call('list_guides', {})).isError).toBeFalsy()
    const tokenPosts = posts.filter((post) => post.token !== undefined)
    expect(tokenPosts.map(({ resource }) => resource)).toEqual([mcpUrl])
    expect((await readGuides(tokenPosts[0]?.token ?? '')).status).toBe(200)
  })

  test.for(['/api', '/api/mcp'])('can use a token for %s at the MCP server and at the API', async (path) => {
    const credentials = await register()
    const oldToken = await issueToken(credentials, `${system.origin}${path}`)
    const { posts, fetch } = recordPosts()
    await using client = await connect(mcpUrl, { credentials, oldToken, fetch })
    expect((await client.call('list_guides', {})).isError).toBeFalsy()
    for (const { status, authorization } of posts) {
      expect(status).toBeLessThan(300)
      expect(authorization).toBe(`Bearer ${oldToken}`)
    }
    expect((await readGuides(oldToken)).status).toBe(200)
  })

  test('calls a tool with the URL of its document as client id, and gets another token when its token is refused', async () => {
    const { credentials, countFetches } = publishDocument()
    const { posts, fetch } = recordPosts()
    for (const tokenOptions of [{ signIn: true }, { oldToken: `ppt_${'A'.repeat(43)}` }]) {
      await using client = await connect(mcpUrl, { credentials, fetch, ...tokenOptions })
      expect((await client.call('get_guide', { slug: 'work-permit' })).isError).toBeFalsy()
    }
    // The first client requested its token with `signIn`, which `posts` does not include.
    const tokenPosts = posts.filter((post) => post.token !== undefined)
    expect(tokenPosts).toMatchObject([{ status: 200, resource: mcpUrl }])
    expect(posts.filter(({ status }) => status === 401)).toHaveLength(1)
    expect(posts.at(-1)?.authorization).toBe(`Bearer ${tokenPosts[0]?.token}`)
    expect(countFetches()).toBe(1)
  })

  test('is referred to the e-mail verification by the tools for messages, and requests no other token', async () => {
    const { posts, fetch } = recordPosts()
    await using client = await connect(mcpUrl, { credentials: await register(), signIn: true, fetch })
    const countBefore = posts.length
    for (const [name, args] of [
      ['send_contact_message', { topic: 'question', message: 'When do I renew?' }],
      ['get_contact_message', { id: crypto.randomUUID() }],
      ['withdraw_contact_message', { id: crypto.randomUUID() }],
    ] as const) {
      const result = await client.call(name, args)
      expect(result.isError).toBe(true)
      expect(result.content[0]?.text).toContain(createServiceUrls(system.origin).authVerifiedEmail)
    }
    expect(posts.slice(countBefore).map((post) => post.url)).toEqual([mcpUrl, mcpUrl, mcpUrl])
  })
})
