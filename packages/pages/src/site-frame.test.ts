import { describe, expect, test } from 'vitest'
import { html, type Page, renderPage } from './index.ts'

const page: Page = {
  title: 'Renew',
  origin: 'https://plainpath.example',
  path: '/guides/renew',
  body: html`<h1>Renew</h1>`,
}
const renderWith = (overrides: Partial<Page> = {}) => renderPage({ ...page, ...overrides })
const cutHeader = (markup: string) => markup.slice(markup.indexOf('<header'), markup.indexOf('</header>'))

describe('the frame of a page', () => {
  test('has these links and a search form in its header', () => {
    const links = [...cutHeader(renderWith()).matchAll(/href="([^"]*)"/g)].map(([, href]) => href)
    expect(links).toEqual(['/', '/es/obtener-ayuda', '/guides', '/ask', '/get-help', '/docs'])
    expect(cutHeader(renderWith())).toContain(
      'lang="es" hreflang="es">Ayuda<span class="wide"> en español</span></a>',
    )
    expect(cutHeader(renderWith())).toContain('action="/search" method="get"')
  })

  test('marks only the navigation link of the page itself, or of the part of the site to which it belongs', () => {
    expect(renderWith()).not.toContain('aria-current')
    expect(renderWith({ navigationEntry: 'guides' })).toContain(
      '<a href="/guides" aria-current="true">Guides</a>',
    )
    const list = renderWith({ navigationEntry: 'guides', path: '/guides' })
    expect(list).toContain('<a href="/guides" aria-current="page">Guides</a>')
    expect(list.match(/aria-current/g)).toHaveLength(1)
  })

  test('has breadcrumbs only if the page specifies them', () => {
    const breadcrumbs = [{ href: '/guides', text: 'Guides' }]
    expect(renderWith({ breadcrumbs })).toMatch(
      /<ol>\s*<li><a href="\/">Home<\/a><\/li>\s*<li><a href="\/guides">Guides<\/a><\/li>\s*<li><span aria-current="page">Renew<\/span>/,
    )
    expect(renderWith()).not.toContain('class="crumbs"')
  })

  test('has the quick exit between the header and the main part', () => {
    const markup = renderWith({ quickExit: html`<p id="leave"></p>` })
    const indexes = ['</header>', '<p id="leave">', '<main'].map((part) => markup.indexOf(part))
    expect(indexes).toEqual(indexes.toSorted((a, b) => a - b))
    expect(indexes).not.toContain(-1)
  })

  test('keeps the search terms in the search field, escaped', () => {
    expect(renderWith({ search: '"><b>' })).toContain('value="&quot;&gt;&lt;b&gt;"')
  })

  test('is in Spanish around a Spanish page, and links to the page in the other language', () => {
    const otherLanguage = { lang: 'en', href: '/get-help', text: 'Help in English' }
    const markup = renderWith({
      lang: 'es',
      path: '/es/obtener-ayuda',
      navigationEntry: 'help',
      otherLanguage,
    })
    expect(markup).toContain('<header class="site" lang="es" dir="ltr">')
    expect(markup).toContain('<a href="/es/obtener-ayuda" aria-current="page">Ayuda</a>')
    expect(markup).toContain('<a href="/guides">Guías <small>(en inglés)</small></a>')
    expect(markup).toContain('<a href="/ask">Preguntar <small>(en inglés)</small></a>')
    expect(markup).toContain('placeholder="Buscar en inglés"')
    expect(markup).toContain('lang="en" hreflang="en">Help<span class="wide"> in English</span></a>')
    expect(markup).toContain('<link rel="alternate" hreflang="en" href="https://plainpath.example/get-help">')
    expect(markup).not.toContain('Skip to the text')
  })

  test('is in English, and marked as such, around a page in a third language', () => {
    const markup = renderWith({ lang: 'ar', dir: 'rtl' })
    expect(markup).toContain('<html lang="ar" dir="rtl">')
    expect(markup).toContain('<header class="site" lang="en" dir="ltr">')
    expect(markup).toContain('<footer class="site" lang="en" dir="ltr">')
  })

  test('has tags for link previews, except on a page marked noindex', () => {
    expect(renderWith()).toContain('<meta property="og:title" content="Renew">')
    expect(renderWith()).toMatch(
      /og:image" content="https:\/\/plainpath\.example\/assets\/plainpath-card-[0-9a-f]{16}\.png"/,
    )
    expect(renderWith({ noindex: true })).not.toContain('og:')
  })
})
