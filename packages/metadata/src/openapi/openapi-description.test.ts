import { readFileSync } from 'node:fs'
import { Scope } from '@plainpath/domain'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { GRANT_TYPES, JWT_BEARER_GRANT } from '../oauth-metadata.ts'
import { OPERATIONS } from '../operations/operations.ts'
import { serviceUrls } from '../service-urls.ts'
import { createOpenApiDescription } from './openapi-description.ts'

const ORIGIN = 'https://plainpath.example'
const description = createOpenApiDescription(serviceUrls(ORIGIN))
const described = JSON.parse(JSON.stringify(description))

test('packages/metadata/openapi.json is what "npm run generate" writes', () => {
  const written = readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')
  expect(written).toBe(`${JSON.stringify(description, null, 2)}\n`)
})

interface DescribedOperation {
  operationId: string
  responses: Record<string, unknown>
  security: unknown[]
}

const describedIn = (document: { paths: Record<string, Record<string, DescribedOperation>> }) =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    ['get', 'post', 'put', 'delete'].flatMap((method) =>
      item[method] ? [{ path, method, ...item[method] }] : [],
    ),
  )

/** The members that a schema requires itself, or by the schemas that it extends. */
const requiredMembers = (schema: { required?: string[]; allOf?: { $ref: string }[] }): string[] => [
  ...(schema.required ?? []),
  ...(schema.allOf ?? []).flatMap(({ $ref }) =>
    requiredMembers(described.components.schemas[$ref.split('/').at(-1) ?? '']),
  ),
]

describe('the four operations that callers were promised first stand with their statuses by number', () => {
  test.for([
    ['get', '/health', ['200']],
    ['get', '/guides', ['200']],
    ['post', '/waitlist', ['200', '201', '400']],
    ['post', '/agent/register', ['201']],
  ] as const)('%s %s: %s', ([method, path, statuses]) => {
    const { responses } = described.paths[path][method]
    expect(Object.keys(responses).filter((status) => /^\d+$/.test(status))).toEqual(statuses)
  })

  test('with the members that the specification names', () => {
    const { schemas } = described.components
    expect(schemas.JoinWaitlistRequest).toMatchObject({
      required: ['email'],
      properties: { email: { type: 'string', format: 'email' }, referredBySlug: {} },
    })
    expect(schemas.RegisterAgentRequest).not.toHaveProperty('required')
    expect(described.paths['/agent/register'].post.requestBody.required).toBe(false)
    expect(described.paths['/waitlist'].post.requestBody.required).toBe(true)
    expect(requiredMembers(schemas.RegisteredAgent)).toEqual(
      expect.arrayContaining(['client_id', 'client_secret', 'grant_types', 'scopes']),
    )
    expect(schemas.GuideListing.required).toEqual(expect.arrayContaining(['slug', 'summary']))
  })
})

test('it declares OpenAPI 3.1.0 and version 0.1.0, and names the API root as its server', () => {
  expect(described.openapi).toBe('3.1.0')
  expect(described.info).toMatchObject({ title: 'Plainpath Immigration Guidance API', version: '0.1.0' })
  expect(described.servers.map(({ url }: { url: string }) => url)).toEqual([`${ORIGIN}/api`])
})

describe.for(describedIn(described))('$operationId', (operation) => {
  test('answers every failure that has no number as one problem of its shape', () => {
    const shape = operation.path.startsWith('/oauth/')
      ? 'OAuthError'
      : operation.path.startsWith('/agent')
        ? 'AgentProblem'
        : 'Problem'
    const component = { $ref: `#/components/responses/${shape}` }
    expect(operation.responses).toMatchObject({ '4XX': component, default: component })
  })

  test('says who may call', () => {
    const access = OPERATIONS.find(({ operationId }) => operationId === operation.operationId)?.access
    const open = access === 'open' || access === 'public'
    if (open) expect(operation.security).toEqual([])
    else if (typeof access === 'object') expect(operation.security[0]).toEqual({ oauth2: access.scopes })
    else expect(operation.security[0]).toEqual({ client: [] })
  })

  test('lies below its server, at the address that is served', () => {
    const server = described.paths[operation.path].servers?.[0].url ?? described.servers[0].url
    const served = OPERATIONS.find(({ operationId }) => operationId === operation.operationId)?.path
    expect(`${server}${operation.path}`).toBe(`${ORIGIN}${served}`)
  })
})

test('every operation is described, and nothing else', () => {
  const ids = describedIn(described).map(({ operationId }) => operationId)
  expect(ids.toSorted()).toEqual(OPERATIONS.map(({ operationId }) => operationId).toSorted())
})

test('the scopes are those that a token can have', () => {
  const { flows } = described.components.securitySchemes.oauth2
  expect(Object.keys(flows.clientCredentials.scopes)).toEqual(Scope.options)
})

test('no response may be refused for a new member', () => {
  const closed = Object.entries<Record<string, unknown>>(described.components.schemas)
    .filter(([, schema]) => schema['additionalProperties'] === false)
    .map(([name]) => name)
  expect(closed).toEqual(['AnswerRequest', 'JoinWaitlistRequest', 'ContactRequest'])
})

describe('the form of the token endpoint', () => {
  const ajv = new Ajv2020({ strict: false })
  const form = described.components.schemas.TokenRequest
  const accepts = ajv.compile(form)

  test.for([
    ['client credentials', { grant_type: 'client_credentials' }, true],
    ['an assertion that is ignored', { grant_type: 'client_credentials', assertion: 'a.b.c' }, true],
    ['an assertion', { grant_type: JWT_BEARER_GRANT, assertion: 'a.b.c' }, true],
    ['no assertion', { grant_type: JWT_BEARER_GRANT, scope: 'guides:read' }, false],
    ['another grant', { grant_type: 'password' }, false],
    ['no grant', { assertion: 'a.b.c' }, false],
  ] as const)('with %s', ([, fields, accepted]) => {
    expect(accepts(fields)).toBe(accepted)
  })

  test('has an example of each grant, which it accepts', () => {
    const shown: { grant_type: string }[] = form.examples
    for (const fields of shown) expect(accepts(fields)).toBe(true)
    expect(new Set(shown.map(({ grant_type }) => grant_type))).toEqual(new Set(GRANT_TYPES))
  })

  test('names the grants', () => {
    expect(form.properties.grant_type).toMatchObject({ enum: GRANT_TYPES })
    expect(form.properties).toHaveProperty('assertion')
    expect(form.oneOf).toHaveLength(2)
  })
})

test('a header that a route reads is a parameter, which may be left out', () => {
  const { parameters } = described.paths['/contact'].post
  expect(parameters).toEqual([
    expect.objectContaining({ in: 'header', name: 'Idempotency-Key', description: expect.any(String) }),
  ])
  expect(parameters[0]).not.toHaveProperty('required', true)
  const pattern = new RegExp(parameters[0].schema.pattern)
  for (const good of ['!', '~', 'a'.repeat(200)]) expect(good).toMatch(pattern)
  for (const bad of ['', 'a b', 'é', 'a'.repeat(201)]) expect(bad).not.toMatch(pattern)
})
