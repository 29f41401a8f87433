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

test('the metadata of the API is the same at both addresses (RFC 9728 §3)', async () => {
  const [plain, suffixed] = await Promise.all(
    ['', '/api'].map((suffix) =>
      sendRequest(api.origin, { path: `/.well-known/oauth-protected-resource${suffix}` }),
    ),
  )
  expect(plain?.body).toBe(suffixed?.body)
  for (const response of [plain, suffixed]) {
    expect(response?.headers['content-type']).toBe('application/json')
    expect(response?.json()).toEqual(createProtectedResourceMetadata(createServiceUrls(api.origin)))
  }
})

test('the metadata of the MCP server for agents is at its own address', async () => {
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
])('the challenge at $path names the metadata of $resource', async ({ method, path, resource }) => {
  const refusal = await sendRequest(api.origin, { method, path, headers: { authorization: 'Bearer x' } })
  const [, address = ''] = /resource_metadata="([^"]+)"/.exec(refusal.headers['www-authenticate'] ?? '') ?? []
  // Clients construct this address from the address of the resource (RFC 9728 §3.1).
  expect(address).toBe(`${api.origin}/.well-known/oauth-protected-resource${resource}`)
  expect(await (await fetch(address)).json()).toMatchObject({ resource: `${api.origin}${resource}` })
})
