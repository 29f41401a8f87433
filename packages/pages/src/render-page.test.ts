import { describe, expect, test } from 'vitest'
import {
  html,
  PAGE_CSP,
  type Page,
  rawHtml,
  renderGuidePage,
  renderHomePage,
  renderPage,
  renderProblemPage,
  STYLESHEET,
} from './index.ts'

const origin = 'https://plainpath.example'

/** Renders a guide page, the home page and a problem page, with `text` in every place that can contain any text. */
function renderPagesWith(text: string): string[] {
  const page = { title: text, description: text, lang: text, origin, path: '/guides/x' }
  const source = {
    title: text,
    url: text,
    agency: text,
    kind: 'statute' as const,
    checked: '2026-06-26',
    stale: true,
  }
  const guide = {
    slug: text,
    audience: text,
    title: text,
    summary: text,
    sources: [source, source],
    updated: '2026-11-20',
    reviewed: null,
    statements: 4,
    staleStatements: 2,
    history: [{ date: '2026-11-23', version: 2, text: `Corrected: ${text}` }],
    disclaimer: text,
    talkToAnAttorneyWhen: [text, text],
  }
  const home = {
    guides: [{ slug: text, title: text, summary: text }],
    commands: [{ description: text, script: text }],
    links: [{ href: text, text }],
  }
  return [
    renderPage({
      ...page,
      body: renderGuidePage(guide, {
        sections: [{ id: text, key: 'when', heading: text, html: rawHtml('<p>Text</p>') }],
        related: [{ slug: text, title: text }],
        url: text,
        apiUrl: text,
        markdownUrl: text,
      }),
    }),
    renderPage({ ...page, path: '/', body: renderHomePage(home) }),
    renderPage({
      ...page,
      body: renderProblemPage({ origin, code: text, title: text, status: 400, meaning: text, remedy: text }),
    }),
  ]
}

const page: Page = {
  title: 'Renew your green card',
  origin,
  path: '/guides/renew',
  body: html`<h1>Renew</h1>`,
}

describe('a page', () => {
  test('has no script, inline style, frame or base, and no form that posts to another site', () => {
    for (const document of renderPagesWith('plain')) {
      expect(document).not.toMatch(
        /<(script|style|base|iframe|object)\b|<form(?![^>]* action="\/[a-z])|\sstyle=|\son[a-z]+=|javascript:/i,
      )
    }
  })

  test('loads only our stylesheet and an inline icon', () => {
    for (const document of renderPagesWith('plain')) {
      const loadedResources = [
        ...document.matchAll(/<link rel="(?:stylesheet|preload|icon)" href="([^"]*)"|\ssrc="/g),
      ]
      // A match of `src` has no `href`, so it appears as undefined and fails the comparison.
      expect(loadedResources.map(([, href]) => href?.replace(/^data:.*/, 'data:'))).toEqual([
        'data:',
        STYLESHEET.path,
      ])
    }
  })

  test('keeps its structure with values that contain markup', () => {
    const hostileText = `"><script>alert(1)</script><p title='&lt;`
    const listTags = (document: string) =>
      document.match(/<[a-z!/][^>]*>/gi)?.map((tag) => tag.split(/[\s>]/)[0])
    for (const [index, document] of renderPagesWith(hostileText).entries()) {
      expect(listTags(document)).toEqual(listTags(renderPagesWith('plain')[index] ?? ''))
      expect(document).not.toContain('<script')
    }
  })

  test('has one h1, no skipped heading level, no id twice, and an id for each reference', () => {
    for (const document of renderPagesWith('plain')) {
      const levels = [...document.matchAll(/<h([1-6])/g)].map(([, level]) => Number(level))
      expect(levels.filter((level) => level === 1)).toHaveLength(1)
      for (const [index, level] of levels.entries())
        expect(level).toBeLessThanOrEqual((levels[index - 1] ?? 0) + 1)
      const ids = [...document.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id)
      expect(new Set(ids).size).toBe(ids.length)
      const targets = [...document.matchAll(/(?:href="#|labelledby=")([^"]*)"/g)].map(([, id]) => id)
      expect(ids).toEqual(expect.arrayContaining(targets))
    }
  })

  test('has under 50,000 bytes with its stylesheet', () => {
    for (const document of renderPagesWith('x'.repeat(300))) {
      expect(Buffer.byteLength(document) + Buffer.byteLength(STYLESHEET.body)).toBeLessThan(50_000)
    }
  })

  test('says in its footer what the service is not, and begins with a link to the main part', () => {
    const document = renderPage(page)
    expect(document).toMatch(
      /<footer[^>]*>\s*<p>Plainpath is not a law firm and not the government\. .*not legal advice/,
    )
    expect(document).toMatch(/<body>\s*<a class="skip" href="#main">/)
  })

  test('has its language, direction, title, description and canonical address', () => {
    const document = renderPage({ ...page, lang: 'es', description: 'How & when' })
    expect(document).toMatch(/^<!doctype html>\n<html lang="es" dir="ltr">/)
    expect(document).toContain('<title>Renew your green card – Plainpath</title>')
    expect(document).toContain('<meta name="description" content="How &amp; when">')
    expect(document).toContain(`<link rel="canonical" href="${origin}/guides/renew">`)
    expect(renderPage({ ...page, path: '/' })).toContain('<title>Renew your green card</title>')
  })

  test('has theme colours that are background colours of the stylesheet', () => {
    const matches = renderPage(page).matchAll(/name="theme-color" content="([^"]*)"/g)
    const colours = new Set(Array.from(matches, ([, colour]) => colour))
    // One for a light and one for a dark colour scheme.
    expect(colours.size).toBe(2)
    for (const colour of colours) expect(STYLESHEET.body).toContain(`--paper: ${colour};`)
  })

  test('has no canonical address if it is marked noindex', () => {
    const document = renderPage({ ...page, noindex: true })
    expect(document).toContain('<meta name="robots" content="noindex">')
    expect(document).not.toContain('canonical')
  })
})

test('the content security policy allows no script, no inline code and no frame', () => {
  const directives = PAGE_CSP.split('; ')
  expect(directives).toEqual([
    "default-src 'none'",
    "style-src 'self'",
    'img-src data:',
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ])
  expect(PAGE_CSP).not.toMatch(/unsafe|script-src|\*/)
})
