import { GuideList } from '@plainpath/domain'
import { defineRoute, prepareOnce, type Route } from '@plainpath/http'
import { createOpenApiDescription, OPERATION_LIST, type ServiceUrls } from '@plainpath/metadata'
import {
  DOCS_HEADERS,
  DOCS_SCRIPT,
  type Html,
  html,
  keepTogether,
  renderScriptElement,
} from '@plainpath/pages'
import type { GuideCatalog } from '../guides/guide-catalog.ts'
import type { GuideLister } from '../guides/guide-listing.ts'
import { CLIENT_EXAMPLES } from './client-examples.ts'
import { type GuidePagesDeps, PUBLIC_PAGE, preparePage } from './page.ts'
import {
  type ApiDocument,
  type ApiOperation,
  type ApiSchema,
  type LocatedOperation,
  listOperations,
  listRequiredScopes,
} from './reference-document.ts'
import { findAnonymousRead, formatCurlCommands } from './reference-examples.ts'
import { renderInline, renderMarkdown } from './render-markdown.ts'

/** The search text in the command that the page shows first. */
const FIRST_SEARCH = 'lost green card'

/** Creates the route for the API reference, which is rendered from the description at `/openapi.json`. */
export function createReferenceRoute({
  guides,
  lister,
  urls,
}: GuidePagesDeps & { lister: Pick<GuideLister, 'search'> }): Route {
  const preparePageOnce = prepareOnce<GuideCatalog>((catalog) => {
    const document = JSON.parse(JSON.stringify(createOpenApiDescription(urls))) as ApiDocument
    const body = renderReferencePage(document, urls, {
      slug: catalog.list().guides[0]?.slug ?? 'work-permit',
      exampleResponse: GuideList.parse({ guides: lister.search(catalog, FIRST_SEARCH, 1), next: null }),
    })
    return preparePage(urls, { path: '/docs', title: 'API reference', navigationEntry: 'developers', body })
  })
  return defineRoute({
    ...PUBLIC_PAGE,
    path: '/docs',
    operationId: 'referencePage',
    summary: 'The API reference',
    handle: () => ({ status: 200, headers: DOCS_HEADERS, prepared: preparePageOnce(guides.current()) }),
  })
}

/**
 * Renders every operation with its fields, commands to copy, and responses.
 *
 * @param examples.slug the slug of a published guide, or `work-permit` if none is published
 * @param examples.exampleResponse the response to a search for `FIRST_SEARCH` with the limit 1
 */
function renderReferencePage(
  document: ApiDocument,
  urls: ServiceUrls,
  { slug: exampleSlug, exampleResponse }: { slug: string; exampleResponse: unknown },
): Html {
  const { title, version, description } = document.info
  const query = new URLSearchParams({ q: FIRST_SEARCH, limit: '1' }).toString()
  const firstUrl = `${urls.base}/guides?${query}`
  const operations = listOperations(document)
  const groups = document.tags.map((tag) => ({
    ...tag,
    operations: operations.filter(({ operation }) => operation.tags.includes(tag.name)),
  }))
  const renderListedOperation = (operation: LocatedOperation) =>
    renderOperation(operation, document, urls, exampleSlug)
  return html`<div class="docs">
<h1>${title}</h1>
<p class="facts">Version ${version}. Machine-readable: <a href="/openapi.json" type="application/json">OpenAPI 3.1</a>. <a href="#operations">All operations</a></p>
<p>Try this first. It needs no token:</p>
<pre><code class="command"><span>curl -sS</span> <span>'${firstUrl}'</span></code></pre>
<p>Its response:</p>
<pre id="first-response"><code>${JSON.stringify(exampleResponse, null, 2)}</code></pre>
${renderMarkdown(linkOwnDocuments(description, urls))}
<p>In the commands, <code>$id</code> and <code>$secret</code> come from your registration, and <code>$token</code> is the <code>access_token</code> that you requested with them: <a href="/#agents">how to begin</a>. Commands that need <code>contact:write</code> fail with this token. They need a token that is issued after a person confirms you: <a href="/auth/verified-email.md">verified e-mail</a>.</p>
<p>Lines that begin with <code>await plainpath</code> show the same call in JavaScript and TypeScript, with the client in <code>packages/client</code> of our source code: <code>const plainpath = new Plainpath('${urls.origin}')</code>. It gets and renews tokens by itself. The client is not on npm: do not install a package named <code>@plainpath/client</code> from there.</p>
<p>The same operations are MCP tools at <code>${urls.mcp}</code>: <a href="/mcp.md">how an agent connects</a>. People in chat apps use other addresses: ${urls.publicMcp !== undefined && html`<code>${urls.publicMcp}</code> without sign-in, and `}<code>${urls.signedInMcp}</code> with sign-in: <a href="/connect">how a person connects</a>.</p>
<nav class="side" aria-labelledby="operations">
<h2 id="operations">Operations</h2>
${groups.map(
  (group) => html`<h3>${group.name}</h3>
<ul>
${group.operations.map((located) => html`<li><a href="#${located.operation.operationId}"><code>${located.method} ${getPath(located)}</code> ${keepTogether(located.operation.summary)}</a></li>\n`)}</ul>
`,
)}</nav>
${groups.map(
  (group) => html`<section class="reference">
<h2>${group.name}</h2>
<p>${renderInline(group.description)}</p>
${group.operations.map(renderListedOperation)}
</section>\n`,
)}</div>
${renderScriptElement(DOCS_SCRIPT)}`
}

/** Turns plain URLs of our own documents into links, unless they are in backticks. */
const linkOwnDocuments = (text: string, { origin }: ServiceUrls): string =>
  text.replaceAll(
    /(?<!`)(https?:\/\/[^\s/]+)(\/[\w./-]*\w)/g,
    (address, linkedOrigin: string, path: string) =>
      linkedOrigin === origin ? `[${path}](${path})` : address,
  )

const getPath = ({ urlTemplate }: LocatedOperation) => urlTemplate.replace(/^https?:\/\/[^/]+/, '')

function renderOperation(
  locatedOperation: LocatedOperation,
  document: ApiDocument,
  urls: ServiceUrls,
  exampleSlug: string,
): Html {
  const { operation, method, urlTemplate } = locatedOperation
  const fields = renderFields(operation, document)
  return html`<h3 id="${operation.operationId}">${keepTogether(operation.summary)}</h3>
<pre><code>${method} ${urlTemplate}</code></pre>
<p class="facts"><a href="/openapi.json?operation=${operation.operationId}" type="application/json">OpenAPI of <code>${operation.operationId}</code></a></p>
${renderMarkdown(linkOwnDocuments(operation.description, urls))}
<p><strong>Who may call:</strong> ${describeAccess(operation)}</p>
${fields.length > 0 && html`<h4>Request</h4>\n<dl>\n${fields}</dl>`}
<h4>Try it</h4>
${formatCurlCommands(locatedOperation, exampleSlug).map((parts) => html`<pre><code class="command">${parts.map((part, index) => html`${index > 0 && ' '}<span>${part}</span>`)}</code></pre>\n`)}
${renderClientExample(operation)}${renderTryForm(locatedOperation, exampleSlug)}<h4>Responses</h4>
${renderResponses(operation, document, urls)}
`
}

function renderClientExample({ operationId }: ApiOperation): Html {
  const example = (CLIENT_EXAMPLES as Readonly<Record<string, string>>)[operationId]
  return html`${example !== undefined && html`<pre><code class="client">${example}</code></pre>\n`}`
}

/**
 * Renders a form that calls an operation. Without scripts, the browser opens the response. Returns false unless the operation is
 * a GET that needs no credentials.
 */
function renderTryForm(locatedOperation: LocatedOperation, exampleSlug: string): Html | false {
  const anonymousRead = findAnonymousRead(locatedOperation, exampleSlug)
  const { operationId } = locatedOperation.operation
  return (
    anonymousRead !== undefined &&
    html`<form class="form try" action="${anonymousRead.path}" method="get">
${Object.entries(anonymousRead.query).map(([name, value]) => html`<label for="${`try-${operationId}-${name}`}"><code>${name}</code></label>\n<input id="${`try-${operationId}-${name}`}" name="${name}" type="text" autocomplete="off" value="${value}">\n`)}<button type="submit">Send GET ${anonymousRead.path}</button>
</form>
`
  )
}

function describeAccess(operation: ApiOperation): string {
  if (operation.security.length === 0) return 'anyone.'
  const scopes = listRequiredScopes(operation)
  if (scopes.length > 0) return `an agent with a token that has ${scopes.join(', ')}.`
  return 'a registered agent, with its client_id and client_secret, or with a JWT assertion signed with its key.'
}

function renderFields({ parameters = [], requestBody }: ApiOperation, document: ApiDocument): Html[] {
  const [content] = Object.values(requestBody?.content ?? {})
  const body = content && resolveReference(content.schema, document.components.schemas)
  return [
    ...parameters.map(({ in: place, ...parameter }) => renderField({ place, ...parameter })),
    ...Object.entries(body?.properties ?? {}).map(([name, schema]) =>
      renderField({
        name,
        place: 'body',
        required: body?.required?.includes(name),
        description: schema.description,
        schema,
      }),
    ),
  ]
}

const renderField = (field: {
  name: string
  /** `path`, `query`, `header` or `body`. */
  place: string
  required?: boolean | undefined
  description?: string | undefined
  schema: ApiSchema
}) =>
  html`<dt><code>${field.name}</code> <span class="facts">${field.place}, ${describeType(field.schema)}, ${field.required ? 'required' : 'optional'}</span></dt>
<dd>${renderInline(field.description ?? '')}</dd>\n`

const resolveReference = <T extends { $ref?: string }>(part: T, components: Record<string, T>): T =>
  part.$ref === undefined ? part : (components[parseReferenceName(part.$ref)] ?? part)

const parseReferenceName = (reference: string) => reference.split('/').at(-1) ?? ''

function describeType(schema: ApiSchema): string {
  if (schema.$ref !== undefined) return parseReferenceName(schema.$ref)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.anyOf) return [...new Set(schema.anyOf.map(describeType))].join(' or ')
  if (schema.items) return `list of ${describeType(schema.items)}`
  return schema.format ?? [schema.type ?? 'anything'].flat().join(' or ')
}

/** Renders each response of an operation. `default` stands for all other failures, so `4XX` is left out. */
const renderResponses = (
  { operationId, responses }: ApiOperation,
  document: ApiDocument,
  urls: ServiceUrls,
): Html[] =>
  Object.entries(responses)
    .filter(([status]) => status !== '4XX')
    .map(([status, response]) => {
      const { description, content = {} } = resolveReference(response, document.components.responses)
      const example = Object.values(content)[0]?.example ?? findExample(operationId, status, urls)
      return html`<p><strong>${status === 'default' ? 'Any other status' : status}</strong>: ${renderInline(description ?? '')}</p>\n${example !== undefined && html`<pre><code>${JSON.stringify(example, null, 2)}</code></pre>\n`}`
    })

/** Finds an example that the OpenAPI description leaves out. */
const findExample = (id: string, status: string, urls: ServiceUrls): unknown =>
  OPERATION_LIST.find(({ operationId }) => operationId === id)?.responseDocs[Number(status)]?.example?.(urls)
