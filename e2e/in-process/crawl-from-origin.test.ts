import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiDescription, listOperations } from '../crawl/api-description.ts'
import { type System, startSystem } from './start-system.ts'

let system: System
beforeAll(async () => {
  system = await startSystem()
})
afterAll(() => system[Symbol.asyncDispose]())

/** Creates a fetch function that counts requests and records the statuses from 400 on. */
function createCountingFetch() {
  const errorStatuses: number[] = []
  let requestCount = 0
  const send = async (url: string, init?: RequestInit): Promise<Response> => {
    requestCount += 1
    const response = await fetch(url, { ...init, redirect: 'error' })
    if (response.status >= 400) errorStatuses.push(response.status)
    return response
  }
  return { send, countRequests: () => requestCount, errorStatuses }
}

const readJson = async <T>(response: Response): Promise<T> => (await response.json()) as T

test('a program that knows the origin and the RFCs reads a guide with a token, in at most 10 requests', async () => {
  const { send, countRequests, errorStatuses } = createCountingFetch()

  const home = await send(`${system.origin}/`)
  const catalogUrl = (home.headers.get('link') ?? '').match(/<([^>]+)>; rel="api-catalog"/)?.[1] ?? ''
  const { linkset } = await readJson<{ linkset: Record<string, { href: string }[]>[] }>(
    await send(catalogUrl),
  )
  const listTargets = (relation: string) =>
    linkset.flatMap((context) => context[relation] ?? []).map(({ href }) => href)
  const description = await readJson<ApiDescription>(await send(listTargets('service-desc')[0] ?? ''))
  const findOperation = (id: string) =>
    listOperations(description).find(({ operationId }) => operationId === id)

  const wrongToken = { headers: { authorization: 'Bearer none' } }
  const refusal = await send(findOperation('listGuides')?.urlTemplate ?? '', wrongToken)
  const metadataUrl =
    /resource_metadata="([^"]+)"/.exec(refusal.headers.get('www-authenticate') ?? '')?.[1] ?? ''
  const { resource, authorization_servers } = await readJson<{
    resource: string
    authorization_servers: string[]
  }>(await send(metadataUrl))
  const server = await readJson<{
    issuer: string
    token_endpoint: string
    agent_auth: { register_uri: string }
  }>(await send(`${authorization_servers[0]}/.well-known/oauth-authorization-server`))
  expect(server.issuer).toBe(authorization_servers[0])

  const agent = await readJson<{ client_id: string; client_secret: string }>(
    await send(server.agent_auth.register_uri, { method: 'POST' }),
  )
  const { access_token } = await readJson<{ access_token: string }>(
    await send(server.token_endpoint, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'client_credentials', resource, ...agent }),
    }),
  )
  const authorization = `Bearer ${access_token}`
  const list = await readJson<{ guides: { slug: string }[] }>(
    await send(findOperation('listGuides')?.urlTemplate ?? '', { headers: { authorization } }),
  )
  const url = findOperation('getGuide')?.urlTemplate.replace('{slug}', list.guides[0]?.slug ?? '') ?? ''
  const guide = await readJson<{ title: string; sources: object[] }>(
    await send(url, { headers: { authorization } }),
  )

  expect(guide.sources.length).toBeGreaterThan(0)
  expect(countRequests()).toBeLessThanOrEqual(10)
  // The only error is the refusal of the wrong token, which leads to the metadata.
  expect(errorStatuses).toEqual([401])
})
