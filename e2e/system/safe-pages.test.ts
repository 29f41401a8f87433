import { NEUTRAL_SITE } from '@plainpath/pages'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { findViolations } from '../pages/find-violations.ts'
import { openBrowser } from '../pages/open-browser.ts'
import { ASKED } from '../pages/site-pages.ts'

const resources = new AsyncDisposableStack()
const stack = inject('pagesStack')
let browser: Browser

beforeAll(async () => {
  browser = resources.use(await openBrowser())
})
afterAll(() => resources.disposeAsync())

const GUIDE = '/guides/vawa-basics'

/** Opens a browser window in which the neutral site is a page of the test. */
async function opened(options: BrowserContextOptions = {}) {
  const context = await browser.newContext(options)
  const referrers: (string | undefined)[] = []
  await context.route(`${NEUTRAL_SITE}**`, (route) => {
    referrers.push(route.request().headers()['referer'])
    return route.fulfill({ contentType: 'text/html', body: '<title>Neutral</title>' })
  })
  const page = await context.newPage()
  return { page, referrers, [Symbol.asyncDispose]: () => context.close() }
}

const open = (page: Page, address: string) => page.goto(`${stack.origin}${address}`)

/** Presses Tab until what matches the selector has the focus. */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let step = 0; step < 200; step++) {
    await page.keyboard.press('Tab')
    if (await page.locator(`${selector}:focus`).count()) return
  }
  throw new Error(`Tab does not reach ${selector} on ${page.url()}`)
}

async function pressShift(page: Page, times: number): Promise<void> {
  for (let press = 0; press < times; press++) await page.keyboard.press('Shift')
}

describe('the quick exit', () => {
  test.for([
    GUIDE,
    '/guides/removal-proceedings-basics',
    '/ask',
    '/get-help',
    '/es/obtener-ayuda',
    '/search?q=protection+order',
  ])(
    'without scripts is a link, by keyboard, and the other site does not learn where it was: %s',
    async (address) => {
      await using window = await opened({ javaScriptEnabled: false })
      const { page } = window
      await open(page, address)
      expect(await page.locator('[role=status]').innerText()).toBe('')
      expect(await page.getByText(/Shift/).filter({ visible: true }).count()).toBe(0)
      await tabTo(page, '.leave a')
      await page.keyboard.press('Enter')
      await page.waitForURL(NEUTRAL_SITE)
      expect(window.referrers).toEqual([undefined])
    },
  )

  test.for([
    ['three presses of Shift', (page: Page) => pressShift(page, 3)],
    ['the link', (page: Page) => page.locator('.leave a').click()],
  ] as const)('with scripts takes the page out of the history: %s', async ([, leave]) => {
    await using window = await opened()
    const { page } = window
    await open(page, '/guides')
    await open(page, GUIDE)
    await page.locator('.contents a').nth(1).click()
    await expect.poll(() => new URL(page.url()).hash).toMatch(/^#./)
    await leave(page)
    await page.waitForURL(NEUTRAL_SITE)
    await page.goBack()
    await expect.poll(() => page.url()).toBe(`${stack.origin}/guides`)
    await page.goForward()
    await expect.poll(() => page.url()).toBe(NEUTRAL_SITE)
    expect(new Set(window.referrers)).toEqual(new Set([undefined]))
  })

  test('says how many presses are left, and forgets them after another key', async () => {
    await using window = await opened()
    const { page } = window
    await open(page, '/ask')
    const status = page.locator('.leave [role=status]')
    await pressShift(page, 1)
    expect(await status.innerText()).toBe('Press Shift 2 more times to leave')
    await pressShift(page, 1)
    expect(await status.innerText()).toBe('Press Shift once more to leave')
    await page.keyboard.press('a')
    expect(await status.innerText()).toBe('')
    await pressShift(page, 2)
    await expect.poll(() => page.url()).toBe(`${stack.origin}/ask`)
  })

  test('does not happen to somebody who writes capital letters', async () => {
    await using window = await opened()
    const { page } = window
    await open(page, '/ask')
    await page.locator('#question').focus()
    for (const key of 'ICE USCIS') await page.keyboard.press(key === ' ' ? 'Space' : `Shift+${key}`)
    expect(await page.inputValue('#question')).toBe('ICE USCIS')
    await expect.poll(() => page.url()).toBe(`${stack.origin}/ask`)
  })

  test('leaves nothing in the browser', async () => {
    await using window = await opened()
    const { page } = window
    await open(page, GUIDE)
    await open(page, '/ask')
    await page.fill('#question', ASKED.information)
    await page.getByRole('button', { name: 'Ask', exact: true }).click()
    await page.locator('.question').waitFor()
    expect(await page.evaluate('[localStorage.length, sessionStorage.length, document.cookie]')).toEqual([
      0,
      0,
      '',
    ])
    expect(await page.evaluate('indexedDB.databases()')).toEqual([])
    expect(await page.title()).toBe('Ask a question – Plainpath')
  })

  test('stays in sight on a long page, and not over what has the focus', async () => {
    for (const viewport of [
      { width: 320, height: 640 },
      { width: 1200, height: 700 },
    ]) {
      await using window = await opened({ viewport })
      const { page } = window
      await open(page, GUIDE)
      await page.locator('#sources').scrollIntoViewIfNeeded()
      const bar = await page.locator('.leave a').boundingBox()
      expect(bar && bar.y >= 0 && bar.y + bar.height <= viewport.height).toBe(true)
      await page.locator('.sources a').first().focus()
      const focus = await page.locator('.sources a').first().boundingBox()
      expect(
        bar &&
          focus &&
          (focus.y >= bar.y + bar.height ||
            focus.y + focus.height <= bar.y ||
            focus.x + focus.width <= bar.x),
      ).toBe(true)
    }
  })
})

describe('by keyboard only and without scripts', () => {
  test('a person answers a question of the service with no, and then with yes', async () => {
    await using window = await opened({ javaScriptEnabled: false })
    const { page } = window
    await open(page, '/ask')
    await page.fill('#question', ASKED.information)
    await page.getByRole('button', { name: 'Ask', exact: true }).click()
    const first = page.locator('.yes-no').first()
    const question = await first.locator('legend').innerText()
    await tabTo(page, '.yes-no [type=radio]')
    await page.keyboard.press('ArrowRight')
    await tabTo(page, 'form[action="/ask"] button')
    await page.keyboard.press('Enter')
    await page.locator('.question').waitFor()
    expect(await page.locator('legend').allInnerTexts()).not.toContain(question)
    await tabTo(page, '.yes-no [type=radio]')
    await page.keyboard.press('Space')
    await tabTo(page, 'form[action="/ask"] button')
    await page.keyboard.press('Enter')
    await page.locator('form[action="/contact"]').waitFor()
  })

  test('a source opens behind its paragraph, and closes', async () => {
    await using window = await opened({ javaScriptEnabled: false })
    const { page } = window
    await open(page, '/guides/renew-green-card')
    const source = page.locator('.text .source').first()
    expect(await source.locator('a').isVisible()).toBe(false)
    await tabTo(page, '.text summary')
    await page.keyboard.press('Enter')
    expect(await source.locator('a').isVisible()).toBe(true)
    await page.keyboard.press('Enter')
    expect(await source.locator('a').isVisible()).toBe(false)
  })

  test('mistakes of the contact form are summed up with the focus, and each leads to its field', async () => {
    await using window = await opened({ javaScriptEnabled: false })
    const { page } = window
    await open(page, '/contact')
    await page.fill('#message', 'A message')
    await page.getByRole('button', { name: 'Send me the link' }).click()
    await expect.poll(() => page.locator(':focus').innerText()).toMatch(/^Fix these first/)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await expect.poll(() => new URL(page.url()).hash).toBe('#topic')
    expect(await page.inputValue('#message')).toBe('A message')
    expect(await page.locator('#email').getAttribute('aria-describedby')).toBe('email-mistake email-hint')
  })
})

describe('a guide on paper', () => {
  test.for(['/guides/renew-green-card', GUIDE])(
    'has all of its text, and no navigation: %s',
    async (address) => {
      await using window = await opened()
      const { page } = window
      await open(page, address)
      const lines = `[...document.querySelectorAll('.guide :is(h1, h2, h3, p, li)')].filter((each) => !each.closest('.contents, .machines, .mistaken, .before, .source')).map((each) => each.textContent)`
      const content = await page.evaluate<string[]>(lines)
      await page.emulateMedia({ media: 'print' })
      const squeeze = (text: string) => text.replaceAll(/\s+/g, '')
      const printed = squeeze(await page.locator('main').innerText())
      const isThere = (text: string) => printed.includes(squeeze(text.replaceAll(/\[\d+\][^]*/g, '')))
      expect(content.filter((text) => !isThere(text))).toEqual([])
      expect(content.length).toBeGreaterThan(30)
      expect(printed).toContain(`${stack.origin}${address}`)
      for (const hidden of [
        '.leave',
        '.risk',
        '.contents',
        '.mistaken',
        'header form',
        '.places',
        'footer nav',
      ])
        for (const each of await page.locator(hidden).all())
          expect([hidden, await each.isVisible()]).toEqual([hidden, false])
      expect(await page.locator('.sources li').last().isVisible()).toBe(true)
    },
  )
})

describe('/docs', () => {
  test('copies a command, which a script offers', async () => {
    await using window = await opened({ permissions: ['clipboard-read', 'clipboard-write'] })
    const { page } = window
    await open(page, '/docs')
    const command = await page.locator('.command').first().innerText()
    expect(command).toMatch(/^curl -sS \S+$/)
    await page.getByRole('button', { name: 'Copy' }).first().click()
    expect(await page.getByRole('button', { name: 'Copied' }).innerText()).toBe('Copied')
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(command)
  })

  test('shows in the page what a read without credentials answers', async () => {
    await using window = await opened()
    const { page } = window
    await open(page, '/docs')
    await page.getByRole('button', { name: 'Send GET /api/guides', exact: true }).click()
    await expect.poll(() => page.locator('.try + pre').innerText()).toMatch(/^200\n\{\n {2}"guides": \[/)
    await expect.poll(() => page.url()).toBe(`${stack.origin}/docs`)
    expect(await findViolations(page)).toEqual([])
  })

  test('opens the answer where no script runs, and has no button that needs one', async () => {
    await using window = await opened({ javaScriptEnabled: false })
    const { page } = window
    await open(page, '/docs')
    expect(await page.getByRole('button', { name: 'Copy' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Send GET /api/guides', exact: true }).click()
    await page.waitForURL('**/api/guides?q=work+permit')
    expect(await page.locator('body').innerText()).toMatch(/^\{"guides":\[/)
  })

  test('breaks commands between options only, as far as an option fits a line', async () => {
    await using window = await opened({ viewport: { width: 320, height: 640 } })
    const { page } = window
    await open(page, '/docs')
    const broken = `[...document.querySelectorAll('.command span')].filter((each) => each.getClientRects().length > 1 || (each.offsetHeight > 40 && each.textContent.length < 20)).map((each) => each.textContent)`
    expect(await page.evaluate(broken)).toEqual([])
  })
})

describe('every state', () => {
  const states: [string, (page: Page) => Promise<unknown>][] = [
    ['a guide with the history and all sources open', (page) => openDetails(page, GUIDE)],
    ['an empty question', (page) => submit(page, '/ask', 'Ask')],
    ['an empty message', (page) => submit(page, '/contact', 'Send me the link')],
    ['an empty address', (page) => submit(page, '/waitlist', 'Join the waitlist')],
    [
      'a mistake to report',
      (page) => open(page, '/contact?passage=renew-green-card%23when-to-ask-for-a-new-card'),
    ],
  ]

  async function openDetails(page: Page, address: string): Promise<void> {
    await open(page, address)
    await page.evaluate('for (const each of document.querySelectorAll("details")) each.open = true')
  }

  async function submit(page: Page, address: string, button: string): Promise<void> {
    await open(page, address)
    await page.getByRole('button', { name: button, exact: true }).click()
    await page.locator('.summary').waitFor()
  }

  const LOOKS: [string, BrowserContextOptions][] = [
    ['light', { colorScheme: 'light' }],
    ['dark', { colorScheme: 'dark' }],
    ['forced colours', { forcedColors: 'active' }],
  ]
  describe.for(LOOKS)('in %s', ([, options]) => {
    test.for(states)('has no fault that axe knows, and fits 320 pixels: %s', async ([, reach]) => {
      await using window = await opened({ ...options, viewport: { width: 320, height: 640 } })
      await reach(window.page)
      expect(await findViolations(window.page)).toEqual([])
      expect(await window.page.evaluate('document.documentElement.scrollWidth')).toBe(320)
    })
  })
})
