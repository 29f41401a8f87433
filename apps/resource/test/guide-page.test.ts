import { listGuideSections, loadGuides } from '@plainpath/guides'
import { LEAVE_HEADERS, LEAVE_SCRIPT, NEUTRAL_SITE, PAGE_CSP, STYLESHEET } from '@plainpath/pages'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isSensitiveGuide } from '../src/pages/sensitive-guides.ts'
import { sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

let api: RunningResource
beforeAll(async () => {
  api = await startResource()
})
afterAll(() => api[Symbol.asyncDispose]())

const guides = loadGuides()
const get = (path: string, headers: Record<string, string> = {}) =>
  sendRequest(api.origin, { path, headers: { accept: 'text/html', ...headers } })
/** Removes the markup that keeps the name of a form on one line. */
const removeFormNameMarkup = (markup: string) =>
  markup.replaceAll(/<span class="form-name">([^<]*)<\/span>/g, '$1')
const escapeHtml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll("'", '&#39;')

describe.for(guides.map(({ slug }) => slug))('the page of the guide %s', (slug) => {
  test('lists every source, links it where it is cited, and has the attorney section and the disclaimer once', async () => {
    const body = removeFormNameMarkup((await get(`/guides/${slug}`)).body)
    const guide = (await sendRequest(api.origin, { path: `/api/guides/${slug}` })).json()
    const sources = guide['sources'] as { url: string; title: string }[]
    for (const [index, { url, title }] of sources.entries()) {
      const link = `<a href="${escapeHtml(url)}">${escapeHtml(title)}</a>`
      expect(body).toContain(`<li id="source-${index + 1}">${link}`)
      if (String(guide['body']).includes(`[${index + 1}]`))
        expect(body).toContain(`<details class="source"><summary>[${index + 1}]</summary><small>${link}`)
    }
    // Matches `[1]`, but not a link whose text is a number, such as `[1](…)`.
    const findCitations = (markdown: string) => markdown.match(/\[\d+\](?!\()/g) ?? []
    expect(findCitations(body).toSorted()).toEqual(findCitations(String(guide['body'])).toSorted())
    expect(body.match(/<h2 id="attorney">When to talk to an attorney<\/h2>/g)).toHaveLength(1)
    expect(body.split(String(guide['disclaimer']))).toHaveLength(2)
    for (const reason of guide['talkToAnAttorneyWhen'] as string[])
      expect(body).toContain(`<li>${escapeHtml(reason)}</li>`)
    // `[^` begins a citation in the Markdown source of a guide.
    expect(body).not.toContain('[^')
  })

  test('says who it is for, links each section in its table of contents, and has unique ids', async () => {
    const guide = guides.find((other) => other.slug === slug)
    if (!guide) throw new Error('there is no such guide')
    const body = removeFormNameMarkup((await get(`/guides/${slug}`)).body)
    expect(body).toContain(`<strong>Who this is for:</strong> ${escapeHtml(guide.audience)}`)
    for (const { id, key, heading } of listGuideSections(guide).filter(
      (section) => section.key !== 'intro',
    )) {
      expect(body).toContain(`<li><a href="#${key}">${escapeHtml(heading)}</a></li>`)
      expect(body).toContain(`<h2 id="${key}">${escapeHtml(heading)}</h2>`)
      expect(body).toContain(`href="/contact?passage=${encodeURIComponent(id)}"`)
    }
    const ids = Array.from(body.matchAll(/ id="([^"]+)"/g), ([, id]) => id)
    expect(ids).toEqual([...new Set(ids)])
    for (const [, target] of body.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(target)
    expect(body.match(/<h[34](?! id=)/g) ?? []).toEqual([])
  })

  test('is smaller than 50 kB compressed, with the assets that it loads, and than 72 kB uncompressed, without them', async () => {
    const { body } = await get(`/guides/${slug}`)
    const paths = [
      `/guides/${slug}`,
      STYLESHEET.path,
      ...(body.includes(LEAVE_SCRIPT.path) ? [LEAVE_SCRIPT.path] : []),
    ]
    const sizes = await Promise.all(
      paths.map(async (path) =>
        Number((await get(path, { 'accept-encoding': 'gzip' })).headers['content-length']),
      ),
    )
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(50_000)
    // Phones with little memory have to hold the uncompressed page.
    expect(Buffer.byteLength(body)).toBeLessThan(72_000)
  })
})

describe('related guides', () => {
  test('are those that the text links to', async () => {
    const { body } = await get('/guides/renew-green-card')
    const related = /<h2 id="related">[^]*?<\/ul>/.exec(body)?.[0] ?? ''
    expect(Array.from(related.matchAll(/href="\/guides\/([^"]+)"/g), ([, slug]) => slug)).toEqual([
      'change-of-address',
      'apply-for-citizenship',
      'find-legal-help',
      'replace-lost-green-card',
    ])
  })
})

describe('a page about abuse, crime victims or detention:', () => {
  /** Words that a guide about these subjects uses often. Five uses in total count as often. */
  const RISK_WORDS = /abus|violen|victim|detain|detention|traffick|extremely cruel/gi
  /** Guides that use these words often, but are about something else. Their pages need no quick exit. */
  const OTHER_GUIDES = [
    'change-of-address',
    'check-case-status',
    'family-petition',
    'foia-request',
    'h1b-basics',
  ]

  test('a guide that uses the risk words often is marked as sensitive, unless it is listed as one about something else', () => {
    const guidesWithRiskWords = guides
      .filter(({ body }) => (body.match(RISK_WORDS) ?? []).length >= 5)
      .map(({ slug }) => slug)
    expect(
      guidesWithRiskWords.filter((slug) => !isSensitiveGuide(slug) && !OTHER_GUIDES.includes(slug)),
    ).toEqual([])
    expect(guidesWithRiskWords).toEqual(
      expect.arrayContaining(['vawa-basics', 'u-visa-basics', 'removal-proceedings-basics']),
    )
  })

  test.for([
    '/guides/vawa-basics',
    '/guides/u-visa-basics',
    '/guides/removal-proceedings-basics',
    '/ask',
    '/get-help',
    '/es/obtener-ayuda',
  ])('%s has the quick exit and one script, and must not be stored', async (path) => {
    const { headers, body } = await get(path)
    expect(headers).toMatchObject(LEAVE_HEADERS)
    expect(headers).not.toHaveProperty('etag')
    expect(headers['content-security-policy']).toBe(`${PAGE_CSP}; script-src 'self'`)
    expect(body).toContain(`<a href="${NEUTRAL_SITE}" rel="noreferrer nofollow" title="`)
    expect(body.match(/<script[^>]*>/g)).toEqual([`<script src="${LEAVE_SCRIPT.path}" defer>`])
  })

  test('does not reveal its subject in the title and the preview of its link', async () => {
    const { body } = await get('/guides/vawa-basics')
    expect(body).toContain('<title>Guide – Plainpath</title>')
    expect(body).toContain('<meta property="og:title" content="Guide">')
    expect(body).not.toContain('<meta name="description"')
    expect(body).toMatch(/<h1>VAWA/)
  })

  test('may be cached as JSON and as Markdown, which have no quick exit', async () => {
    for (const [path, accept] of [
      ['/guides/vawa-basics', 'text/markdown'],
      ['/guides/vawa-basics.md', '*/*'],
      ['/api/guides/vawa-basics', 'application/json'],
    ] as const) {
      const { headers, body } = await get(path, { accept })
      expect(headers).toMatchObject({
        'cache-control': 'public, max-age=300',
        etag: expect.stringMatching(/^"/),
      })
      expect(body).not.toMatch(/form-name|Leave this page/)
    }
  })

  test('differs from other guides, which have no script and may be cached', async () => {
    const { headers, body } = await get('/guides/renew-green-card')
    expect(headers).toMatchObject({
      'cache-control': 'public, max-age=300',
      'content-security-policy': PAGE_CSP,
    })
    expect(body).not.toMatch(/<script|Leave this page/)
  })
})

test('the script of the quick exit is served, and must not be stored', async () => {
  const { status, headers, body } = await get(LEAVE_SCRIPT.path, { accept: '*/*' })
  expect([status, headers['content-type'], headers['cache-control']]).toEqual([
    200,
    'text/javascript; charset=utf-8',
    'no-store',
  ])
  expect(body).toBe(LEAVE_SCRIPT.body)
})
