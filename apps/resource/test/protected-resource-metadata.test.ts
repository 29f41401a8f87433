import {
  createMcpResourceMetadata,
  createProtectedResourceMetadata,
  createServiceUrls,
} from '@plainpath/metadata'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

let api: RunningResource
beforeAll(async () => {
  api = await startResource()
})
afterAll(() => api[Symbol.asyncDispose]())

test("the API's metadata is served at its RFC 9728 URL, and at the URL without the path, which many clients request", async () => {
  const [withoutPath, withPath] = await Promise.all(
    ['', '/api'].map((suffix) =>
      sendRequest(api.origin, { path: `/.well-known/oauth-protected-resource${suffix}` }),
    ),
  )
  expect(withoutPath?.body).toBe(withPath?.body)
  for (const response of [withoutPath, withPath]) {
    expect(response?.headers['content-type']).toBe('application/json')
    expect(response?.json()).toEqual(createProtectedResourceMetadata(createServiceUrls(api.origin)))
  }
})

test("the metadata of the agents' MCP server (`/api/mcp`) has a URL of its own", async () => {
  const response = await sendRequest(api.origin, { path: '/.well-known/oauth-protected-resource/api/mcp' })
  expect(response.headers['content-type']).toBe('application/json')
  expect(response.json()).toEqual(createMcpResourceMetadata(createServiceUrls(api.origin)))
})

test.for(['/api/mcp/', '/api/mcp/server-card', '/api/guides', '/mcp/'])(
  'there is no metadata for %s',
  async (path) => {
    expect(
      (await sendRequest(api.origin, { path: `/.well-known/oauth-protected-resource${path}` })).status,
    ).toBe(404)
  },
)

test.for([
  { method: 'GET', path: '/api/guides', resource: '/api' },
  { method: 'POST', path: '/api/contact', resource: '/api' },
  { method: 'POST', path: '/api/mcp', resource: '/api/mcp' },
])('the challenge of $path links to the metadata of $resource', async ({ method, path, resource }) => {
  const refusal = await sendRequest(api.origin, { method, path, headers: { authorization: 'Bearer x' } })
  const [, metadataUrl = ''] =
    /resource_metadata="([^"]+)"/.exec(refusal.headers['www-authenticate'] ?? '') ?? []
  // Clients can also derive this URL from the resource identifier (RFC 9728 §3.1).
  expect(metadataUrl).toBe(`${api.origin}/.well-known/oauth-protected-resource${resource}`)
  expect(await (await fetch(metadataUrl)).json()).toMatchObject({ resource: `${api.origin}${resource}` })
})
