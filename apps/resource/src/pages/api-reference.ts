import type { ReferenceAnswer, ReferenceField, ReferenceOperation, ReferencePage } from '@plainpath/pages'
import type { ApiAnswer, ApiDocument, ApiOperation, ApiSchema } from './api-document.ts'
import { curlCommands } from './curl-commands.ts'
import { renderMarkdown } from './render-markdown.ts'

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
      ...{ name, place, required, type: typeOf(schema) },
      about: description ?? '',
    })),
    ...Object.entries(body?.properties ?? {}).map(([name, schema]) => ({
      ...{ name, place: 'body', type: typeOf(schema), required: body?.required?.includes(name) ?? false },
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
