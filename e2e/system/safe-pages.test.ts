import { NEUTRAL_SITE } from '@plainpath/pages'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { findViolations } from '../pages/find-violations.ts'
import { openBrowser } from '../pages/open-browser.ts'
import { EXAMPLE_QUESTIONS } from '../pages/site-pages.ts'

const resources = new AsyncDisposableStack()
const stack = inject('pagesStack')
let browser: Browser

beforeAll(async () => {
  browser = resources.use(await openBrowser())
})
afterAll(() => resources.disposeAsync())

/** A guide that somebody may have to hide, so its page has the quick exit. */
const GUIDE = '/guides/vawa-basics'

/** Opens a browser window in which the test serves the neutral site, and records the `Referer` headers sent to it. */
async function openWindow(options: BrowserContextOptions = {}) {
  const context = await browser.newContext(options)
  const referrers: (string | undefined)[] = []
  await context.route(`${NEUTRAL_SITE}**`, (route) => {
    referrers.push(route.request().headers()['referer'])
    return route.fulfill({ contentType: 'text/html', body: '<title>Neutral</title>' })
  })
  const page = await context.newPage()
  return { page, referrers, [Symbol.asyncDispose]: () => context.close() }
}

const openPath = (page: Page, address: string) => page.goto(`${stack.origin}${address}`)

/** Presses Tab until an element that matches the selector has the focus. @throws {Error} after 200 presses */
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
  ])('is a link that works by keyboard without scripts, and sends no Referer: %s', async (address) => {
    await using window = await openWindow({ javaScriptEnabled: false })
    const { page } = window
    await openPath(page, address)
    expect(await page.locator('[role=status]').innerText()).toBe('')
    expect(await page.getByText(/Shift/).filter({ visible: true }).count()).toBe(0)
    await tabTo(page, '.leave a')
    await page.keyboard.press('Enter')
    await page.waitForURL(NEUTRAL_SITE)
    expect(window.referrers).toEqual([undefined])
  })

  test.for([
    ['three presses of Shift', (page: Page) => pressShift(page, 3)],
    ['the link', (page: Page) => page.locator('.leave a').click()],
  ] as const)('removes the page from the history, with scripts: %s', async ([, leave]) => {
    await using window = await openWindow()
    const { page } = window
    await openPath(page, '/guides')
    await openPath(page, GUIDE)
    // The link to a section adds a second entry of the guide to the history.
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

  test('says how many presses of Shift are left, and starts again after another key', async () => {
    await using window = await openWindow()
    const { page } = window
    await openPath(page, '/ask')
    const status = page.locator('.leave [role=status]')
    await pressShift(page, 1)
    expect(await status.innerText()).toBe('Press Shift 2 more times to leave')
    await pressShift(page, 1)
    expect(await status.innerText()).toBe('Press Shift once more to leave')
    await page.keyboard.press('a')
    expect(await status.innerText()).toBe('')
    // Two presses after the other key are one too few.
    await pressShift(page, 2)
    await expect.poll(() => page.url()).toBe(`${stack.origin}/ask`)
  })

  test('does not react when a person types capital letters', async () => {
    await using window = await openWindow()
    const { page } = window
    await openPath(page, '/ask')
    await page.locator('#question').focus()
    for (const key of 'ICE USCIS') await page.keyboard.press(key === ' ' ? 'Space' : `Shift+${key}`)
    expect(await page.inputValue('#question')).toBe('ICE USCIS')
    await expect.poll(() => page.url()).toBe(`${stack.origin}/ask`)
  })

  test('has nothing to erase: pages store nothing in the browser, and the title does not show the question', async () => {
    await using window = await openWindow()
    const { page } = window
    await openPath(page, GUIDE)
    await openPath(page, '/ask')
    await page.fill('#question', EXAMPLE_QUESTIONS.information)
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

  test('stays on screen on a long page, and does not cover a focused link', async () => {
    for (const viewport of [
      { width: 320, height: 640 },
      { width: 1200, height: 700 },
    ]) {
      await using window = await openWindow({ viewport })
      const { page } = window
      await openPath(page, GUIDE)
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
  test('a person answers a check question with no, and another with yes, and gets the contact form', async () => {
    await using window = await openWindow({ javaScriptEnabled: false })
    const { page } = window
    await openPath(page, '/ask')
    await page.fill('#question', EXAMPLE_QUESTIONS.information)
    await page.getByRole('button', { name: 'Ask', exact: true }).click()
    const firstQuestion = page.locator('.yes-no').first()
    const question = await firstQuestion.locator('legend').innerText()
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

  test('a person opens and closes a source of a guide', async () => {
    await using window = await openWindow({ javaScriptEnabled: false })
    const { page } = window
    await openPath(page, '/guides/renew-green-card')
    const source = page.locator('.text .source').first()
    expect(await source.locator('a').isVisible()).toBe(false)
    await tabTo(page, '.text summary')
    await page.keyboard.press('Enter')
    expect(await source.locator('a').isVisible()).toBe(true)
    await page.keyboard.press('Enter')
    expect(await source.locator('a').isVisible()).toBe(false)
  })

  test('the contact form focuses a summary of mistakes with links to the fields, and keeps the input', async () => {
    await using window = await openWindow({ javaScriptEnabled: false })
    const { page } = window
    await openPath(page, '/contact')
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

describe('a printed guide', () => {
  test.for(['/guides/renew-green-card', GUIDE])(
    'has all of its text, and no navigation: %s',
    async (address) => {
      await using window = await openWindow()
      const { page } = window
      await openPath(page, address)
      // Leaves out the parts of a guide that are not printed.
      const lines = `[...document.querySelectorAll('.guide :is(h1, h2, h3, p, li)')].filter((each) => !each.closest('.contents, .machines, .mistaken, .before, .source')).map((each) => each.textContent)`
      const content = await page.evaluate<string[]>(lines)
      await page.emulateMedia({ media: 'print' })
      const removeSpaces = (text: string) => text.replaceAll(/\s+/g, '')
      const printedText = removeSpaces(await page.locator('main').innerText())
      // From the first citation on, such as [1], a text consists of sources, whose details are not printed.
      const isPrinted = (text: string) =>
        printedText.includes(removeSpaces(text.replaceAll(/\[\d+\][^]*/g, '')))
      expect(content.filter((text) => !isPrinted(text))).toEqual([])
      expect(content.length).toBeGreaterThan(30)
      expect(printedText).toContain(`${stack.origin}${address}`)
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
  test('has buttons that copy a command', async () => {
    await using window = await openWindow({ permissions: ['clipboard-read', 'clipboard-write'] })
    const { page } = window
    await openPath(page, '/docs')
    const command = await page.locator('.command').first().innerText()
    expect(command).toMatch(/^curl -sS \S+$/)
    await page.getByRole('button', { name: 'Copy' }).first().click()
    expect(await page.getByRole('button', { name: 'Copied' }).innerText()).toBe('Copied')
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(command)
  })

  test('sends a read without credentials, and shows the response in the page', async () => {
    await using window = await openWindow()
    const { page } = window
    await openPath(page, '/docs')
    await page.getByRole('button', { name: 'Send GET /api/guides', exact: true }).click()
    await expect.poll(() => page.locator('.try + pre').innerText()).toMatch(/^200\n\{\n {2}"guides": \[/)
    await expect.poll(() => page.url()).toBe(`${stack.origin}/docs`)
    expect(await findViolations(page)).toEqual([])
  })

  test('without scripts, opens the response of a read, and has no copy buttons', async () => {
    await using window = await openWindow({ javaScriptEnabled: false })
    const { page } = window
    await openPath(page, '/docs')
    expect(await page.getByRole('button', { name: 'Copy' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Send GET /api/guides', exact: true }).click()
    await page.waitForURL('**/api/guides?q=work+permit')
    expect(await page.locator('body').innerText()).toMatch(/^\{"guides":\[/)
  })

  test('breaks commands only between options, unless an option is too long for a line', async () => {
    await using window = await openWindow({ viewport: { width: 320, height: 640 } })
    const { page } = window
    await openPath(page, '/docs')
    // An option is an inline block. One with a second line is higher than 40 px. A line has room for 20 characters.
    const brokenOptions = `[...document.querySelectorAll('.command span')].filter((each) => each.getClientRects().length > 1 || (each.offsetHeight > 40 && each.textContent.length < 20)).map((each) => each.textContent)`
    expect(await page.evaluate(brokenOptions)).toEqual([])
  })
})

describe('every state of a page', () => {
  const STATES: [string, (page: Page) => Promise<unknown>][] = [
    ['a guide with the history and all sources open', (page) => openDetails(page, GUIDE)],
    ['an empty question', (page) => submit(page, '/ask', 'Ask')],
    ['an empty message', (page) => submit(page, '/contact', 'Send me the link')],
    ['an empty address', (page) => submit(page, '/waitlist', 'Join the waitlist')],
    [
      'a mistake to report',
      (page) => openPath(page, '/contact?passage=renew-green-card%23when-to-ask-for-a-new-card'),
    ],
  ]

  async function openDetails(page: Page, address: string): Promise<void> {
    await openPath(page, address)
    await page.evaluate('for (const each of document.querySelectorAll("details")) each.open = true')
  }

  async function submit(page: Page, address: string, button: string): Promise<void> {
    await openPath(page, address)
    await page.getByRole('button', { name: button, exact: true }).click()
    await page.locator('.summary').waitFor()
  }

  const APPEARANCES: [string, BrowserContextOptions][] = [
    ['light mode', { colorScheme: 'light' }],
    ['dark mode', { colorScheme: 'dark' }],
    ['forced-colours mode', { forcedColors: 'active' }],
  ]
  describe.for(APPEARANCES)('in %s', ([, options]) => {
    test.for(STATES)(
      'has no axe violations, and fits in a width of 320 pixels: %s',
      async ([, openState]) => {
        await using window = await openWindow({ ...options, viewport: { width: 320, height: 640 } })
        await openState(window.page)
        expect(await findViolations(window.page)).toEqual([])
        expect(await window.page.evaluate('document.documentElement.scrollWidth')).toBe(320)
      },
    )
  })
})
