import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Html, html, markupOf } from './html.ts'

const body = ['base', 'parts', 'media']
  .map((name) => readFileSync(new URL(`./styles/${name}.css`, import.meta.url), 'utf8'))
  .join('\n')
const hash = createHash('sha256').update(body).digest('hex').slice(0, 16)

/** The one stylesheet of all pages. Its path names its bytes (64 bits of their SHA-256), so it may be cached for good. */
export const STYLESHEET = Object.freeze({
  path: `/assets/plainpath-${hash}.css`,
  contentType: 'text/css; charset=utf-8',
  body,
})

export interface Page {
  readonly title: string
  readonly description?: string
  /** BCP 47; `en` unless given. */
  readonly lang?: string
  /** The site root, without a slash at its end. */
  readonly origin: string
  /** Without query and fragment, which may hold a secret. */
  readonly path: string
  readonly body: Html
  readonly noindex?: boolean
}

/** `img-src data:` is for the icon, which is a part of the page; without it browsers ask for `/favicon.ico`. */
export const PAGE_CSP = [
  "default-src 'none'",
  "style-src 'self'",
  'img-src data:',
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

const ICON =
  'data:image/svg+xml,' +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="#0f4a33"/>' +
      '<path d="M9 27c0-9 14-7 14-13 0-5-9-4-9-9" fill="none" stroke="#fbf8f1" stroke-width="4"/></svg>',
  )

/** The whole document: no script, no inline style, nothing from another origin. */
export function renderPage(page: Page): string {
  const home = page.path === '/'
  return markupOf(html`<!doctype html>
<html lang="${page.lang ?? 'en'}">
<head>
<meta charset="utf-8">
<title>${home ? page.title : `${page.title} – Plainpath`}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${page.description && html`<meta name="description" content="${page.description}">`}
${page.noindex ? html`<meta name="robots" content="noindex">` : html`<link rel="canonical" href="${page.origin}${page.path}">`}
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="${STYLESHEET.path}">
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<header class="site">
<a class="name" href="/">Plainpath</a>
<p>Immigration information in plain English</p>
</header>
<main id="main" tabindex="-1">
${page.body}
</main>
<footer class="site">
<p>Plainpath is not a law firm and not the government. It gives information, not legal advice.</p>
<nav aria-label="About this site">
<ul>
<li><a href="/ask">Ask a question</a></li>
<li><a href="/privacy">Privacy</a></li>
<li><a href="/terms">Terms</a></li>
<li><a href="/changelog">Changelog</a></li>
<li><a href="/docs">API reference</a></li>
</ul>
</nav>
</footer>
</body>
</html>
`)
}
