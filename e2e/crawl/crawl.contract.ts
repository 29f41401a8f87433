import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NEEDS_A_PERSON } from '../needs-a-person.ts'
import {
  authenticationBy,
  basicAuthorization,
  type RegisteredAgent,
  registerAt,
  secretAt,
  tokenAt,
} from './agent.ts'
import {
  type ApiDescription,
  answerChecker,
  type CallableOperation,
  listOperations,
} from './api-description.ts'
import { crawlService, slugSeen, type Visit } from './crawl-service.ts'
import { postTargets } from './post-targets.ts'

export interface CrawledService extends AsyncDisposable {
  readonly origin: string
}

interface ServerMetadata {
  issuer: string
  authorization_endpoint: string
  token_endpoint: string
  revocation_endpoint: string
  jwks_uri: string
  scopes_supported: string[]
  grant_types_supported: string[]
  token_endpoint_auth_methods_supported: string[]
  revocation_endpoint_auth_methods_supported: string[]
  agent_auth: { register_uri: string; claim_uri: string; identity_types_supported: string[] }
}

/** The contract for a client that starts at `/` and follows only named addresses: in one process, and behind a gateway. */
export function describeCrawl(kind: string, open: () => Promise<CrawledService>): void {
  describe(`from / alone, ${kind}`, () => {
    const found = crawled(open)
    describeAddresses(found)
    describeOperations(found)
    describeAuthorization(found)
  })
}

interface Found {
  readonly origin: string
  readonly visits: readonly Visit[]
  readonly description: ApiDescription
  readonly operations: readonly CallableOperation[]
  readonly server: ServerMetadata
  jsonAt(path: string): unknown
  newAgent(): Promise<RegisteredAgent>
}

/** Filled before the first test; a test reads it through the function. */
function crawled(open: () => Promise<CrawledService>): () => Found {
  const resources = new AsyncDisposableStack()
  let found: Found
  beforeAll(async () => {
    const { origin } = resources.use(await open())
    const visits = await crawlService(`${origin}/`)
    const jsonAt = (path: string): unknown =>
      JSON.parse(visits.find(({ href }) => href === `${origin}${path}`)?.text ?? '{}')
    const description = jsonAt('/openapi.json') as ApiDescription
    const server = jsonAt('/.well-known/oauth-authorization-server') as ServerMetadata
    const newAgent = () => registerAt(server.agent_auth.register_uri)
    found = { origin, visits, description, operations: listOperations(description), server, jsonAt, newAgent }
  })
  afterAll(() => resources.disposeAsync())
  return () => found
}

function describeAddresses(found: () => Found): void {
  test('every named address responds with its announced type', () => {
    const { visits } = found()
    const strange = visits.flatMap((visit) => {
      const wrong = findMistake(visit, found())
      return wrong === undefined ? [] : [`${visit.href} (named by ${visit.from}): ${wrong}`]
    })
    expect(strange).toEqual([])
    expect(visits.length).toBeGreaterThan(50)
  })

  test('no text has an unfilled placeholder', () => {
    expect(found().visits.filter(({ href }) => /[{}<>]|undefined|%3C/.test(href))).toEqual([])
  })

  test.for([
    '/.well-known/api-catalog',
    '/openapi.json',
    '/.well-known/agent-skills/index.json',
    '/.well-known/agent-skills/use-immigration-guidance-api/SKILL.md',
    '/.well-known/agent-skills/hand-off-to-an-attorney/SKILL.md',
    '/.well-known/oauth-protected-resource/api',
    '/.well-known/oauth-authorization-server',
    '/auth.md',
    '/auth/verified-email.md',
    '/auth/keys.md',
    '/auth/domain.md',
    '/auth/dpop.md',
    '/auth/errors.md',
    '/auth/lifetimes.md',
    '/.well-known/ai-catalog.json',
    '/llms.txt',
    '/sitemap.xml',
    '/.well-known/security.txt',
    '/api/guides',
    '/api/health',
    '/api',
  ])('it reaches %s', (path) => {
    expect(found().visits.find(({ href }) => href === `${found().origin}${path}`)?.status).toBe(200)
  })

  test('every skill is the bytes of its digest', async () => {
    const index = found().jsonAt('/.well-known/agent-skills/index.json') as {
      skills: { url: string; digest: string }[]
    }
    for (const { url, digest } of index.skills) {
      const bytes = await (await fetch(url)).arrayBuffer()
      const hash = Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('hex')
      expect(`sha256:${hash}`).toBe(digest)
    }
  })
}

/** The scope that only the other grant issues. */
const LENT = 'contact:write'

/** Describes what is wrong with a response; undefined if nothing is. */
function findMistake(visit: Visit, found: Found): string | undefined {
  const { operations, server, visits } = found
  if (visit.href === server.authorization_endpoint) return unless(visit, visit.status === 400)
  const here = operations.filter(({ address }) => isAddressOf(address, visit.href))
  const get = here.find(({ method }) => method === 'GET')
  if (get && get.security.length > 0)
    return unless(visit, visit.status === 401 && visit.headers.has('www-authenticate'))
  if (here.length > 0 && !get)
    return onlyFor(
      visit,
      here.map(({ method }) => method),
    )
  if (postTargets(visits).has(visit.href) && visit.status === 401)
    return unless(visit, visit.headers.has('www-authenticate'))
  if (visit.status === 405 && postTargets(visits).has(visit.href)) return onlyFor(visit, ['POST'])
  if (visit.status !== 200) return unless(visit, false)
  const announced = visit.announced?.split(';')[0]
  return announced === undefined || announced === visit.type
    ? undefined
    : `is ${visit.type}, not ${announced}`
}

/** `{id}` stands for a UUID. */
const isAddressOf = (address: string, href: string) =>
  address === href.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/, '{id}') || address === href

const unless = ({ status }: Visit, right: boolean) => (right ? undefined : `answers ${status}`)

/** An endpoint without GET says which methods it has. */
function onlyFor({ status, headers }: Visit, methods: readonly string[]): string | undefined {
  const allow = headers.get('allow')?.split(', ') ?? []
  const right = status === 405 && methods.every((method) => allow.includes(method))
  return right ? undefined : `answers ${status}, Allow: ${allow.join(', ')}`
}

function describeOperations(found: () => Found): void {
  test('every described operation works as described', async () => {
    const { description, operations } = found()
    const checker = answerChecker(description)
    const strange: string[] = []
    for (const operation of operations) {
      const responses = await callWithExamples(operation, found())
      for (const response of responses) {
        const documented =
          Object.keys(operation.responses).includes(String(response.status)) ||
          (NEEDS_A_PERSON.has(operation.operationId) && response.status >= 400 && response.status < 410)
        const wrong = documented ? checker.mistakes(operation, response) : ['is not described']
        strange.push(...wrong.map((each) => `${operation.operationId} ${response.status}: ${each}`))
      }
    }
    expect(strange).toEqual([])
    expect(operations.length).toBeGreaterThanOrEqual(9)
  })

  test('every failure is a described problem, and other methods get 405 with Allow', async () => {
    const { description, operations } = found()
    const checker = answerChecker(description)
    const strange: string[] = []
    for (const operation of operations) {
      const taken = operations
        .filter(({ address }) => address === operation.address)
        .map(({ method }) => method)
      const other = ['PUT', 'PATCH', 'DELETE'].find((method) => !taken.includes(method)) ?? 'PUT'
      const address = operation.address.replace(/\{\w+\}/, 'no-such-thing')
      const refused = await readResponse(await fetch(address, { method: other }))
      const allow = refused.headers.get('allow')?.split(', ') ?? []
      if (refused.status !== 405 || !taken.every((method) => allow.includes(method)))
        strange.push(`${other} ${address} ${refused.status} Allow: ${allow.join(', ')}`)
      const failures = [refused]
      if (operation.requestBody)
        failures.push(
          await readResponse(await fetch(address, { method: operation.method, body: 'not what is read' })),
        )
      for (const failure of failures)
        strange.push(
          ...checker.mistakes(operation, failure).map((each) => `${operation.operationId}: ${each}`),
        )
    }
    expect(strange).toEqual([])
  })
}

interface ReadResponse {
  readonly status: number
  readonly type: string
  readonly text: string
  readonly headers: Headers
}

const readResponse = async (response: Response): Promise<ReadResponse> => ({
  status: response.status,
  type: response.headers.get('content-type')?.split(';')[0] ?? '',
  text: await response.text(),
  headers: response.headers,
})

/** Calls an operation with each example of its body, each time as a new agent. */
async function callWithExamples(
  operation: CallableOperation,
  { visits, server, newAgent }: Found,
): Promise<ReadResponse[]> {
  const agent = operation.security.some((scheme) => 'client' in scheme) ? await newAgent() : undefined
  const [secrets, rest] = operation.address.split('/{id}')
  const address =
    agent && secrets?.endsWith('/secrets') && rest === ''
      ? `${secrets}/${await secretAt(secrets, agent)}`
      : operation.address.replace('{slug}', slugSeen(visits))
  const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? []
  const examples = type ? Object.values(content?.examples ?? {}).map(({ value }) => value) : [undefined]
  const responses: ReadResponse[] = []
  for (const example of examples) {
    const { access_token } = agent
      ? await tokenAt(
          server.token_endpoint,
          { headers: { authorization: basicAuthorization(agent) }, fields: {} },
          { grant_type: 'client_credentials' },
        )
      : {}
    const values = JSON.stringify(example)
      ?.replaceAll(/ppt_[\w-]{43}/g, access_token ?? '')
      .replaceAll('@example.org', `@${crypto.randomUUID()}.example.org`)
    const response = await fetch(address, {
      method: operation.method,
      headers: {
        ...(agent && { authorization: basicAuthorization(agent) }),
        ...(type && { 'content-type': type }),
      },
      ...(values && {
        body: type === 'application/json' ? values : new URLSearchParams(JSON.parse(values)).toString(),
      }),
    })
    responses.push(await readResponse(response))
  }
  return responses
}

/** Leaves out `none`, by which only apps that people connect are clients. */
const agentMethods = (methods: readonly string[]) => methods.filter((method) => method !== 'none')

function describeAuthorization(found: () => Found): void {
  test('every grant, with every authentication method, issues every named scope', async () => {
    const { server, description } = found()
    const { tokenUrl, scopes } = description.components.securitySchemes.oauth2.flows.clientCredentials
    expect(tokenUrl).toBe(server.token_endpoint)
    expect(server.scopes_supported).toEqual([...Object.keys(scopes), 'offline_access'])
    expect(server.grant_types_supported).toEqual([
      'authorization_code',
      'refresh_token',
      'client_credentials',
      'urn:ietf:params:oauth:grant-type:jwt-bearer',
    ])
    for (const method of agentMethods(server.token_endpoint_auth_methods_supported)) {
      const authentication = await authenticationBy(method, server)
      for (const scope of Object.keys(scopes)) {
        const grant = { grant_type: 'client_credentials', scope }
        const granted = scope === LENT ? { status: 400 } : { status: 200, scope }
        expect(await tokenAt(tokenUrl, await authentication(), grant)).toMatchObject(granted)
      }
    }
  })

  test('a token is for the named resource, and can be revoked with every authentication method', async () => {
    const { server, jsonAt } = found()
    const { resource, bearer_methods_supported } = jsonAt('/.well-known/oauth-protected-resource/api') as {
      resource: string
      bearer_methods_supported: string[]
    }
    expect(bearer_methods_supported).toEqual(['header'])
    const read = (token: string) =>
      fetch(`${resource}/guides`, { headers: { authorization: `Bearer ${token}` } })
    for (const method of agentMethods(server.revocation_endpoint_auth_methods_supported)) {
      const authentication = await authenticationBy(method, server)
      const grant = { grant_type: 'client_credentials', resource }
      const { access_token: token = '' } = await tokenAt(server.token_endpoint, await authentication(), grant)
      expect((await read(token)).status).toBe(200)
      const { headers, fields } = await authentication()
      const revoked = await fetch(server.revocation_endpoint, {
        method: 'POST',
        headers,
        body: new URLSearchParams({ token, ...fields }),
      })
      expect(revoked.status).toBe(200)
      expect((await read(token)).status).toBe(401)
    }
  })

  test('an agent can get every named identity type, by registration or by verification afterwards', async () => {
    const { register_uri, claim_uri, identity_types_supported } = found().server.agent_auth
    expect(identity_types_supported).toEqual(['anonymous', 'identity_assertion'])
    const agent = await registerAt(register_uri, 'anonymous')
    const begun = await fetch(claim_uri, {
      method: 'POST',
      headers: { authorization: basicAuthorization(agent), 'content-type': 'application/json' },
      body: JSON.stringify({ email: `ana@${crypto.randomUUID()}.example.org` }),
    })
    expect(begun.status).toBe(202)
  })

  test('every published key is a public key of its algorithm', () => {
    const { keys } = found().jsonAt('/oauth/jwks.json') as { keys: Record<string, unknown>[] }
    expect(keys.length).toBeGreaterThan(0)
    for (const key of keys) {
      expect(key).toMatchObject({ kty: 'EC', alg: 'ES256', use: 'sig', kid: expect.stringMatching(/./) })
      expect(key).not.toHaveProperty('d')
    }
  })

  test('the authorization endpoint says what a request must name', async () => {
    const response = await readResponse(await fetch(found().server.authorization_endpoint))
    expect(response).toMatchObject({ status: 400, type: 'application/problem+json' })
    expect(JSON.parse(response.text)).toMatchObject({ code: 'invalid-request' })
  })
}
