import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiDescription, operationsOf } from '../crawl/api-description.ts'
import { namedLinks } from '../crawl/named-links.ts'
import { type System, startSystem } from './start-system.ts'

let system: System
beforeAll(async () => {
  system = await startSystem()
})
afterAll(() => system[Symbol.asyncDispose]())

/** Counts what it sends, and remembers every refusal. */
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
  const operation = (id: string) => operationsOf(description).find(({ operationId }) => operationId === id)

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

/** The registration has more members, which a form cannot hold. */
const only = ({ client_id, client_secret }: { client_id: string; client_secret: string }) => ({
  client_id,
  client_secret,
})

test('a program that follows the requests of auth.md from top to bottom gets a token', async () => {
  const markdown = await (await fetch(`${system.origin}/auth.md`)).text()
  const answers: { status: number; body: Record<string, string> }[] = []
  for (const { method, url, headers, body } of requestsIn(markdown)) {
    const known = Object.assign({}, ...answers.map((answer) => answer.body)) as Record<string, string>
    const credentials = `${known['client_id']}:${known['client_secret']}`
    const response = await fetch(url, {
      method,
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [
          name,
          value.replace('base64(client_id:client_secret)', Buffer.from(credentials).toString('base64')),
        ]),
      ),
      ...(body && { body }),
    })
    answers.push({ status: response.status, body: (await response.json()) as Record<string, string> })
  }
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 201, 200])
  const token = answers.at(-1)?.body['access_token']
  const guides = await fetch(`${system.origin}/api/guides`, { headers: { authorization: `Bearer ${token}` } })
  expect(guides.status).toBe(200)
})

/** The fenced `http` blocks: a request line, headers, and a body after an empty line. */
function requestsIn(markdown: string) {
  return [...markdown.matchAll(/^```http\n([\s\S]*?)\n```$/gm)].map(([, block = '']) => {
    const [head = '', body] = block.split('\n\n')
    const [line = '', ...fields] = head.split('\n')
    const [method = '', url = ''] = line.split(' ')
    const headers = Object.fromEntries(
      fields.map((field) => field.split(/: (.*)/).slice(0, 2) as [string, string]),
    )
    return { method, url, headers, body }
  })
}

test('each error of the table in auth.md is the answer to the mistake that it explains', async () => {
  const { origin } = system
  const agent = (await (await fetch(`${origin}/api/agent/register`, { method: 'POST' })).json()) as Record<
    string,
    string
  >
  const basic = `Basic ${Buffer.from(`${agent['client_id']}:${agent['client_secret']}`).toString('base64')}`
  const register = (body: string) =>
    fetch(`${origin}/api/agent/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
  const token = (fields: Record<string, string>, authorization = basic) =>
    fetch(`${origin}/oauth/token`, {
      method: 'POST',
      headers: { authorization },
      body: new URLSearchParams(fields),
    })
  const grant = { grant_type: 'client_credentials' }
  const mistakes = {
    invalid_request: await register('{'),
    invalid_client_metadata: await register(JSON.stringify({ client_name: 'x'.repeat(201) })),
    unsupported_credential_type: await register('{"type":"other"}'),
    unsupported_grant_type: await token({ grant_type: 'password' }),
    invalid_scope: await token({ ...grant, scope: 'contact:write' }),
    invalid_target: await token({ ...grant, resource: 'https://other.example' }),
    invalid_client: await token(grant, `Basic ${Buffer.from('agt_none:wrong').toString('base64')}`),
  }
  const markdown = await (await fetch(`${origin}/auth.md`)).text()
  for (const [error, response] of Object.entries(mistakes)) {
    const row = new RegExp(`^\\| \`${error}\` \\| (\\d+) \\| .+ \\| (\\S+) \\|$`, 'm').exec(markdown)
    const body = (await response.json()) as Record<string, string>
    expect({ error, status: response.status, page: body['error_uri'] ?? body['type'] }).toEqual({
      error,
      status: Number(row?.[1]),
      page: row?.[2],
    })
    expect(
      namedLinks({ url: response.url, headers: response.headers, text: JSON.stringify(body) }).length,
    ).toBeGreaterThan(0)
  }
})
