import { GuideList } from '@plainpath/domain'
import { defineRoute, prepareOnce, type Route } from '@plainpath/http'
import { OPERATIONS, openApiDescription, type ServiceUrls } from '@plainpath/metadata'
import { DOCS_HEADERS, DOCS_SCRIPT, type Html, html, scriptElement } from '@plainpath/pages'
import type { GuideCatalog } from '../guides/guide-catalog.ts'
import type { GuideLister } from '../guides/guide-listing.ts'
import { CLIENT_EXAMPLES } from './client-examples.ts'
import { type GuidePagesDeps, PUBLIC_PAGE, preparePage } from './page.ts'
import {
  type ApiDocument,
  type ApiOperation,
  type ApiSchema,
  type LocatedOperation,
  locatedOperations,
  scopesOf,
} from './reference-document.ts'
import { anonymousRead, curlCommands } from './reference-examples.ts'
import { renderInline, renderMarkdown } from './render-markdown.ts'

/** What the first command searches for. */
const FIRST_SEARCH = 'lost green card'

/** The API reference, made from the very description at `/openapi.json`. */
export function referenceRoute({
  guides,
  lister,
  urls,
}: GuidePagesDeps & { lister: Pick<GuideLister, 'search'> }): Route {
  const asPage = prepareOnce<GuideCatalog>((catalog) => {
    const document = JSON.parse(JSON.stringify(openApiDescription(urls))) as ApiDocument
    const body = referencePage(document, urls, {
      slug: catalog.list().guides[0]?.slug ?? 'work-permit',
      found: GuideList.parse({ guides: lister.search(catalog, FIRST_SEARCH, 1), next: null }),
    })
    return preparePage(urls, { path: '/docs', title: 'API reference', place: 'developers', body })
  })
  return defineRoute({
    ...PUBLIC_PAGE,
    path: '/docs',
    operationId: 'referencePage',
    summary: 'The API reference',
    handle: () => ({ status: 200, headers: DOCS_HEADERS, prepared: asPage(guides.current()) }),
  })
}

/**
 * Every operation with its fields, a command to copy, and its responses.
 *
 * @param examples.slug of a published guide
 * @param examples.found the response to a search for `FIRST_SEARCH` with the limit 1
 */
function referencePage(
  document: ApiDocument,
  urls: ServiceUrls,
  { slug: exampleSlug, found }: { slug: string; found: unknown },
): Html {
  const { title, version, description } = document.info
  const query = new URLSearchParams({ q: FIRST_SEARCH, limit: '1' }).toString()
  const firstAddress = `${urls.base}/guides?${query}`
  const operations = locatedOperations(document)
  const groups = document.tags.map((tag) => ({
    ...tag,
    operations: operations.filter(({ operation }) => operation.tags.includes(tag.name)),
  }))
  const shown = (located: LocatedOperation) => operationPart(located, document, urls, exampleSlug)
  return html`<div class="docs">
<h1>${title}</h1>
<p class="facts">Version ${version}. For machines: <a href="/openapi.json" type="application/json">OpenAPI 3.1</a>. <a href="#operations">All operations</a></p>
<p>A first command, which needs no token:</p>
<pre><code class="command"><span>curl -sS</span> <span>'${firstAddress}'</span></code></pre>
<p>Its response:</p>
<pre id="first-response"><code>${JSON.stringify(found, null, 2)}</code></pre>
${renderMarkdown(withOwnLinks(description, urls))}
<p>In the commands, <code>$id</code> and <code>$secret</code> are those that you got when you registered, and <code>$token</code> is the <code>access_token</code> that you got with them: <a href="/#agents">how to begin</a>. Commands that need <code>contact:write</code> fail with this token. They need the one that you get after a person confirms you: <a href="/auth/verified-email.md">verified e-mail</a>.</p>
<p>The lines that begin with <code>await plainpath</code> do the same in JavaScript and TypeScript, with the client in <code>packages/client</code> of our source code: <code>const plainpath = new Plainpath('${urls.origin}')</code>. It gets and renews tokens by itself. The client is not on npm: do not install a package named <code>@plainpath/client</code> from there.</p>
<p>The same functions are tools of the Model Context Protocol at <code>${urls.mcp}</code>: <a href="/mcp.md">how an agent connects</a>. For people in chat apps there are other addresses, ${urls.publicMcp !== undefined && html`<code>${urls.publicMcp}</code> without sign-in, and `}<code>${urls.signedInMcp}</code> with sign-in: <a href="/connect">how a person connects</a>.</p>
<nav class="side" aria-labelledby="operations">
<h2 id="operations">Operations</h2>
${groups.map(
  (group) => html`<h3>${group.name}</h3>
<ul>
${group.operations.map((located) => html`<li><a href="#${located.operation.operationId}"><code>${located.method} ${pathOf(located)}</code> ${located.operation.summary}</a></li>\n`)}</ul>
`,
)}</nav>
${groups.map(
  (group) => html`<section class="reference">
<h2>${group.name}</h2>
<p>${renderInline(group.description)}</p>
${group.operations.map(shown)}
</section>\n`,
)}</div>
${scriptElement(DOCS_SCRIPT)}`
}

/** Makes links of the addresses of our own documents, which a program reads whole. */
const withOwnLinks = (text: string, { origin }: ServiceUrls): string =>
  text.replaceAll(/(?<!`)(https?:\/\/[^\s/]+)(\/[\w./-]*\w)/g, (address, at: string, path: string) =>
    at === origin ? `[${path}](${path})` : address,
  )

const pathOf = ({ address }: LocatedOperation) => address.replace(/^https?:\/\/[^/]+/, '')

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
${renderMarkdown(withOwnLinks(operation.description, urls))}
<p><strong>Who may call:</strong> ${accessOf(operation)}</p>
${fields.length > 0 && html`<h4>What you send</h4>\n<dl>\n${fields}</dl>`}
<h4>Try it</h4>
${curlCommands(located, exampleSlug).map((parts) => html`<pre><code class="command">${parts.map((part, index) => html`${index > 0 && ' '}<span>${part}</span>`)}</code></pre>\n`)}
${clientPart(operation)}${tryPart(located, exampleSlug)}<h4>What comes back</h4>
${responseParts(operation, document, urls)}
`
}

function clientPart({ operationId }: ApiOperation): Html {
  const example = (CLIENT_EXAMPLES as Readonly<Record<string, string>>)[operationId]
  return html`${example !== undefined && html`<pre><code class="client">${example}</code></pre>\n`}`
}

/** A form that sends a request that anybody may send. Without scripts the browser opens the answer. */
function tryPart(located: LocatedOperation, exampleSlug: string): Html | false {
  const read = anonymousRead(located, exampleSlug)
  const { operationId } = located.operation
  return (
    read !== undefined &&
    html`<form class="form try" action="${read.path}" method="get">
${Object.entries(read.query).map(([name, value]) => html`<label for="${`try-${operationId}-${name}`}"><code>${name}</code></label>\n<input id="${`try-${operationId}-${name}`}" name="${name}" type="text" autocomplete="off" value="${value}">\n`)}<button type="submit">Send GET ${read.path}</button>
</form>
`
  )
}

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
<dd>${renderInline(field.description ?? '')}</dd>\n`

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
      return html`<p><strong>${status === 'default' ? 'Any other status' : status}</strong>: ${renderInline(description ?? '')}</p>\n${example !== undefined && html`<pre><code>${JSON.stringify(example, null, 2)}</code></pre>\n`}`
    })

/** An example that the API description leaves out. */
const exampleOf = (id: string, status: string, urls: ServiceUrls): unknown =>
  OPERATIONS.find(({ operationId }) => operationId === id)?.outcomes[Number(status)]?.example?.(urls)
