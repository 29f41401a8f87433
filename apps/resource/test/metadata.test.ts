import { protectedResourceMetadata, serviceUrls } from '@plainpath/metadata'
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
    expect(answered?.json()).toEqual(protectedResourceMetadata(serviceUrls(api.origin)))
  }
})

test('a challenge leads to a document about the resource that was asked for', async () => {
  const refused = await ask(api.origin, { path: '/api/guides', headers: { authorization: 'Bearer x' } })
  const [, address = ''] = /resource_metadata="([^"]+)"/.exec(refused.headers['www-authenticate'] ?? '') ?? []
  const { resource } = (await (await fetch(address)).json()) as { resource: string }
  expect(`${api.origin}/api/guides`.startsWith(`${resource}/`)).toBe(true)
})
