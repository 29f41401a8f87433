import { serve } from '@plainpath/http'
import { renderPage, SIGN_IN_TITLE, STYLESHEET } from '@plainpath/pages'
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findViolations } from '../pages/find-violations.ts'
import { LINKED_PAGES } from '../pages/linked-pages.ts'
import { openBrowser } from '../pages/open-browser.ts'

const resources = new AsyncDisposableStack()
let origin: string
let browser: Browser
beforeAll(async () => {
  const server = resources.use(
    await serve(
      (request, response) => {
        const body = LINKED_PAGES[(request.url ?? '').slice(1)]
        if (request.url === STYLESHEET.path)
          return response.writeHead(200, { 'content-type': STYLESHEET.contentType }).end(STYLESHEET.body)
        if (!body) return response.writeHead(404).end()
        const page = renderPage({ origin, path: '/oauth/sign-in', title: SIGN_IN_TITLE, body, noindex: true })
        return response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page)
      },
      { port: 0, host: '127.0.0.1', drainSeconds: 1 },
    ),
  )
  origin = server.url
  browser = resources.use(await openBrowser())
}, 60_000)
afterAll(() => resources.disposeAsync())

const LOOKS: [string, BrowserContextOptions][] = [
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['forced colours', { forcedColors: 'active' }],
]

describe.for(LOOKS)('in %s', ([, options]) => {
  test.for(Object.keys(LINKED_PAGES))(
    'the page violates no rule of axe, and fits 320 pixels: %s',
    async (name) => {
      const context = await browser.newContext({ ...options, viewport: { width: 320, height: 640 } })
      await using _closed = { [Symbol.asyncDispose]: () => context.close() }
      const page = await context.newPage()
      await page.goto(`${origin}/${name}`)
      expect(await findViolations(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320)
    },
  )
})
