import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Html, html, toMarkup } from './html.ts'
import { CARD_IMAGE, ICON_URL } from './images.ts'
import {
  type LanguageLink,
  type NavigationEntry,
  type PageLink,
  renderBreadcrumbs,
  renderSiteFooter,
  renderSiteHeader,
  renderSkipLink,
} from './site-frame.ts'

const stylesheet = ['base', 'frame', 'leave', 'parts', 'guide', 'forms', 'docs', 'media']
  .map((name) => readFileSync(new URL(`./styles/${name}.css`, import.meta.url), 'utf8'))
  .join('\n')
  // Removes comments to make the download smaller.
  .replaceAll(/\/\*.*?\*\/\s*/gs, '')
const stylesheetHash = createHash('sha256').update(stylesheet).digest('hex').slice(0, 16)

/** The stylesheet of all pages. Its path contains a hash of its bytes (64 bits of SHA-256), so it may be cached forever. */
export const STYLESHEET = Object.freeze({
  path: `/assets/plainpath-${stylesheetHash}.css`,
  contentType: 'text/css; charset=utf-8',
  body: stylesheet,
})

export interface Page {
  readonly title: string
  /** Replaces `title` in the browser tab, the history and link previews, on pages whose title would reveal too much about the reader. */
  readonly neutralTitle?: string | undefined
  readonly description?: string
  /** A BCP 47 tag; by default `en`. */
  readonly lang?: string
  /** The direction of the text; by default `ltr`. */
  readonly dir?: 'ltr' | 'rtl'
  /** The navigation entry to which the page belongs. */
  readonly navigationEntry?: NavigationEntry
  /** The pages between the home page and this one, outermost first. Without them, the page shows no breadcrumbs. */
  readonly breadcrumbs?: readonly PageLink[]
  /** The quick exit under the header. */
  readonly quickExit?: Html
  /** The link in the header to the page in another language; by default, the Spanish help page. */
  readonly otherLanguage?: LanguageLink
  /** The search terms, for the search field of the header. */
  readonly search?: string
  /** The origin of the site, such as `https://plainpath.example`. */
  readonly origin: string
  /** The path without query and fragment, which may contain a secret. */
  readonly path: string
  readonly body: Html
  /**
   * True to keep the page out of search engines and link previews. Then its path is not shown on paper either, because it may contain
   * anything.
   */
  readonly noindex?: boolean
}

/**
 * The content security policy of a page without scripts. Pages with a script append `script-src`. `img-src data:` allows the icon,
 * which is part of the page: without an icon, browsers would request `/favicon.ico`.
 */
export const PAGE_CSP = [
  "default-src 'none'",
  "style-src 'self'",
  'img-src data:',
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The background colours of the stylesheet, for browser toolbars. */
const THEME_COLOURS = { light: '#fbf8f1', dark: '#1a1815' } as const

/**
 * Renders a page as a complete HTML document, without inline scripts or styles and without resources from other origins, unless
 * `page.body` contains some.
 */
export function renderPage(page: Page): string {
  const {
    title,
    neutralTitle = title,
    description,
    lang = 'en',
    dir = 'ltr',
    origin,
    path,
    breadcrumbs,
  } = page
  const address = `${origin}${path}`
  const frame = { ...page, lang, address: page.noindex ? origin : address }
  return toMarkup(html`<!doctype html>
<html lang="${lang}" dir="${dir}">
<head>
<meta charset="utf-8">
<title>${path === '/' ? title : `${neutralTitle} – Plainpath`}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="${THEME_COLOURS.light}" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="${THEME_COLOURS.dark}" media="(prefers-color-scheme: dark)">
${description !== undefined && html`<meta name="description" content="${description}">`}
${page.noindex ? html`<meta name="robots" content="noindex">` : renderCanonicalAndPreviewTags({ title: neutralTitle, description, origin, address })}
${page.otherLanguage && html`<link rel="alternate" hreflang="${page.otherLanguage.lang}" href="${origin}${page.otherLanguage.href}">`}
<link rel="icon" href="${ICON_URL}">
<link rel="stylesheet" href="${STYLESHEET.path}">
</head>
${page.quickExit ? html`<body class="has-exit">` : html`<body>`}
${renderSkipLink(frame)}
${renderSiteHeader(frame)}
${page.quickExit}
${breadcrumbs && renderBreadcrumbs(breadcrumbs, { lang, title })}
<main id="main" tabindex="-1">
${page.body}
</main>
${renderSiteFooter(frame)}
</body>
</html>
`)
}

/** Renders the canonical address for search engines, and the link preview for chats and social networks (Open Graph). */
const renderCanonicalAndPreviewTags = (page: {
  title: string
  description: string | undefined
  origin: string
  address: string
}): Html => html`<link rel="canonical" href="${page.address}">
<meta property="og:site_name" content="Plainpath">
<meta property="og:type" content="website">
<meta property="og:title" content="${page.title}">
<meta property="og:url" content="${page.address}">
<meta property="og:image" content="${page.origin}${CARD_IMAGE.path}">
${page.description !== undefined && html`<meta property="og:description" content="${page.description}">`}`
