import { readFileSync } from 'node:fs'
import { Scope } from '@plainpath/domain'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { AGENT_GRANT_TYPES, JWT_BEARER_GRANT_TYPE } from '../oauth-metadata.ts'
import { OPERATION_LIST } from '../operations/operations.ts'
import { createServiceUrls } from '../service-urls.ts'
import { createOpenApiDescription } from './openapi-description.ts'

const ORIGIN = 'https://plainpath.example'
const description = createOpenApiDescription(createServiceUrls(ORIGIN))
const document = JSON.parse(JSON.stringify(description))

test('packages/metadata/openapi.json is what "npm run generate" writes', () => {
  const committedText = readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')
  expect(committedText).toBe(`${JSON.stringify(description, null, 2)}\n`)
})

interface DescribedOperation {
  operationId: string
  responses: Record<string, unknown>
  security: unknown[]
}

const listOperations = (api: { paths: Record<string, Record<string, DescribedOperation>> }) =>
  Object.entries(api.paths).flatMap(([path, item]) =>
    ['get', 'post', 'put', 'delete'].flatMap((method) =>
      item[method] ? [{ path, method, ...item[method] }] : [],
    ),
  )

/** Lists the members that a schema or a schema that it extends requires. */
const listRequiredMembers = (schema: { required?: string[]; allOf?: { $ref: string }[] }): string[] => [
  ...(schema.required ?? []),
  ...(schema.allOf ?? []).flatMap(({ $ref }) =>
    listRequiredMembers(document.components.schemas[$ref.split('/').at(-1) ?? '']),
  ),
]

describe('the four operations of the specification', () => {
  test.for([
    ['get', '/health', ['200']],
    ['get', '/guides', ['200']],
    ['post', '/waitlist', ['200', '201', '400']],
    ['post', '/agent/register', ['201']],
  ] as const)('%s %s has responses for these statuses: %s', ([method, path, statuses]) => {
    const { responses } = document.paths[path][method]
    expect(Object.keys(responses).filter((status) => /^\d+$/.test(status))).toEqual(statuses)
  })

  test('have the members that the specification names', () => {
    const { schemas } = document.components
    expect(schemas.JoinWaitlistRequest).toMatchObject({
      required: ['email'],
      properties: { email: { type: 'string', format: 'email' }, referredBySlug: {} },
    })
    expect(schemas.RegisterAgentRequest).not.toHaveProperty('required')
    expect(document.paths['/agent/register'].post.requestBody.required).toBe(false)
    expect(document.paths['/waitlist'].post.requestBody.required).toBe(true)
    expect(listRequiredMembers(schemas.RegisteredAgent)).toEqual(
      expect.arrayContaining(['client_id', 'client_secret', 'grant_types', 'scopes']),
    )
    expect(schemas.GuideListing.required).toEqual(expect.arrayContaining(['slug', 'summary']))
  })
})

test('the description declares OpenAPI 3.1.0 and version 0.1.0, and has the API root as its server', () => {
  expect(document.openapi).toBe('3.1.0')
  expect(document.info).toMatchObject({ title: 'Plainpath Immigration Guidance API', version: '0.1.0' })
  expect(document.servers.map(({ url }: { url: string }) => url)).toEqual([`${ORIGIN}/api`])
})

describe.for(listOperations(document))('$operationId', (operation) => {
  test('has the error component of its path for 4XX and as default', () => {
    let componentName = 'Problem'
    if (operation.path.startsWith('/oauth/')) componentName = 'OAuthError'
    if (operation.path.startsWith('/agent')) componentName = 'AgentProblem'
    const component = { $ref: `#/components/responses/${componentName}` }
    expect(operation.responses).toMatchObject({ '4XX': component, default: component })
  })

  test('lists first the security requirement for its `access`', () => {
    const access = OPERATION_LIST.find(({ operationId }) => operationId === operation.operationId)?.access
    const needsNoToken = access === 'open' || access === 'public'
    if (needsNoToken) expect(operation.security).toEqual([])
    else if (typeof access === 'object') expect(operation.security[0]).toEqual({ oauth2: access.scopes })
    else expect(operation.security[0]).toEqual({ client: [] })
  })

  test('has a server and a path that together form the address at which it is served', () => {
    const server = document.paths[operation.path].servers?.[0].url ?? document.servers[0].url
    const servedPath = OPERATION_LIST.find(({ operationId }) => operationId === operation.operationId)?.path
    expect(`${server}${operation.path}`).toBe(`${ORIGIN}${servedPath}`)
  })
})

test('the description contains every operation, and no other', () => {
  const ids = listOperations(document).map(({ operationId }) => operationId)
  expect(ids.toSorted()).toEqual(OPERATION_LIST.map(({ operationId }) => operationId).toSorted())
})

test('the client credentials flow lists every scope', () => {
  const { flows } = document.components.securitySchemes.oauth2
  expect(Object.keys(flows.clientCredentials.scopes)).toEqual(Scope.options)
})

test('only the schemas of three requests reject unknown members', () => {
  const closedSchemas = Object.entries<Record<string, unknown>>(document.components.schemas)
    .filter(([, schema]) => schema['additionalProperties'] === false)
    .map(([name]) => name)
  expect(closedSchemas).toEqual(['AnswerRequest', 'JoinWaitlistRequest', 'ContactRequest'])
})

describe('the schema of the token request', () => {
  const ajv = new Ajv2020({ strict: false })
  const tokenRequest = document.components.schemas.TokenRequest
  const accepts = ajv.compile(tokenRequest)

  test.for([
    ['accepts client_credentials', { grant_type: 'client_credentials' }, true],
    [
      'accepts client_credentials with an assertion',
      { grant_type: 'client_credentials', assertion: 'a.b.c' },
      true,
    ],
    ['accepts jwt-bearer with an assertion', { grant_type: JWT_BEARER_GRANT_TYPE, assertion: 'a.b.c' }, true],
    [
      'rejects jwt-bearer without assertion',
      { grant_type: JWT_BEARER_GRANT_TYPE, scope: 'guides:read' },
      false,
    ],
    ['rejects another grant type', { grant_type: 'password' }, false],
    ['rejects a request without a grant type', { assertion: 'a.b.c' }, false],
  ] as const)('%s', ([, fields, isAccepted]) => {
    expect(accepts(fields)).toBe(isAccepted)
  })

  test('has examples of all grant types, and accepts them', () => {
    const examples: { grant_type: string }[] = tokenRequest.examples
    for (const fields of examples) expect(accepts(fields)).toBe(true)
    expect(new Set(examples.map(({ grant_type }) => grant_type))).toEqual(new Set(AGENT_GRANT_TYPES))
  })

  test('lists the grant types, with two alternatives', () => {
    expect(tokenRequest.properties.grant_type).toMatchObject({ enum: AGENT_GRANT_TYPES })
    expect(tokenRequest.properties).toHaveProperty('assertion')
    expect(tokenRequest.oneOf).toHaveLength(2)
  })
})

test('Idempotency-Key is an optional header parameter of sendContactMessage, with a pattern', () => {
  const { parameters } = document.paths['/contact'].post
  expect(parameters).toEqual([
    expect.objectContaining({ in: 'header', name: 'Idempotency-Key', description: expect.any(String) }),
  ])
  expect(parameters[0]).not.toHaveProperty('required', true)
  const pattern = new RegExp(parameters[0].schema.pattern)
  for (const validKey of ['!', '~', 'a'.repeat(200)]) expect(validKey).toMatch(pattern)
  for (const invalidKey of ['', 'a b', 'é', 'a'.repeat(201)]) expect(invalidKey).not.toMatch(pattern)
})
