import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Html, html, markupOf } from './html.ts'
import { CARD_IMAGE, ICON_URL } from './images.ts'
import {
  breadcrumbs,
  type LanguageLink,
  type PageLink,
  type Place,
  siteFooter,
  siteHeader,
  skipLink,
} from './site-frame.ts'

const body = ['base', 'frame', 'leave', 'parts', 'guide', 'forms', 'docs', 'media']
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
  /** What the window, the history and shared links say instead of the title, where that says too much of the reader. */
  readonly neutralTitle?: string | undefined
  readonly description?: string
  /** BCP 47; `en` unless given. */
  readonly lang?: string
  /** The direction of the text; `ltr` unless given. */
  readonly dir?: 'ltr' | 'rtl'
  /** The place in the navigation that the page is, or is under. */
  readonly place?: Place
  /** The pages between the home page and this one, outermost first. Without them no breadcrumbs are shown. */
  readonly under?: readonly PageLink[]
  /** What stands under the header: the link that leaves the page at once. */
  readonly leave?: Html
  /** The same page in another language, for the header; Spanish help unless given. */
  readonly otherLanguage?: LanguageLink
  /** What was searched for, for the search field of the header. */
  readonly search?: string
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

/** The colours of the paper, for the bars of browsers. */
const THEME_COLOURS = { light: '#fbf8f1', dark: '#1a1815' } as const

/** The whole document: no inline script or style, nothing from another origin. */
export function renderPage(page: Page): string {
  const { title, neutralTitle = title, description, lang = 'en', dir = 'ltr', origin, path, under } = page
  const address = `${origin}${path}`
  const frame = { ...page, lang, address: page.noindex ? origin : address }
  return markupOf(html`<!doctype html>
<html lang="${lang}" dir="${dir}">
<head>
<meta charset="utf-8">
<title>${path === '/' ? title : `${neutralTitle} – Plainpath`}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="${THEME_COLOURS.light}" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="${THEME_COLOURS.dark}" media="(prefers-color-scheme: dark)">
${description !== undefined && html`<meta name="description" content="${description}">`}
${page.noindex ? html`<meta name="robots" content="noindex">` : sharedAs({ title: neutralTitle, description, origin, address })}
${page.otherLanguage && html`<link rel="alternate" hreflang="${page.otherLanguage.lang}" href="${origin}${page.otherLanguage.href}">`}
<link rel="icon" href="${ICON_URL}">
<link rel="stylesheet" href="${STYLESHEET.path}">
</head>
<body>
${skipLink(frame)}
${siteHeader(frame)}
${page.leave}
${under && breadcrumbs(under, { lang, title })}
<main id="main" tabindex="-1">
${page.body}
</main>
${siteFooter(frame)}
</body>
</html>
`)
}

/** The address of a page that may be found, and how a message that links it shows it (Open Graph). */
const sharedAs = (page: {
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
