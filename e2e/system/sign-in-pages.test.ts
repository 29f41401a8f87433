import { serve } from '@plainpath/http'
import {
  allowedPage,
  type Html,
  lentAccessPage,
  noCodesLeftPage,
  noSignInPage,
  renderPage,
  SIGN_IN_TITLE,
  STYLESHEET,
  signInCodePage,
  signInPage,
} from '@plainpath/pages'
import axe from 'axe-core'
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBrowser } from '../pages/open-browser.ts'

const FORM = { action: '/oauth/sign-in/uid', token: 'token' }
const SITE = {
  place: { kind: 'site', host: 'a-rather-long-name-of-a-host.chat.example.org' },
  name: 'Atlas',
} as const
const COMPUTER = { place: { kind: 'computer' }, name: 'Atlas', clientHost: 'vscode.dev' } as const
const CODE = {
  ...FORM,
  email: 'somebody.with.a.long.address@mail.example.org',
  attempt: 'cla_x',
  codesLeft: 1,
}
const LENT = { secret: 'secret', since: '2026-11-20', until: '2026-12-20' }
const AGENT = { name: 'Atlas', registered: '2026-11-20' }

const PAGES: Record<string, Html> = {
  address: signInPage({ ...FORM, app: COMPUTER, lastCode: 'locked' }),
  mistake: signInPage({ ...FORM, app: SITE, email: 'nobody', mistake: 'This is not an e-mail address.' }),
  code: signInCodePage({ ...CODE, app: SITE }),
  'wrong-code': signInCodePage({ ...CODE, app: COMPUTER, mistake: 'This is not the code.', isTooSoon: true }),
  'no-codes': noCodesLeftPage({ ...FORM, canStillType: true }),
  allowed: allowedPage({ ...FORM, app: SITE }),
  gone: noSignInPage(),
  list: lentAccessPage({
    secret: 'secret',
    lent: [AGENT, { ...AGENT, appHost: 'claude.ai' }].map((agent) => ({ ...LENT, agent })),
  }),
}

const resources = new AsyncDisposableStack()
let origin: string
let browser: Browser
beforeAll(async () => {
  const server = resources.use(
    await serve(
      (request, response) => {
        const body = PAGES[(request.url ?? '').slice(1)]
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

/** axe reads the authored -webkit-text-fill-color, not the colours that the system forces. The row tests those by itself. */
const FORCED_RUN = `axe.run({ rules: { 'color-contrast': { enabled: false } } })`
/** The text colours of the page. The browser forces the system's, unless an element opts out. */
const TEXT_COLOURS = `[...new Set([...document.querySelectorAll('body *')].map((element) => {
  const { color, forcedColorAdjust } = getComputedStyle(element)
  return forcedColorAdjust + ' ' + color
}))]`
/** CanvasText and LinkText in the theme that Chromium emulates. */
const FORCED_COLOURS = ['auto rgb(0, 0, 0)', 'auto rgb(0, 0, 159)']

test.for<[string, BrowserContextOptions]>([
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['forced colours', { forcedColors: 'active' }],
])(
  'the pages of a sign-in have no fault that axe knows, and fit 320 pixels: %s',
  { timeout: 60_000 },
  async ([_name, options]) => {
    const context = await browser.newContext({ ...options, viewport: { width: 320, height: 640 } })
    await using _closed = { [Symbol.asyncDispose]: () => context.close() }
    const page = await context.newPage()
    for (const name of Object.keys(PAGES)) {
      await page.goto(`${origin}/${name}`)
      await page.evaluate(axe.source)
      const isForced = options.forcedColors === 'active'
      const { violations } = await page.evaluate<axe.AxeResults>(isForced ? FORCED_RUN : 'axe.run()')
      expect(
        violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`),
        name,
      ).toEqual([])
      if (isForced) {
        const colours = await page.evaluate<string[]>(TEXT_COLOURS)
        expect(
          colours.filter((colour) => !FORCED_COLOURS.includes(colour)),
          name,
        ).toEqual([])
      }
      expect(await page.evaluate('document.documentElement.scrollWidth'), name).toBeLessThanOrEqual(320)
    }
  },
)
