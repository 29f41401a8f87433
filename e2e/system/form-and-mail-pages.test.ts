import { serve } from '@plainpath/http'
import { renderPage, SIGN_IN_TITLE, STYLESHEET } from '@plainpath/pages'
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findViolations } from '../pages/find-violations.ts'
import { FORM_AND_MAIL_PAGES } from '../pages/form-and-mail-pages.ts'
import { openBrowser } from '../pages/open-browser.ts'

const resources = new AsyncDisposableStack()
let origin: string
let browser: Browser
beforeAll(async () => {
  const server = resources.use(
    await serve(
      (request, response) => {
        const body = FORM_AND_MAIL_PAGES[(request.url ?? '').slice(1)]
        if (request.url === STYLESHEET.path)
          return response.writeHead(200, { 'content-type': STYLESHEET.contentType }).end(STYLESHEET.body)
        if (!body) return response.writeHead(404).end()
        // The frame is that of the sign-in page for every body, because only the bodies are under test.
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

const APPEARANCES: [string, BrowserContextOptions][] = [
  ['light mode', { colorScheme: 'light' }],
  ['dark mode', { colorScheme: 'dark' }],
  ['forced-colours mode', { forcedColors: 'active' }],
]

describe.for(APPEARANCES)('in %s', ([, options]) => {
  test.for(Object.keys(FORM_AND_MAIL_PAGES))(
    'the page %s has no axe violations, and fits in a width of 320 pixels',
    async (name) => {
      await using context = await browser.newContext({ ...options, viewport: { width: 320, height: 640 } })
      const page = await context.newPage()
      await page.goto(`${origin}/${name}`)
      expect(await findViolations(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320)
    },
  )
})
