import { loadGuides } from '@plainpath/guides'
import { getProblemKind, PROBLEM_CODES } from '@plainpath/http'
import { findAppForPath } from '@plainpath/metadata'
import { PAGE_CSP, STYLESHEET } from '@plainpath/pages'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectProblem, type HttpResponse, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

let api: RunningResource
beforeAll(async () => {
  api = await startResource()
})
afterAll(() => api[Symbol.asyncDispose]())

const BROWSER_ACCEPT = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const get = (path: string, accept = BROWSER_ACCEPT) => sendRequest(api.origin, { path, headers: { accept } })

/** Expects an HTML page with safe headers, and without scripts, inline styles and images. */
function expectPage(response: HttpResponse): void {
  expect(response.headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': PAGE_CSP,
    'referrer-policy': expect.stringMatching(/^(no-referrer|same-origin)$/),
    'x-content-type-options': 'nosniff',
  })
  expect(response.body).toMatch(/^<!doctype html>/)
  expect(response.body).not.toMatch(/<script|<style|\sstyle=|<img|javascript:|\son[a-z]+=/i)
}

describe('a page', () => {
  test.for(['/', '/guides', '/guides/avoid-scams', '/problems', '/problems/invalid-request'])(
    'may be cached for five minutes, and names its canonical URL: %s',
    async (path) => {
      const response = await get(path)
      expect(response.status).toBe(200)
      expectPage(response)
      expect(response.headers).toMatchObject({
        'cache-control': 'public, max-age=300',
        etag: expect.stringMatching(/^"/),
      })
      expect(response.headers['vary']).toMatch(/Accept.*Authorization/)
      expect(response.body).toContain(`<link rel="canonical" href="${api.origin}${path}">`)
    },
  )

  test('links our stylesheet, which is served', async () => {
    expect((await get('/')).body).toContain(`<link rel="stylesheet" href="${STYLESHEET.path}">`)
    const stylesheet = await get(STYLESHEET.path, 'text/css,*/*;q=0.1')
    expect(stylesheet.headers['content-type']).toBe('text/css; charset=utf-8')
    expect(stylesheet.body).toBe(STYLESHEET.body)
  })

  test('links only to pages and fragments that exist', async () => {
    const paths = [
      '/',
      '/guides',
      '/get-help',
      '/es/obtener-ayuda',
      '/problems',
      '/nowhere',
      '/search?q=taxid',
      '/ask',
      '/connect',
      '/contact',
      '/waitlist',
      '/privacy',
      '/terms',
      '/changelog',
      '/docs',
      ...loadGuides().map(({ slug }) => `/guides/${slug}`),
    ]
    const pages = new Map<string, ReturnType<typeof get>>()
    const getOnce = (path: string) => {
      const page = pages.get(path) ?? get(path)
      pages.set(path, page)
      return page
    }
    const links = new Set<string>()
    for (const path of paths)
      for (const [, href = ''] of (await getOnce(path)).body.matchAll(/href="((?:\/|#)[^"]*)"/g))
        links.add(href.startsWith('#') ? `${path}${href}` : href)
    const linksToOurPages = [...links]
      .map((href) => href.split('#'))
      .filter(([path = '']) => findAppForPath(path) === 'resource')
    // Without this, the test would also pass if the pattern above matched no links.
    expect(linksToOurPages.length).toBeGreaterThan(100)
    for (const [path = '', fragment] of linksToOurPages) {
      const { status, body } = await getOnce(path)
      // The error page of `/nowhere` links to fragments of itself.
      expect([path, status]).toEqual([path, path === '/nowhere' ? 404 : 200])
      if (fragment !== undefined)
        expect([fragment, body.includes(`id="${fragment}"`)]).toEqual([fragment, true])
    }
  })
})

test('/guides lists every guide under a situation', async () => {
  const { body } = await get('/guides')
  for (const { slug } of loadGuides()) expect(body).toContain(`<a href="/guides/${slug}">`)
  // The group of guides that belong to no situation.
  expect(body).not.toContain('id="more"')
})

test('/guides is a page for any Accept, and /api/guides is JSON', async () => {
  for (const accept of [BROWSER_ACCEPT, 'application/json'])
    expect((await get('/guides', accept)).headers['content-type']).toBe('text/html; charset=utf-8')
  expect((await get('/api/guides', BROWSER_ACCEPT)).headers['content-type']).toMatch(/^application\/json/)
})

test('/problems lists every problem code', async () => {
  const { body } = await get('/problems')
  for (const code of PROBLEM_CODES)
    expect(body).toContain(`<a href="/problems/${code}"><code>${code}</code></a>`)
})

test.for([
  ['/favicon.ico', 'image/vnd.microsoft.icon', [0, 0, 1, 0]],
  ['/apple-touch-icon.png', 'image/png', [0x89, 0x50, 0x4e, 0x47]],
  // The home page names the address of the preview image.
  [undefined, 'image/png', [0x89, 0x50, 0x4e, 0x47]],
] as const)('the image %s is served with its type', async ([path, type, firstBytes]) => {
  const previewImageUrl = /og:image" content="([^"]*)"/.exec((await get('/')).body)?.[1]
  const response = await fetch(path === undefined ? (previewImageUrl ?? '') : `${api.origin}${path}`)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe(type)
  expect([...new Uint8Array(await response.arrayBuffer()).slice(0, 4)]).toEqual(firstBytes)
})

test('the home page shows agents how to begin, at this origin', async () => {
  const { body } = await get('/')
  for (const path of ['/api/agent/register', '/oauth/token', '/oauth/revoke', '/api/guides'])
    expect(body).toContain(`${api.origin}${path}`)
})

describe('the page of a guide', () => {
  test('contains a warning that is only in the text of the guide', async () => {
    expect((await get('/guides/work-permit')).body).toContain(
      'If you have a hearing in immigration court, do not skip it.',
    )
  })

  test.for([
    ['vawa-basics', true],
    ['u-visa-basics', true],
    ['find-legal-help', true],
    // This guide names no emergency.
    ['removal-proceedings-basics', false],
    // This guide mentions 911 too, but its subject is not a danger to the reader.
    ['replace-lost-green-card', false],
  ] as const)('begins with 911 if the reader may be in danger: %s, %s', async ([slug, hasEmergencyLine]) => {
    const { body } = await get(`/guides/${slug}`)
    const line =
      '<p class="urgent"><strong>In danger now?</strong> Call <a class="phone" href="tel:911">911</a>.</p>'
    expect(body.includes(`</h1>\n${line}\n<p class="lead">`)).toBe(hasEmergencyLine)
    expect(body.includes('tel:911')).toBe(hasEmergencyLine)
  })

  test('is a 404 page with noindex and the request id if there is no such guide', async () => {
    const response = await get('/guides/nothing')
    expect(response.status).toBe(404)
    expectPage(response)
    expect(response.headers['cache-control']).toBe('no-store')
    expect(response.body).toContain('There is no guide at this address.')
    expect(response.body).toContain('<meta name="robots" content="noindex">')
    expect(response.body).toContain(response.headers['x-request-id'])
  })
})

test.for(PROBLEM_CODES)('/problems/%s shows the title and the status of the problem', async (code) => {
  const response = await get(`/problems/${code}`)
  expectPage(response)
  const { status, title } = getProblemKind(code)
  expect(response.body).toContain(`<h1>API error: ${title}</h1>`)
  expect(response.body).toContain(`HTTP status ${status}`)
})

describe('an error is a page for people', () => {
  test.for(['/nowhere', '/problems/nothing', '/GUIDES', '/guides/', '/problems/__proto__'])(
    'at %s',
    async (path) => {
      const response = await get(path)
      expect(response.status).toBe(404)
      expectPage(response)
      expect(response.headers['vary']).toMatch(/Accept/)
      expect(response.body).toContain('<h1>Page not found</h1>')
      for (const href of ['/', '/guides', '/ask', '/get-help', '/contact', '/guides/find-legal-help'])
        expect(response.body).toContain(`<a href="${href}">`)
      expect(response.body).toContain('role="search" action="/search" method="get">')
    },
  )

  test.for([
    '/api/nowhere',
    '/api/',
    '/.well-known/nothing',
    '/.well-known/oauth-protected-resource/other',
    '/openapi.json/',
  ])('but is JSON under addresses for programs, even for a browser: %s', async (path) =>
    expectProblem(await get(path), { status: 404, code: 'not-found' }),
  )

  test.for(['*/*', 'application/json', 'application/problem+json', 'image/png'])(
    'but is JSON for Accept: %s',
    async (accept) => expectProblem(await get('/nowhere', accept), { status: 404, code: 'not-found' }),
  )

  test('and contains no part of the address', async () => {
    const response = await get('/nowhere/%3Cscript%3Ealert(1)%3C/script%3E?secret=canary')
    expect(response.body).not.toMatch(/alert\(1\)|canary/)
  })
})
