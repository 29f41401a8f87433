import type { ReferenceAnswer, ReferenceField, ReferenceOperation, ReferencePage } from '@plainpath/pages'
import { z } from 'zod'
import { renderMarkdown } from './render-markdown.ts'

/** The parts of our own OpenAPI document that the reference shows. */
const Schema = z.object({
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  const: z.unknown().optional(),
  format: z.string().optional(),
  description: z.string().optional(),
  get items() {
    return Schema.optional()
  },
  get anyOf() {
    return z.array(Schema).optional()
  },
  get properties() {
    return z.record(z.string(), Schema).optional()
  },
  required: z.array(z.string()).optional(),
})
type ApiSchema = z.infer<typeof Schema>

const Content = z.record(
  z.string(),
  z.object({
    schema: Schema.optional(),
    example: z.unknown().optional(),
    examples: z.record(z.string(), z.object({ value: z.unknown() })).optional(),
  }),
)
const Answer = z.object({
  $ref: z.string().optional(),
  description: z.string().optional(),
  content: Content.optional(),
})
type ApiAnswer = z.infer<typeof Answer>

const Operation = z.object({
  operationId: z.string(),
  tags: z.tuple([z.string()]),
  summary: z.string(),
  description: z.string(),
  security: z.array(z.record(z.string(), z.array(z.string()))),
  parameters: z
    .array(
      z.object({
        in: z.string(),
        name: z.string(),
        required: z.boolean().optional(),
        description: z.string().optional(),
        schema: Schema,
      }),
    )
    .default([]),
  requestBody: z.object({ content: Content }).optional(),
  responses: z.record(z.string(), Answer),
})
type ApiOperation = z.infer<typeof Operation>

export const ApiDocument = z.object({
  info: z.object({ title: z.string(), version: z.string(), description: z.string() }),
  servers: z.tuple([z.object({ url: z.string() })]),
  tags: z.array(z.object({ name: z.string(), description: z.string() })),
  paths: z.record(
    z.string(),
    z.object({
      servers: z.array(z.object({ url: z.string() })).optional(),
      get: Operation.optional(),
      post: Operation.optional(),
      put: Operation.optional(),
      delete: Operation.optional(),
    }),
  ),
  components: z.object({ schemas: z.record(z.string(), Schema), responses: z.record(z.string(), Answer) }),
})
type ApiDocument = z.infer<typeof ApiDocument>

/** What `/docs` shows of an API description. @param exampleSlug a guide that is there */
export function apiReference(document: ApiDocument, exampleSlug: string): ReferencePage {
  const operations = operationsOf(document)
  const { title, version, description } = document.info
  return {
    title,
    version,
    introduction: renderMarkdown(description),
    openApiPath: '/openapi.json',
    groups: document.tags.map(({ name, description: about }) => ({
      name,
      about,
      operations: operations
        .filter(({ operation }) => operation.tags.includes(name))
        .map((each) => shown(each, document, exampleSlug)),
    })),
  }
}

interface LocatedOperation {
  readonly operation: ApiOperation
  readonly method: string
  /** Absolute; parameters stand as `{slug}`. */
  readonly address: string
}

const operationsOf = ({ paths, servers }: ApiDocument): LocatedOperation[] =>
  Object.entries(paths).flatMap(([path, item]) => {
    const address = `${item.servers?.[0]?.url ?? servers[0].url}${path}`
    const { get, post, put, delete: remove } = item
    return Object.entries({ GET: get, POST: post, PUT: put, DELETE: remove }).flatMap(
      ([method, operation]) => (operation ? [{ operation, method, address }] : []),
    )
  })

function shown(
  { operation, method, address }: LocatedOperation,
  document: ApiDocument,
  exampleSlug: string,
): ReferenceOperation {
  const credentials = operation.security.some((scheme) => 'client' in scheme)
  return {
    id: operation.operationId,
    method,
    address,
    summary: operation.summary,
    description: renderMarkdown(operation.description),
    access: accessOf(operation),
    fields: fieldsOf(operation, document),
    commands: curlCommands({
      method,
      address: address.replace('{slug}', exampleSlug).replace('{id}', EXAMPLE_ID),
      credentials,
      token: scopesOf(operation).length > 0,
      body: bodiesOf(operation),
    }),
    answers: answersOf(operation, document),
  }
}

/** Stands for the id that an earlier answer gave. */
const EXAMPLE_ID = '6f6c0f0e-6f2b-4d1c-9a5e-2a9d1f6f3b10'

const scopesOf = ({ security }: Pick<ApiOperation, 'security'>) =>
  security.flatMap((scheme) => scheme['oauth2'] ?? [])

function accessOf({ security }: ApiOperation): string {
  if (security.length === 0) return 'anybody.'
  const scopes = scopesOf({ security })
  if (scopes.length > 0) return `an agent with a token that has ${scopes.join(', ')}.`
  return 'a registered agent, with its client_id and client_secret.'
}

function bodiesOf({ requestBody }: ApiOperation): { type: string; examples: readonly unknown[] } | undefined {
  const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? []
  return type === undefined
    ? undefined
    : { type, examples: Object.values(content?.examples ?? {}).map(({ value }) => value) }
}

function fieldsOf({ parameters, requestBody }: ApiOperation, document: ApiDocument): ReferenceField[] {
  const [content] = Object.values(requestBody?.content ?? {})
  const body = content?.schema && resolved(content.schema, document)
  return [
    ...parameters.map(({ in: place, name, required = false, description, schema }) => ({
      name,
      place,
      required,
      type: typeOf(schema),
      about: description ?? '',
    })),
    ...Object.entries(body?.properties ?? {}).map(([name, schema]) => ({
      name,
      place: 'body',
      required: body?.required?.includes(name) ?? false,
      type: typeOf(schema),
      about: schema.description ?? '',
    })),
  ]
}

function resolved(schema: ApiSchema, { components }: ApiDocument): ApiSchema {
  return schema.$ref === undefined ? schema : (components.schemas[lastOf(schema.$ref)] ?? schema)
}

const lastOf = (reference: string) => reference.split('/').at(-1) ?? ''

function typeOf(schema: ApiSchema): string {
  if (schema.$ref !== undefined) return lastOf(schema.$ref)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(' or ')
  if (schema.items) return `list of ${typeOf(schema.items)}`
  return schema.format ?? [schema.type ?? 'anything'].flat().join(' or ')
}

/** Every status of its own, then all other failures as one. */
function answersOf({ responses }: ApiOperation, document: ApiDocument): ReferenceAnswer[] {
  return Object.entries(responses)
    .filter(([status]) => status !== '4XX')
    .map(([status, sent]) => {
      const answer =
        sent.$ref === undefined ? sent : (document.components.responses[lastOf(sent.$ref)] ?? sent)
      return {
        status: status === 'default' ? 'Any other status' : status,
        about: answer.description ?? '',
        ...(status !== '400' && { example: exampleOf(answer) }),
      }
    })
}

function exampleOf({ content }: ApiAnswer): string | undefined {
  const [first] = Object.values(content ?? {})
  return first?.example === undefined ? undefined : JSON.stringify(first.example, null, 2)
}

interface CurlRequest {
  readonly method: string
  readonly address: string
  /** True when the client's id and secret are needed. */
  readonly credentials: boolean
  /** True when a token is needed. */
  readonly token: boolean
  readonly body?: { readonly type: string; readonly examples: readonly unknown[] } | undefined
}

const BEARER = '-H "Authorization: Bearer $token"'
const FORM = 'application/x-www-form-urlencoded'

/** Lines for a POSIX shell, one for each example of the body; `$id`, `$secret` and `$token` are the reader's. */
function curlCommands({ method, address, credentials, token, body }: CurlRequest): string[] {
  const start = ['curl', '-sS', ...(credentials ? ['-u "$id:$secret"'] : []), ...(token ? [BEARER] : [])]
  if (!body) return [[...start, ...(method === 'GET' ? [] : ['-X', method]), quoted(address)].join(' ')]
  const data =
    body.type === FORM
      ? formData
      : (value: unknown) => [`-H 'Content-Type: ${body.type}'`, `-d ${json(value)}`]
  // curl takes POST for granted where there is a body.
  const verb = method === 'POST' ? [] : ['-X', method]
  return body.examples.map((value) => [...start, ...verb, ...data(value), quoted(address)].join(' '))
}

const formData = (value: unknown): string[] =>
  Object.entries(value as Record<string, string>).map(([name, text]) =>
    text.startsWith('ppt_') ? `-d "${name}=$token"` : `--data-urlencode ${quoted(`${name}=${text}`)}`,
  )

const json = (value: unknown) => singleQuoted(JSON.stringify(value))

/** Bare where a shell reads it as it is. */
const quoted = (text: string) => (/^[\w.:/=@-]+$/.test(text) ? text : singleQuoted(text))

const singleQuoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`
