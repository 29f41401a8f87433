import { ProtectedResourceMetadata } from '@plainpath/metadata'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask } from './ask.ts'
import { type RunningResource, startResource } from './start-resource.ts'

let api: RunningResource
beforeAll(async () => {
  api = await startResource()
})
afterAll(() => api[Symbol.asyncDispose]())

test('the protected resource is described at both addresses with the same bytes (RFC 9728 §3)', async () => {
  const [plain, suffixed] = await Promise.all(
    ['', '/api'].map((suffix) => ask(api.origin, { path: `/.well-known/oauth-protected-resource${suffix}` })),
  )
  expect(plain?.body).toBe(suffixed?.body)
  for (const answered of [plain, suffixed]) {
    expect(answered?.headers['content-type']).toBe('application/json')
    const document = ProtectedResourceMetadata.parse(answered?.json())
    expect(document).toMatchObject({
      resource: `${api.origin}/api`,
      authorization_servers: [api.origin],
      bearer_methods_supported: ['header'],
    })
    expect(document.scopes_supported.length).toBeGreaterThan(0)
  }
})

test('a challenge leads to a document about the resource that was asked for', async () => {
  const refused = await ask(api.origin, { path: '/api/guides', headers: { authorization: 'Bearer x' } })
  const [, address = ''] = /resource_metadata="([^"]+)"/.exec(refused.headers['www-authenticate'] ?? '') ?? []
  const document = ProtectedResourceMetadata.parse(await (await fetch(address)).json())
  expect(`${api.origin}/api/guides`.startsWith(`${document.resource}/`)).toBe(true)
})
