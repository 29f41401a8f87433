import { type Html, type HtmlValue, html } from './html.ts'

export interface ReferencePage {
  readonly title: string
  readonly version: string
  readonly introduction: Html
  /** Where the description is for machines. */
  readonly openApiPath: string
  readonly groups: readonly {
    readonly name: string
    readonly about: string
    readonly operations: readonly ReferenceOperation[]
  }[]
}

export interface ReferenceOperation {
  /** Unique in the page. */
  readonly id: string
  readonly method: string
  readonly address: string
  readonly summary: string
  readonly description: Html
  /** Who may call, in words. */
  readonly access: string
  readonly fields: readonly ReferenceField[]
  /** Shell commands that work when they are pasted. */
  readonly commands: readonly string[]
  readonly answers: readonly ReferenceAnswer[]
}

export interface ReferenceField {
  readonly name: string
  /** Where it stands: `path`, `query`, `header` or `body`. */
  readonly place: string
  readonly type: string
  readonly required: boolean
  readonly about: string
}

export interface ReferenceAnswer {
  readonly status: string
  readonly about: string
  /** The body as text. */
  readonly example?: string | undefined
}

/** The body of `/docs`: every operation with its fields, a command to copy, and its answers. */
export function referencePage(page: ReferencePage): Html {
  return html`<h1>${page.title}</h1>
<p class="facts">Version ${page.version}. For machines: <a href="${page.openApiPath}" type="application/json">OpenAPI 3.1</a>.</p>
${page.introduction}
<p>In the commands, <code>$id</code> and <code>$secret</code> are those that you got when you registered, and <code>$token</code> is the <code>access_token</code> that <code>POST /oauth/token</code> gave you for them: <a href="/#agents">how to begin</a>. Those that need <code>contact:write</code> are refused with such a token: theirs is one that you got after a person confirmed you, as <a href="/auth.md">auth.md</a> says.</p>
<nav aria-labelledby="operations">
<h2 id="operations">Operations</h2>
<ul>
${page.groups.flatMap(({ operations }) => operations.map(({ id, summary }) => html`<li><a href="#${id}">${summary}</a></li>\n`))}</ul>
</nav>
${page.groups.map(
  ({ name, about, operations }) => html`<section class="reference">
<h2>${name}</h2>
<p>${about}</p>
${operations.map(operationPart)}
</section>\n`,
)}`
}

const operationPart = (
  operation: ReferenceOperation,
) => html`<h3 id="${operation.id}">${operation.summary}</h3>
<pre><code>${operation.method} ${operation.address}</code></pre>
${operation.description}
<p><strong>Who may call:</strong> ${operation.access}</p>
${operation.fields.length > 0 && html`<h4>What you send</h4>\n<dl>\n${operation.fields.map(fieldPart)}</dl>`}
<h4>Try it</h4>
${operation.commands.map((command) => html`<pre><code class="command">${command}</code></pre>\n`)}
<h4>What comes back</h4>
${operation.answers.map(answerPart)}
`

const fieldPart = ({ name, place, type, required, about }: ReferenceField) =>
  html`<dt><code>${name}</code> <span class="facts">${place}, ${type}, ${required ? 'required' : 'optional'}</span></dt>
<dd>${about}</dd>\n`

const answerPart = ({ status, about, example }: ReferenceAnswer) =>
  html`<p><strong>${status}</strong>: ${about}</p>\n${example !== undefined && html`<pre><code>${example}</code></pre>\n`}`

interface ProblemPage {
  /** The site root, without a slash at its end. */
  readonly origin: string
  /** Kebab-case, as in the member `code` of the answer. */
  readonly code: string
  readonly title: string
  /** The HTTP status. */
  readonly status: number
  readonly meaning: HtmlValue
  readonly remedy: HtmlValue
}

/** The body of `/problems/{code}`, the page that the `type` of a problem names (RFC 9457 §3.1.1). */
export function problemPage({ origin, code, title, status, meaning, remedy }: ProblemPage): Html {
  return html`<article>
<p class="facts">Error <code>${code}</code>, HTTP status ${status}</p>
<h1>${title}</h1>
<h2>What it means</h2>
<p>${meaning}</p>
<h2>What to do next</h2>
<p>${remedy}</p>
<section class="machines" aria-labelledby="machines">
<h2 id="machines">For machines</h2>
<p>An answer with this error names this page as its <code>type</code>:</p>
<pre><code>${origin}/problems/${code}</code></pre>
</section>
</article>`
}
