import { defineRoute, prepareOnce, type Route } from '@plainpath/http'
import { OPERATIONS, openApiDescription, type ServiceUrls } from '@plainpath/metadata'
import { type Html, html } from '@plainpath/pages'
import type { GuideCatalog } from '../guides/guide-catalog.ts'
import { CLIENT_EXAMPLES } from './client-examples.ts'
import { type GuidePagesDeps, PUBLIC_PAGE, preparePage } from './page.ts'
import { renderMarkdown } from './render-markdown.ts'

/** The API reference, made from the very description at `/openapi.json`. */
export function referenceRoute({ guides, urls }: GuidePagesDeps): Route {
  const asPage = prepareOnce<GuideCatalog>((catalog) => {
    const document = JSON.parse(JSON.stringify(openApiDescription(urls))) as ApiDocument
    const body = referencePage(document, urls, catalog.list().guides[0]?.slug ?? 'work-permit')
    return preparePage(urls, { path: '/docs', title: 'API reference', body })
  })
  return defineRoute({
    ...PUBLIC_PAGE,
    path: '/docs',
    operationId: 'referencePage',
    summary: 'The API reference',
    handle: () => ({ status: 200, prepared: asPage(guides.current()) }),
  })
}

/** The parts of our own OpenAPI document that the reference shows. */
interface ApiDocument {
  info: { title: string; version: string; description: string }
  servers: [{ url: string }]
  tags: { name: string; description: string }[]
  paths: Record<string, { servers?: [{ url: string }] } & { [method in Method]?: ApiOperation }>
  components: { schemas: Record<string, ApiSchema>; responses: Record<string, ApiResponse> }
}
const METHODS = ['get', 'post', 'put', 'delete'] as const
type Method = (typeof METHODS)[number]

interface ApiOperation {
  operationId: string
  tags: [string]
  summary: string
  description: string
  security: Record<string, string[]>[]
  parameters?: { in: string; name: string; required?: boolean; description?: string; schema: ApiSchema }[]
  requestBody?: { content: Content }
  responses: Record<string, ApiResponse>
}
interface ApiResponse {
  $ref?: string
  description?: string
  content?: Content
}
type Content = Record<
  string,
  { schema: ApiSchema; example?: unknown; examples?: Record<string, { value: unknown }> }
>
interface ApiSchema {
  $ref?: string
  type?: string | string[]
  const?: unknown
  format?: string
  description?: string
  items?: ApiSchema
  anyOf?: ApiSchema[]
  properties?: Record<string, ApiSchema>
  required?: string[]
}

interface LocatedOperation {
  readonly operation: ApiOperation
  readonly method: string
  /** Absolute; parameters stand as `{slug}`. */
  readonly address: string
}

const locatedOperations = ({ paths, servers }: ApiDocument): LocatedOperation[] =>
  Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method]
      const address = `${(item.servers ?? servers)[0].url}${path}`
      return operation ? { operation, method: method.toUpperCase(), address } : []
    }),
  )

/** Every operation with its fields, a command to copy, and its responses. @param exampleSlug a published guide */
function referencePage(document: ApiDocument, urls: ServiceUrls, exampleSlug: string): Html {
  const { title, version, description } = document.info
  const operations = locatedOperations(document)
  const groups = document.tags.map((tag) => ({
    ...tag,
    operations: operations.filter(({ operation }) => operation.tags.includes(tag.name)),
  }))
  const shown = (located: LocatedOperation) => operationPart(located, document, urls, exampleSlug)
  return html`<h1>${title}</h1>
<p class="facts">Version ${version}. For machines: <a href="/openapi.json" type="application/json">OpenAPI 3.1</a>.</p>
${renderMarkdown(description)}
<p>In the commands, <code>$id</code> and <code>$secret</code> are those that you got when you registered, and <code>$token</code> is the <code>access_token</code> that you got with them: <a href="/#agents">how to begin</a>. Commands that need <code>contact:write</code> fail with this token. They need the one that you get after a person confirms you: <a href="/auth/verified-email.md">verified e-mail</a>.</p>
<p>The lines that begin with <code>await plainpath</code> do the same in JavaScript and TypeScript, with the client in <code>packages/client</code> of our source code: <code>const plainpath = new Plainpath('${urls.origin}')</code>. It gets and renews tokens by itself. The client is not on npm: do not install a package named <code>@plainpath/client</code> from there.</p>
<nav aria-labelledby="operations">
<h2 id="operations">Operations</h2>
<ul>
${groups.flatMap((group) => group.operations.map(({ operation: { operationId, summary } }) => html`<li><a href="#${operationId}">${summary}</a></li>\n`))}</ul>
</nav>
${groups.map(
  (group) => html`<section class="reference">
<h2>${group.name}</h2>
<p>${group.description}</p>
${group.operations.map(shown)}
</section>\n`,
)}`
}

function operationPart(
  located: LocatedOperation,
  document: ApiDocument,
  urls: ServiceUrls,
  exampleSlug: string,
): Html {
  const { operation, method, address } = located
  const fields = fieldParts(operation, document)
  return html`<h3 id="${operation.operationId}">${operation.summary}</h3>
<pre><code>${method} ${address}</code></pre>
<p class="facts"><a href="/openapi.json?operation=${operation.operationId}" type="application/json">OpenAPI of <code>${operation.operationId}</code></a></p>
${renderMarkdown(operation.description)}
<p><strong>Who may call:</strong> ${accessOf(operation)}</p>
${fields.length > 0 && html`<h4>What you send</h4>\n<dl>\n${fields}</dl>`}
<h4>Try it</h4>
${curlCommands(located, exampleSlug).map((command) => html`<pre><code class="command">${command}</code></pre>\n`)}
${clientPart(operation)}<h4>What comes back</h4>
${responseParts(operation, document, urls)}
`
}

function clientPart({ operationId }: ApiOperation): Html {
  const example = (CLIENT_EXAMPLES as Readonly<Record<string, string>>)[operationId]
  return html`${example !== undefined && html`<pre><code class="client">${example}</code></pre>\n`}`
}

const scopesOf = ({ security }: ApiOperation) => security.flatMap((scheme) => scheme['oauth2'] ?? [])

function accessOf(operation: ApiOperation): string {
  if (operation.security.length === 0) return 'anybody.'
  const scopes = scopesOf(operation)
  if (scopes.length > 0) return `an agent with a token that has ${scopes.join(', ')}.`
  return 'a registered agent, with its client_id and client_secret, or with an assertion that its key signed.'
}

function fieldParts({ parameters = [], requestBody }: ApiOperation, document: ApiDocument): Html[] {
  const [content] = Object.values(requestBody?.content ?? {})
  const body = content && resolved(content.schema, document.components.schemas)
  return [
    ...parameters.map(({ in: place, ...parameter }) => fieldPart({ place, ...parameter })),
    ...Object.entries(body?.properties ?? {}).map(([name, schema]) =>
      fieldPart({
        name,
        place: 'body',
        required: body?.required?.includes(name),
        description: schema.description,
        schema,
      }),
    ),
  ]
}

const fieldPart = (field: {
  name: string
  /** `path`, `query`, `header` or `body`. */
  place: string
  required?: boolean | undefined
  description?: string | undefined
  schema: ApiSchema
}) =>
  html`<dt><code>${field.name}</code> <span class="facts">${field.place}, ${typeOf(field.schema)}, ${field.required ? 'required' : 'optional'}</span></dt>
<dd>${field.description}</dd>\n`

const resolved = <T extends { $ref?: string }>(part: T, components: Record<string, T>): T =>
  part.$ref === undefined ? part : (components[lastOf(part.$ref)] ?? part)

const lastOf = (reference: string) => reference.split('/').at(-1) ?? ''

function typeOf(schema: ApiSchema): string {
  if (schema.$ref !== undefined) return lastOf(schema.$ref)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(' or ')
  if (schema.items) return `list of ${typeOf(schema.items)}`
  return schema.format ?? [schema.type ?? 'anything'].flat().join(' or ')
}

/** Each status that the operation names, then all other failures as one. */
const responseParts = (
  { operationId, responses }: ApiOperation,
  document: ApiDocument,
  urls: ServiceUrls,
): Html[] =>
  Object.entries(responses)
    .filter(([status]) => status !== '4XX')
    .map(([status, sent]) => {
      const { description, content = {} } = resolved(sent, document.components.responses)
      const example = Object.values(content)[0]?.example ?? exampleOf(operationId, status, urls)
      return html`<p><strong>${status === 'default' ? 'Any other status' : status}</strong>: ${description}</p>\n${example !== undefined && html`<pre><code>${JSON.stringify(example, null, 2)}</code></pre>\n`}`
    })

/** An example that the API description leaves out. */
const exampleOf = (id: string, status: string, urls: ServiceUrls): unknown =>
  OPERATIONS.find(({ operationId }) => operationId === id)?.outcomes[Number(status)]?.example?.(urls)

/** Stands for the id that an earlier response gave. */
const EXAMPLE_ID = '6f6c0f0e-6f2b-4d1c-9a5e-2a9d1f6f3b10'
const BEARER = '-H "Authorization: Bearer $token"'
const FORM = 'application/x-www-form-urlencoded'

/** Lines for a POSIX shell, one for each example of the body; `$id`, `$secret` and `$token` are the reader's. */
function curlCommands({ operation, method, address }: LocatedOperation, exampleSlug: string): string[] {
  const url = quoted(address.replace('{slug}', exampleSlug).replace('{id}', EXAMPLE_ID))
  const needsClient = operation.security.some((scheme) => 'client' in scheme)
  const needsToken = scopesOf(operation).length > 0
  const start = ['curl', '-sS', ...(needsClient ? ['-u "$id:$secret"'] : []), ...(needsToken ? [BEARER] : [])]
  const [body] = Object.entries(operation.requestBody?.content ?? {})
  // curl takes GET for granted, and POST where there is a body.
  const verb = method === (body ? 'POST' : 'GET') ? [] : ['-X', method]
  if (!body) return [[...start, ...verb, url].join(' ')]
  const [type, { examples = {} }] = body
  const data =
    type === FORM ? formData : (value: unknown) => [`-H 'Content-Type: ${type}'`, `-d ${json(value)}`]
  return Object.values(examples).map(({ value }) => [...start, ...verb, ...data(value), url].join(' '))
}

const formData = (value: unknown): string[] =>
  Object.entries(value as Record<string, string>).map(([name, text]) =>
    text.startsWith('ppt_') ? `-d "${name}=$token"` : `--data-urlencode ${quoted(`${name}=${text}`)}`,
  )

const json = (value: unknown) => singleQuoted(JSON.stringify(value))

/** Bare where a shell reads it as it is. */
const quoted = (text: string) => (/^[\w.:/=@-]+$/.test(text) ? text : singleQuoted(text))

const singleQuoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`
