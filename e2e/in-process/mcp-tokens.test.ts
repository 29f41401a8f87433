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

/** A well-formed token that was never issued. A 401 for it makes a client request a token. */
const UNKNOWN_TOKEN = `ppt_${'A'.repeat(43)}`

async function register(): Promise<Credentials> {
  const response = await fetch(`${system.origin}/api/agent/register`, { method: 'POST' })
  const agent = (await response.json()) as { client_id: string; client_secret: string }
  return { clientId: agent.client_id, clientSecret: agent.client_secret, expectedIssuer: system.origin }
}

/** Publishes the document of a URL client, which does not register. `countFetches` returns how often auth has fetched it. */
function publishDocument(): { credentials: KeyCredentials; countFetches(): number } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { client_id: clientId, countFetches } = documents.publish([
    { jwk: publicKey.export({ format: 'jwk' }) },
  ])
  const privateJwk = { ...privateKey.export({ format: 'jwk' }) }
  return {
    credentials: { clientId, privateKey: privateJwk, algorithm: 'ES256', expectedIssuer: system.origin },
    countFetches,
  }
}

interface Post {
  readonly url: string
  readonly status: number
  readonly authorization: string | null
  /** The token in the response to a token request; undefined for another request. */
  readonly token?: string
  /** The parameter `resource` of a token request, null if it has none; undefined for another request. */
  readonly resource?: string | null
}

/** Creates a `fetch` for a client that records, in `posts`, its token requests and its other POST requests. */
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

async function requestToken({ clientId, clientSecret }: Credentials, resource: string): Promise<string> {
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
    await using client = await connect(mcpUrl, {
      credentials: await register(),
      oldToken: UNKNOWN_TOKEN,
      fetch,
    })
    expect((await client.call('list_guides', {})).isError).toBeFalsy()
    const tokenPosts = posts.filter((post) => post.token !== undefined)
    expect(tokenPosts.map(({ resource }) => resource)).toEqual([mcpUrl])
    expect((await readGuides(tokenPosts[0]?.token ?? '')).status).toBe(200)
  })

  test.for(['/api', '/api/mcp'])('can use a token for %s at the MCP server and at the API', async (path) => {
    const credentials = await register()
    const oldToken = await requestToken(credentials, `${system.origin}${path}`)
    const { posts, fetch } = recordPosts()
    await using client = await connect(mcpUrl, { credentials, oldToken, fetch })
    expect((await client.call('list_guides', {})).isError).toBeFalsy()
    // No request got a 401, and none went to the token endpoint.
    for (const { status, authorization } of posts) {
      expect(status).toBeLessThan(300)
      expect(authorization).toBe(`Bearer ${oldToken}`)
    }
    expect((await readGuides(oldToken)).status).toBe(200)
  })

  test('calls a tool with the URL of its document as client id, and gets another token when its token is refused; auth fetches the document once', async () => {
    const { credentials, countFetches } = publishDocument()
    const { posts, fetch } = recordPosts()
    for (const tokenOptions of [{ signIn: true }, { oldToken: UNKNOWN_TOKEN }]) {
      await using client = await connect(mcpUrl, { credentials, fetch, ...tokenOptions })
      expect((await client.call('get_guide', { slug: 'work-permit' })).isError).toBeFalsy()
    }
    // The token request of the first client is not in `posts`, because `signIn` does not use this `fetch`.
    const tokenPosts = posts.filter((post) => post.token !== undefined)
    expect(tokenPosts).toMatchObject([{ status: 200, resource: mcpUrl }])
    expect(posts.filter(({ status }) => status === 401)).toHaveLength(1)
    expect(posts.at(-1)?.authorization).toBe(`Bearer ${tokenPosts[0]?.token}`)
    expect(countFetches()).toBe(1)
  })

  test('gets a reference to e-mail verification from the message tools, and requests no new token', async () => {
    const { posts, fetch } = recordPosts()
    await using client = await connect(mcpUrl, { credentials: await register(), signIn: true, fetch })
    const postCountBefore = posts.length
    for (const [name, args] of [
      ['send_contact_message', { topic: 'question', message: 'When do I renew?' }],
      ['get_contact_message', { id: crypto.randomUUID() }],
      ['withdraw_contact_message', { id: crypto.randomUUID() }],
    ] as const) {
      const result = await client.call(name, args)
      expect(result.isError).toBe(true)
      expect(result.content[0]?.text).toContain(createServiceUrls(system.origin).authVerifiedEmail)
    }
    expect(posts.slice(postCountBefore).map((post) => post.url)).toEqual([mcpUrl, mcpUrl, mcpUrl])
  })
})
