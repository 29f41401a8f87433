import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiDescription, listOperations } from '../crawl/api-description.ts'
import { type System, startSystem } from './start-system.ts'

let system: System
beforeAll(async () => {
  system = await startSystem()
})
afterAll(() => system[Symbol.asyncDispose]())

/** Creates a fetch function that counts requests and records failures. */
function counting() {
  const refusals: number[] = []
  let sent = 0
  const ask = async (url: string, init?: RequestInit): Promise<Response> => {
    sent += 1
    const response = await fetch(url, { ...init, redirect: 'error' })
    if (response.status >= 400) refusals.push(response.status)
    return response
  }
  return { ask, sent: () => sent, refusals }
}

const readJson = async <T>(response: Response): Promise<T> => (await response.json()) as T

test('a program that knows the origin and the RFCs reads a guide with a token, in at most 10 requests', async () => {
  const { ask, sent, refusals } = counting()

  const home = await ask(`${system.origin}/`)
  const link = (home.headers.get('link') ?? '').match(/<([^>]+)>; rel="api-catalog"/)?.[1] ?? ''
  const { linkset } = await readJson<{ linkset: Record<string, { href: string }[]>[] }>(await ask(link))
  const relation = (name: string) => linkset.flatMap((context) => context[name] ?? []).map(({ href }) => href)
  const description = await readJson<ApiDescription>(await ask(relation('service-desc')[0] ?? ''))
  const operation = (id: string) => listOperations(description).find(({ operationId }) => operationId === id)

  const wrongToken = { headers: { authorization: 'Bearer none' } }
  const refused = await ask(operation('listGuides')?.address ?? '', wrongToken)
  const metadata =
    /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '')?.[1] ?? ''
  const { resource, authorization_servers } = await readJson<{
    resource: string
    authorization_servers: string[]
  }>(await ask(metadata))
  const server = await readJson<{
    issuer: string
    token_endpoint: string
    agent_auth: { register_uri: string }
  }>(await ask(`${authorization_servers[0]}/.well-known/oauth-authorization-server`))
  expect(server.issuer).toBe(authorization_servers[0])

  const agent = await readJson<{ client_id: string; client_secret: string }>(
    await ask(server.agent_auth.register_uri, { method: 'POST' }),
  )
  const { access_token } = await readJson<{ access_token: string }>(
    await ask(server.token_endpoint, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'client_credentials', resource, ...agent, ...only(agent) }),
    }),
  )
  const authorization = `Bearer ${access_token}`
  const list = await readJson<{ guides: { slug: string }[] }>(
    await ask(operation('listGuides')?.address ?? '', { headers: { authorization } }),
  )
  const address = operation('getGuide')?.address.replace('{slug}', list.guides[0]?.slug ?? '') ?? ''
  const guide = await readJson<{ title: string; sources: object[] }>(
    await ask(address, { headers: { authorization } }),
  )

  expect(guide.sources.length).toBeGreaterThan(0)
  expect(sent()).toBeLessThanOrEqual(10)
  expect(refusals).toEqual([401])
})

/** Picks the credentials; other members of a registration do not fit into a form. */
const only = ({ client_id, client_secret }: { client_id: string; client_secret: string }) => ({
  client_id,
  client_secret,
})
