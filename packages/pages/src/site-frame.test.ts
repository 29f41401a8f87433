import { describe, expect, test } from 'vitest'
import { html, type Page, renderPage } from './index.ts'

const page: Page = {
  title: 'Renew',
  origin: 'https://plainpath.example',
  path: '/guides/renew',
  body: html`<h1>Renew</h1>`,
}
const rendered = (change: Partial<Page> = {}) => renderPage({ ...page, ...change })
const header = (markup: string) => markup.slice(markup.indexOf('<header'), markup.indexOf('</header>'))

describe('the frame of a page', () => {
  test('leads to the same places from every page, and to Spanish help', () => {
    const links = [...header(rendered()).matchAll(/href="([^"]*)"/g)].map(([, href]) => href)
    expect(links).toEqual(['/', '/es/obtener-ayuda', '/guides', '/ask', '/get-help', '/docs'])
    expect(header(rendered())).toContain(
      'lang="es" hreflang="es">Ayuda<span class="wide"> en español</span></a>',
    )
    expect(header(rendered())).toContain('action="/search" method="get"')
  })

  test('marks the page, or the place that it is under, and nothing else', () => {
    expect(rendered()).not.toContain('aria-current')
    expect(rendered({ place: 'guides' })).toContain('<a href="/guides" aria-current="true">Guides</a>')
    const list = rendered({ place: 'guides', path: '/guides' })
    expect(list).toContain('<a href="/guides" aria-current="page">Guides</a>')
    expect(list.match(/aria-current/g)).toHaveLength(1)
  })

  test('shows the way down from the home page where a page names it', () => {
    const breadcrumbs = [{ href: '/guides', text: 'Guides' }]
    expect(rendered({ breadcrumbs })).toMatch(
      /<ol>\s*<li><a href="\/">Home<\/a><\/li>\s*<li><a href="\/guides">Guides<\/a><\/li>\s*<li><span aria-current="page">Renew<\/span>/,
    )
    expect(rendered()).not.toContain('class="crumbs"')
  })

  test('has what leaves the page between the header and the text', () => {
    const markup = rendered({ quickExit: html`<p id="leave"></p>` })
    const places = ['</header>', '<p id="leave">', '<main'].map((part) => markup.indexOf(part))
    expect(places).toEqual(places.toSorted((a, b) => a - b))
    expect(places).not.toContain(-1)
  })

  test('keeps what was searched for, as text', () => {
    expect(rendered({ search: '"><b>' })).toContain('value="&quot;&gt;&lt;b&gt;"')
  })

  test('is in Spanish around a Spanish page, and links its other language', () => {
    const otherLanguage = { lang: 'en', href: '/get-help', text: 'Help in English' }
    const markup = rendered({ lang: 'es', path: '/es/obtener-ayuda', place: 'help', otherLanguage })
    expect(markup).toContain('<header class="site" lang="es" dir="ltr">')
    expect(markup).toContain('<a href="/es/obtener-ayuda" aria-current="page">Ayuda</a>')
    expect(markup).toContain('<a href="/guides">Guías <small>(en inglés)</small></a>')
    expect(markup).toContain('<a href="/ask">Preguntar <small>(en inglés)</small></a>')
    expect(markup).toContain('placeholder="Buscar en inglés"')
    expect(markup).toContain('lang="en" hreflang="en">Help<span class="wide"> in English</span></a>')
    expect(markup).toContain('<link rel="alternate" hreflang="en" href="https://plainpath.example/get-help">')
    expect(markup).not.toContain('Skip to the text')
  })

  test('is in English, and says so, around a page in a language that it does not have', () => {
    const markup = rendered({ lang: 'ar', dir: 'rtl' })
    expect(markup).toContain('<html lang="ar" dir="rtl">')
    expect(markup).toContain('<header class="site" lang="en" dir="ltr">')
    expect(markup).toContain('<footer class="site" lang="en" dir="ltr">')
  })

  test('adds a card for link previews, except to a page that search engines must not find', () => {
    expect(rendered()).toContain('<meta property="og:title" content="Renew">')
    expect(rendered()).toMatch(
      /og:image" content="https:\/\/plainpath\.example\/assets\/plainpath-card-[0-9a-f]{16}\.png"/,
    )
    expect(rendered({ noindex: true })).not.toContain('og:')
  })
})
