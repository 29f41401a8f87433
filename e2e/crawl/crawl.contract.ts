import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NEEDS_A_PERSON } from '../needs-a-person.ts'
import {
  createAuthenticator,
  createSecondSecret,
  formatBasicAuthorization,
  type RegisteredAgent,
  registerAgent,
  requestToken,
} from './agent.ts'
import {
  type ApiDescription,
  type CallableOperation,
  createResponseChecker,
  listOperations,
} from './api-description.ts'
import { crawlService, findGuideSlug, type Visit } from './crawl-service.ts'
import { listPostTargets } from './post-targets.ts'

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

/**
 * Defines the tests for a client that starts at `/` and follows only URLs that responses contain.
 *
 * @param description describes the service in the title of the tests
 */
export function describeCrawl(description: string, openService: () => Promise<CrawledService>): void {
  describe(`a client that starts at /, ${description}`, () => {
    const getCrawl = crawlBeforeAll(openService)
    describeAddresses(getCrawl)
    describeOperations(getCrawl)
    describeAuthorization(getCrawl)
  })
}

interface Crawl {
  readonly origin: string
  readonly visits: readonly Visit[]
  readonly description: ApiDescription
  readonly operations: readonly CallableOperation[]
  readonly server: ServerMetadata
  /** Parses the JSON response at a path. Throws if the crawl did not reach the path. */
  readJson(path: string): unknown
  registerNewAgent(): Promise<RegisteredAgent>
}

/** Crawls the service before the first test. Returns a function through which tests read the result. */
function crawlBeforeAll(openService: () => Promise<CrawledService>): () => Crawl {
  const resources = new AsyncDisposableStack()
  let crawl: Crawl
  beforeAll(async () => {
    const { origin } = resources.use(await openService())
    const visits = await crawlService(`${origin}/`)
    const readJson = (path: string): unknown => {
      const visit = visits.find(({ href }) => href === `${origin}${path}`)
      if (!visit) throw new Error(`the crawl did not reach ${path}`)
      return JSON.parse(visit.text)
    }
    const description = readJson('/openapi.json') as ApiDescription
    const server = readJson('/.well-known/oauth-authorization-server') as ServerMetadata
    const registerNewAgent = () => registerAgent(server.agent_auth.register_uri)
    crawl = {
      origin,
      visits,
      description,
      operations: listOperations(description),
      server,
      readJson,
      registerNewAgent,
    }
  })
  afterAll(() => resources.disposeAsync())
  return () => crawl
}

function describeAddresses(getCrawl: () => Crawl): void {
  test('every URL in a response responds as expected, with its announced type', () => {
    const { visits } = getCrawl()
    const mistakes = visits.flatMap((visit) => {
      const mistake = findMistake(visit, getCrawl())
      return mistake === undefined ? [] : [`${visit.href} (found in ${visit.from}): ${mistake}`]
    })
    expect(mistakes).toEqual([])
    // Fails if the crawl finds only a small part of the service.
    expect(visits.length).toBeGreaterThan(50)
  })

  test('no URL in a response has an unfilled placeholder', () => {
    expect(getCrawl().visits.filter(({ href }) => /[{}<>]|undefined|%3C/.test(href))).toEqual([])
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
  ])('reaches %s', (path) => {
    expect(getCrawl().visits.find(({ href }) => href === `${getCrawl().origin}${path}`)?.status).toBe(200)
  })

  test('every skill has the digest that the index states', async () => {
    const index = getCrawl().readJson('/.well-known/agent-skills/index.json') as {
      skills: { url: string; digest: string }[]
    }
    for (const { url, digest } of index.skills) {
      const bytes = await (await fetch(url)).arrayBuffer()
      const hash = Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('hex')
      expect(`sha256:${hash}`).toBe(digest)
    }
  })
}

/** The scope for sending messages. The client credentials grant does not grant it. */
const MESSAGE_SCOPE = 'contact:write'

/** Describes what is wrong with a response. Returns undefined if nothing is wrong. */
function findMistake(visit: Visit, crawl: Crawl): string | undefined {
  const { operations, server, visits } = crawl
  // The crawler sends no parameters, so the authorization request is invalid.
  if (visit.href === server.authorization_endpoint)
    return describeUnexpectedStatus(visit, visit.status === 400)
  const operationsAtUrl = operations.filter(({ urlTemplate }) => matchesTemplate(urlTemplate, visit.href))
  const getOperation = operationsAtUrl.find(({ method }) => method === 'GET')
  // The crawler sends no credentials.
  if (getOperation && getOperation.security.length > 0)
    return describeUnexpectedStatus(visit, visit.status === 401 && visit.headers.has('www-authenticate'))
  if (operationsAtUrl.length > 0 && !getOperation)
    return findMethodMistake(
      visit,
      operationsAtUrl.map(({ method }) => method),
    )
  // The signed-in MCP server checks the token before the method. Other targets of POST respond with 405, unless they also serve
  // GET.
  if (listPostTargets(visits).has(visit.href) && visit.status === 401)
    return describeUnexpectedStatus(visit, visit.headers.has('www-authenticate'))
  if (visit.status === 405 && listPostTargets(visits).has(visit.href))
    return findMethodMistake(visit, ['POST'])
  if (visit.status !== 200) return describeUnexpectedStatus(visit, false)
  const announcedType = visit.announcedType?.split(';')[0]
  return announcedType === undefined || announcedType === visit.type
    ? undefined
    : `is ${visit.type}, not ${announcedType}`
}

/** Returns whether `href` is a URL of this template. `{id}` stands for any UUID. No URL matches a template with `{slug}`. */
const matchesTemplate = (urlTemplate: string, href: string) =>
  urlTemplate === href.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/, '{id}') || urlTemplate === href

const describeUnexpectedStatus = ({ status }: Visit, isExpected: boolean) =>
  isExpected ? undefined : `responds ${status}`

/** Checks that an endpoint without GET responds with 405 and lists its methods in `Allow`. */
function findMethodMistake({ status, headers }: Visit, methods: readonly string[]): string | undefined {
  const allow = headers.get('allow')?.split(', ') ?? []
  const isExpected = status === 405 && methods.every((method) => allow.includes(method))
  return isExpected ? undefined : `responds ${status}, Allow: ${allow.join(', ')}`
}

function describeOperations(getCrawl: () => Crawl): void {
  test('every operation responds to each of its examples as described', async () => {
    const { description, operations } = getCrawl()
    const checker = createResponseChecker(description)
    const mistakes: string[] = []
    for (const operation of operations) {
      const responses = await callWithExamples(operation, getCrawl())
      for (const response of responses) {
        // Without a person, these operations fail. The description covers their failures as `4XX`.
        const isExpected =
          Object.keys(operation.responses).includes(String(response.status)) ||
          (NEEDS_A_PERSON.has(operation.operationId) && response.status >= 400 && response.status < 410)
        const differences = isExpected ? checker.listDifferences(operation, response) : ['is not described']
        mistakes.push(
          ...differences.map((difference) => `${operation.operationId} ${response.status}: ${difference}`),
        )
      }
    }
    expect(mistakes).toEqual([])
    // Fails if the description has lost operations.
    expect(operations.length).toBeGreaterThanOrEqual(9)
  })

  test('operations respond as described to an unsupported method (405 with Allow) and to a malformed body (an error)', async () => {
    const { description, operations } = getCrawl()
    const checker = createResponseChecker(description)
    const mistakes: string[] = []
    for (const operation of operations) {
      const usedMethods = operations
        .filter(({ urlTemplate }) => urlTemplate === operation.urlTemplate)
        .map(({ method }) => method)
      const unusedMethod = ['PUT', 'PATCH', 'DELETE'].find((method) => !usedMethods.includes(method))
      if (!unusedMethod)
        throw new Error(`${operation.urlTemplate} supports every method that this test sends`)
      const url = operation.urlTemplate.replace(/\{\w+\}/, 'no-such-thing')
      const methodError = await readResponse(await fetch(url, { method: unusedMethod }))
      const allow = methodError.headers.get('allow')?.split(', ') ?? []
      if (methodError.status !== 405 || !usedMethods.every((method) => allow.includes(method)))
        mistakes.push(`${unusedMethod} ${url} ${methodError.status} Allow: ${allow.join(', ')}`)
      const errorResponses = [methodError]
      if (operation.requestBody) {
        const bodyError = await readResponse(
          await fetch(url, { method: operation.method, body: 'a malformed body' }),
        )
        if (bodyError.status < 400)
          mistakes.push(`${operation.operationId}: ${bodyError.status} for a malformed body`)
        errorResponses.push(bodyError)
      }
      for (const errorResponse of errorResponses)
        mistakes.push(
          ...checker
            .listDifferences(operation, errorResponse)
            .map((each) => `${operation.operationId}: ${each}`),
        )
    }
    expect(mistakes).toEqual([])
  })
}

interface ReceivedResponse {
  readonly status: number
  readonly mediaType: string
  readonly text: string
  readonly headers: Headers
}

const readResponse = async (response: Response): Promise<ReceivedResponse> => ({
  status: response.status,
  mediaType: response.headers.get('content-type')?.split(';')[0] ?? '',
  text: await response.text(),
  headers: response.headers,
})

/** Calls an operation with each example of its body. If it requires client authentication, a new agent sends all calls. */
async function callWithExamples(
  operation: CallableOperation,
  { visits, server, registerNewAgent }: Crawl,
): Promise<ReceivedResponse[]> {
  const agent = operation.security.some((scheme) => 'client' in scheme) ? await registerNewAgent() : undefined
  // The agent authenticates with its first secret, so the calls for one secret use a second one. Other templates with `{id}` are
  // requested as they are. Their operations need a person (`NEEDS_A_PERSON`), so no id exists.
  const [collection, suffix] = operation.urlTemplate.split('/{id}')
  const url =
    agent && collection?.endsWith('/secrets') && suffix === ''
      ? `${collection}/${await createSecondSecret(collection, agent)}`
      : operation.urlTemplate.replace('{slug}', findGuideSlug(visits))
  const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? []
  const examples = type ? Object.values(content?.examples ?? {}).map(({ value }) => value) : [undefined]
  const responses: ReceivedResponse[] = []
  for (const example of examples) {
    const { access_token } = agent
      ? await requestToken(
          server.token_endpoint,
          { headers: { authorization: formatBasicAuthorization(agent) }, fields: {} },
          { grant_type: 'client_credentials' },
        )
      : {}
    // Replaces the token of the example by a real one, and its e-mail addresses by unique ones.
    const bodyJson = JSON.stringify(example)
      ?.replaceAll(/ppt_[\w-]{43}/g, access_token ?? '')
      .replaceAll('@example.org', `@${crypto.randomUUID()}.example.org`)
    const response = await fetch(url, {
      method: operation.method,
      headers: {
        ...(agent && { authorization: formatBasicAuthorization(agent) }),
        ...(type && { 'content-type': type }),
      },
      ...(bodyJson && {
        body: type === 'application/json' ? bodyJson : new URLSearchParams(JSON.parse(bodyJson)).toString(),
      }),
    })
    responses.push(await readResponse(response))
  }
  return responses
}

/** Removes `none`, the method of apps that a person connects. */
const selectAgentMethods = (methods: readonly string[]) => methods.filter((method) => method !== 'none')

function describeAuthorization(getCrawl: () => Crawl): void {
  test('the client credentials grant issues every described scope except the one for messages, with every authentication method', async () => {
    const { server, description } = getCrawl()
    const { tokenUrl, scopes } = description.components.securitySchemes.oauth2.flows.clientCredentials
    expect(tokenUrl).toBe(server.token_endpoint)
    // Some apps request refresh tokens only if the server lists `offline_access`. It is not a scope of the API.
    expect(server.scopes_supported).toEqual([...Object.keys(scopes), 'offline_access'])
    expect(server.grant_types_supported).toEqual([
      'authorization_code',
      'refresh_token',
      'client_credentials',
      'urn:ietf:params:oauth:grant-type:jwt-bearer',
    ])
    for (const method of selectAgentMethods(server.token_endpoint_auth_methods_supported)) {
      const createAuthentication = await createAuthenticator(method, server)
      for (const scope of Object.keys(scopes)) {
        const grant = { grant_type: 'client_credentials', scope }
        const expectedResponse = scope === MESSAGE_SCOPE ? { status: 400 } : { status: 200, scope }
        expect(await requestToken(tokenUrl, await createAuthentication(), grant)).toMatchObject(
          expectedResponse,
        )
      }
    }
  })

  test('a token for the resource is accepted until its client revokes it, with every authentication method', async () => {
    const { server, readJson } = getCrawl()
    const { resource, bearer_methods_supported } = readJson('/.well-known/oauth-protected-resource/api') as {
      resource: string
      bearer_methods_supported: string[]
    }
    expect(bearer_methods_supported).toEqual(['header'])
    const readGuides = (token: string) =>
      fetch(`${resource}/guides`, { headers: { authorization: `Bearer ${token}` } })
    for (const method of selectAgentMethods(server.revocation_endpoint_auth_methods_supported)) {
      const createAuthentication = await createAuthenticator(method, server)
      const grant = { grant_type: 'client_credentials', resource }
      const { access_token: token = '' } = await requestToken(
        server.token_endpoint,
        await createAuthentication(),
        grant,
      )
      expect((await readGuides(token)).status).toBe(200)
      const { headers, fields } = await createAuthentication()
      const revocationResponse = await fetch(server.revocation_endpoint, {
        method: 'POST',
        headers,
        body: new URLSearchParams({ token, ...fields }),
      })
      expect(revocationResponse.status).toBe(200)
      expect((await readGuides(token)).status).toBe(401)
    }
  })

  test('an agent can register anonymously and then begin an e-mail verification', async () => {
    const { register_uri, claim_uri, identity_types_supported } = getCrawl().server.agent_auth
    expect(identity_types_supported).toEqual(['anonymous', 'identity_assertion'])
    const agent = await registerAgent(register_uri, 'anonymous')
    const verificationResponse = await fetch(claim_uri, {
      method: 'POST',
      headers: { authorization: formatBasicAuthorization(agent), 'content-type': 'application/json' },
      body: JSON.stringify({ email: `ana@${crypto.randomUUID()}.example.org` }),
    })
    expect(verificationResponse.status).toBe(202)
  })

  test('every published key is a public ES256 key', () => {
    const { keys } = getCrawl().readJson('/oauth/jwks.json') as { keys: Record<string, unknown>[] }
    expect(keys.length).toBeGreaterThan(0)
    for (const key of keys) {
      expect(key).toMatchObject({ kty: 'EC', alg: 'ES256', use: 'sig', kid: expect.stringMatching(/./) })
      expect(key).not.toHaveProperty('d')
    }
  })

  test('the authorization endpoint responds to a request without parameters with invalid-request', async () => {
    const response = await readResponse(await fetch(getCrawl().server.authorization_endpoint))
    expect(response).toMatchObject({ status: 400, mediaType: 'application/problem+json' })
    expect(JSON.parse(response.text)).toMatchObject({ code: 'invalid-request' })
  })
}
