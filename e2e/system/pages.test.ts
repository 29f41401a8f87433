import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { UNBREAKABLE_WORDS } from '@plainpath/pages'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { findViolations } from '../pages/find-violations.ts'
import { FOCUS_STATE, TAB_STOPS } from '../pages/focus.ts'
import { isOnScreen } from '../pages/is-on-screen.ts'
import { openBrowser } from '../pages/open-browser.ts'
import { EXAMPLE_QUESTIONS, SITE_PAGES } from '../pages/site-pages.ts'

const resources = new AsyncDisposableStack()
const stack = inject('pagesStack')
let browser: Browser

beforeAll(async () => {
  browser = resources.use(await openBrowser())
})
afterAll(() => resources.disposeAsync())

const pageNames = Object.keys(SITE_PAGES) as (keyof typeof SITE_PAGES)[]
const createEmail = () => `${randomUUID()}@example.org`

/**
 * Opens an empty page, which disposing closes. Records in `forbidden` what our pages must not do: throw errors, write to the
 * console (except about responses with 400 or 404), load scripts other than `leave` and `docs`, or send requests to another
 * origin.
 */
async function openVisit(options: BrowserContextOptions = {}) {
  const page = await browser.newPage(options)
  const forbidden: string[] = []
  page.on('pageerror', (error) => forbidden.push(error.message))
  page.on('console', (message) => {
    if (!/status of 40[04]/.test(message.text())) forbidden.push(message.text())
  })
  page.on('request', (request) => {
    const { origin } = new URL(request.url())
    if (origin !== stack.origin && !request.url().startsWith('data:')) forbidden.push(request.url())
    const isOwnScript = /\/assets\/(leave|docs)-[0-9a-f]{16}\.js$/.test(request.url())
    if (request.resourceType() === 'script' && !isOwnScript) forbidden.push(request.url())
  })
  return { page, forbidden, [Symbol.asyncDispose]: () => page.close() }
}

const openPath = (page: Page, path: string) => page.goto(`${stack.origin}${path}`)
const readHeading = (page: Page) => page.locator('h1').innerText()

describe('the waitlist form', () => {
  test('adds an address, keeps the referral code of a link, and recognises an address in any case, without scripts', async () => {
    await using visit = await openVisit({ javaScriptEnabled: false })
    const { page } = visit
    await openPath(page, '/')
    await page.fill('#email', createEmail())
    await page.getByRole('button', { name: 'Join the waitlist' }).click()
    await expect.poll(() => readHeading(page)).toBe('You are on the waitlist')
    const link = await page.locator('#referral').innerText()
    expect(link).toMatch(new RegExp(`^${stack.origin}/\\?ref=[a-z2-7]{16}$`))

    await page.goto(link)
    expect(await page.locator('[name=referredBySlug]').getAttribute('value')).toBe(link.split('=')[1])
    const email = createEmail()
    await page.fill('#email', email)
    await page.getByRole('button', { name: 'Join the waitlist' }).click()
    await expect.poll(() => readHeading(page)).toBe('You are on the waitlist')

    await openPath(page, '/waitlist')
    await page.fill('#email', email.toUpperCase())
    await page.locator('#email').press('Enter')
    await expect.poll(() => readHeading(page)).toBe('This address is on the waitlist already')
    expect(visit.forbidden).toEqual([])
  })

  test('focuses the error message, which links to the field, and keeps what was typed, without scripts', async () => {
    await using visit = await openVisit({ javaScriptEnabled: false })
    const { page } = visit
    // This referral code is well-formed, but belongs to nobody.
    await openPath(page, '/?ref=k3v7q2mzt5ndw4ha')
    await page.fill('#email', 'not an address')
    await page.getByRole('button', { name: 'Join the waitlist' }).click()
    await expect.poll(() => page.locator(':focus').innerText()).toContain('This is not an e-mail address.')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await expect.poll(() => new URL(page.url()).hash).toBe('#email')
    expect(await page.inputValue('#email')).toBe('not an address')
    expect(await page.locator('#email').getAttribute('aria-describedby')).toBe('email-mistake')
    expect(await page.locator('[name=referredBySlug]').getAttribute('value')).toBe('k3v7q2mzt5ndw4ha')
    await page.fill('#email', createEmail())
    await page.locator('#email').press('Enter')
    await expect.poll(() => readHeading(page)).toBe('You are on the waitlist')
  })

  test('is refused if another site submits it', async () => {
    await using visit = await openVisit()
    const { page } = visit
    const form = `<form method="post" action="${stack.origin}/waitlist"><input name="email" value="${createEmail()}"></form>`
    await page.goto(`data:text/html,${encodeURIComponent(form)}`)
    const [response] = await Promise.all([
      page.waitForResponse(`${stack.origin}/waitlist`),
      page.evaluate('document.forms[0].submit()'),
    ])
    expect(response.status()).toBe(403)
  })
})

describe('the page for questions', () => {
  test('answers without scripts, hands off after a yes, and puts the question neither into the URL nor into the contact form', async () => {
    await using visit = await openVisit({ javaScriptEnabled: false })
    const { page } = visit
    await openPath(page, '/')
    await page.fill('#question', EXAMPLE_QUESTIONS.information)
    await page.getByRole('button', { name: 'Ask' }).click()
    await expect.poll(() => readHeading(page)).toBe('Our answer')
    await expect.poll(() => page.url()).toBe(`${stack.origin}/ask`)
    await page.getByRole('link', { name: '[1]' }).first().click()
    await expect.poll(() => new URL(page.url()).hash).toBe('#source-1-1')
    await page.getByRole('radio', { name: 'Yes' }).first().check()
    await page.getByRole('button', { name: 'Send my answers' }).click()
    await expect.poll(() => readHeading(page)).toBe('Talk to an attorney about this')
    await expect.poll(() => page.url()).toBe(`${stack.origin}/ask`)
    expect(await page.locator('form[action="/contact"]').innerText()).not.toContain('green card')
    expect(visit.forbidden).toEqual([])
  })

  test('can be used by keyboard up to “None of these applies”', async () => {
    await using visit = await openVisit()
    const { page } = visit
    await openPath(page, '/ask')
    await page.locator('#question').focus()
    await page.keyboard.type(EXAMPLE_QUESTIONS.information)
    await page.keyboard.press('Tab')
    await expect.poll(() => page.locator(':focus').innerText()).toBe('Ask')
    await page.keyboard.press('Enter')
    await page.locator('#check').waitFor()
    const button = page.getByRole('button', { name: 'None of these applies' })
    for (let round = 0; (await button.count()) > 0; round += 1) {
      // A page that repeated its questions would otherwise keep the loop running until the test times out.
      expect(round).toBeLessThan(6)
      await button.focus()
      await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
    }
    expect(await page.locator('#check').innerText()).toBe('None of these applies to you')
  })

  test.for(Object.entries(EXAMPLE_QUESTIONS))(
    'has no axe violations, and fits in a width of 320 pixels: %s',
    async ([, question]) => {
      for (const colorScheme of ['light', 'dark'] as const) {
        await using visit = await openVisit({ colorScheme, viewport: { width: 320, height: 640 } })
        const { page } = visit
        await openPath(page, '/ask')
        await page.fill('#question', question)
        await page.getByRole('button', { name: 'Ask' }).click()
        await page.locator('.question').waitFor()
        expect(await findViolations(page)).toEqual([])
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
        expect(visit.forbidden).toEqual([])
      }
    },
  )

  test('focuses the message about a missing question', async () => {
    await using visit = await openVisit({ javaScriptEnabled: false })
    const { page } = visit
    await openPath(page, '/ask')
    await page.getByRole('button', { name: 'Ask' }).click()
    await expect.poll(() => page.locator(':focus').innerText()).toContain('Write your question')
  })
})

describe('with the keyboard alone', () => {
  test('a link skips the header, and a person can join the waitlist', async () => {
    await using visit = await openVisit()
    const { page } = visit
    await openPath(page, '/waitlist')
    await page.keyboard.press('Tab')
    await expect.poll(() => page.locator(':focus').innerText()).toBe('Skip to the text')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    expect(await page.locator(':focus').getAttribute('id')).toBe('email')
    await page.keyboard.type(createEmail())
    // The link to the privacy page is between the field and the button.
    for (let press = 0; press < 2; press += 1) await page.keyboard.press('Tab')
    await expect.poll(() => page.locator(':focus').innerText()).toBe('Join the waitlist')
    await page.keyboard.press('Enter')
    // Until the form is sent, the URL ends with the fragment of the skip link.
    await page.waitForURL('**/waitlist')
    await page.locator('#referral').waitFor()
  })

  test.for(pageNames)(
    'Tab reaches all tab stops in the order of the page, each with an outline: %s',
    async (name) => {
      await using visit = await openVisit()
      const { page } = visit
      await openPath(page, SITE_PAGES[name])
      const tabStopCount = Number(await page.evaluate(`${TAB_STOPS}.length`))
      const focusStates: unknown[] = []
      for (let step = 0; step < tabStopCount; step += 1) {
        await page.keyboard.press('Tab')
        focusStates.push(await page.evaluate(FOCUS_STATE))
      }
      expect(focusStates).toEqual(
        Array.from({ length: tabStopCount }, (_, index) => ({ index, outline: '3px solid' })),
      )
    },
  )
})

test.for([
  [320, 568],
  [360, 640],
] as const)(
  'the first screen of a phone has, in this order, the heading, the question box with its button, urgent help, the disclaimer and the link for developers: %i × %i',
  async ([width, height]) => {
    await using visit = await openVisit({ viewport: { width, height } })
    const { page } = visit
    await openPath(page, '/')
    const elements = [
      page.getByRole('heading', { level: 1 }),
      page.getByLabel('Ask in your own words'),
      page.getByRole('button', { name: 'Ask', exact: true }),
      page.getByRole('link', { name: 'Get help now', exact: true }),
      page.getByText('not a law firm and not the government').first(),
      page.getByRole('link', { name: 'For AI software and developers', exact: true }),
    ]
    // `${element}` is the locator, so that a failure names it.
    for (const element of elements)
      expect([`${element}`, await isOnScreen(page, element)]).toEqual([`${element}`, true])
    const tops = await Promise.all(elements.map(async (element) => (await element.boundingBox())?.y ?? 0))
    expect(tops).toEqual(tops.toSorted((a, b) => a - b))
  },
)

test.for([320, 960])(
  'the home page has its parts in one order, none beside another, at a width of %i pixels',
  async (width) => {
    await using visit = await openVisit({ viewport: { width, height: 640 } })
    await openPath(visit.page, '/')
    // `.urgent` is the line that links to urgent help, and `#urgent` is the section about it.
    const parts = ['#question', '.urgent', '#guides', '#urgent', '#agents'].map((part) =>
      visit.page.locator(part),
    )
    const tops = await Promise.all(parts.map(async (part) => (await part.boundingBox())?.y ?? 0))
    expect(tops).toEqual(tops.toSorted((a, b) => a - b))
    expect(new Set(tops).size).toBe(parts.length)
  },
)

test('the printed page /get-help has its text, and no navigation, search or buttons', async () => {
  await using visit = await openVisit()
  const { page } = visit
  await page.emulateMedia({ media: 'print' })
  await openPath(page, '/get-help')
  for (const hidden of [page.locator('nav'), page.getByRole('search'), page.locator('form button')])
    for (const each of await hidden.all()) expect(await each.isVisible()).toBe(false)
  expect(await page.getByRole('heading', { name: 'If it is urgent' }).isVisible()).toBe(true)
  // The line for finding a person whom ICE holds.
  expect(await page.getByText('1-888-351-4024').isVisible()).toBe(true)
})

/**
 * A script that lists the form numbers and other unbreakable names that are broken over two lines. Ignores names in code, in text
 * areas and in collapsed sources.
 */
const LIST_BROKEN_NAMES = `(() => {
  const broken = []
  const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const { currentNode: text } = texts
    if (text.parentElement.closest('pre, code, textarea, .source:not([open])')) continue
    for (const { 0: name, index } of text.data.matchAll(new RegExp(${JSON.stringify(UNBREAKABLE_WORDS.source)}, 'g'))) {
      const range = document.createRange()
      range.setStart(text, index)
      range.setEnd(text, index + name.length)
      if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) broken.push(name + ': ' + text.data.slice(0, 60))
    }
  }
  return broken
})()`

describe.for(pageNames)('the page %s', (name) => {
  test('fits in a width of 320 pixels, cuts nothing off, and breaks no unbreakable name', async () => {
    await using visit = await openVisit({ viewport: { width: 320, height: 640 } })
    await openPath(visit.page, SITE_PAGES[name])
    expect(await visit.page.evaluate('document.documentElement.scrollWidth')).toBe(320)
    // The half pixel allows for rounded layout.
    const overflowingElements = `[...document.querySelectorAll('main *')].filter((each) => each.getBoundingClientRect().right > 320.5).map((each) => each.outerHTML.slice(0, 80))`
    expect(await visit.page.evaluate(overflowingElements)).toEqual([])
    expect(await visit.page.evaluate(LIST_BROKEN_NAMES)).toEqual([])
  })

  test.for([
    ['light', { colorScheme: 'light' }],
    ['dark', { colorScheme: 'dark' }],
    ['forced colours', { forcedColors: 'active' }],
  ] satisfies [string, BrowserContextOptions][])(
    'has no axe violations, and does nothing forbidden: %s',
    async ([, options]) => {
      await using visit = await openVisit(options)
      await openPath(visit.page, SITE_PAGES[name])
      expect(await findViolations(visit.page)).toEqual([])
      expect(visit.forbidden).toEqual([])
    },
  )
})

test.for(pageNames)('the page %s loads less than 50 kB of content, in two to four requests', async (name) => {
  await using visit = await openVisit()
  const { page } = visit
  const sizes: Promise<number>[] = []
  page.on('requestfinished', (request) => {
    if (!request.url().startsWith('data:'))
      sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize))
  })
  await openPath(page, SITE_PAGES[name])
  expect(sizes.length).toBeGreaterThanOrEqual(2)
  expect(sizes.length).toBeLessThanOrEqual(4)
  const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
  expect(total).toBeLessThan(50_000)
})

test('axe finds no violation on the pages that the waitlist form leads to', async () => {
  await using visit = await openVisit()
  const { page } = visit
  await openPath(page, '/waitlist')
  const email = createEmail()
  for (const input of ['', 'nobody', email]) {
    await page.fill('#email', input)
    await page.locator('#email').press('Enter')
    await page.waitForLoadState()
    expect(await findViolations(page)).toEqual([])
  }
})

/** Matches the commands that fail in this test, because they need a person who reads a mail, or a second secret. */
const NEEDS_MAIL_OR_SECRET = /\/api\/(contact\b|agent\/(assertion|claim\/complete|secrets\/[\w-]+)\b)/

describe('the commands of /docs', () => {
  test('succeed as they are shown, except those that need a mail or a second secret', async () => {
    await using visit = await openVisit()
    await openPath(visit.page, '/docs')
    const commands = await visit.page.locator('code.command').allInnerTexts()
    const sharedCredentials = await createCredentials()
    const outputs: string[] = []
    for (const command of commands) {
      // Some DELETE and PUT commands delete the client or revoke its secret, so each of them gets a client of its own.
      const variables = / -X (DELETE|PUT) /.test(command) ? await createCredentials() : sharedCredentials
      const statusCommand = command.replace('curl -sS', `curl -sS -o /dev/null -w '%{http_code}'`)
      const { stdout } = await promisify(execFile)('sh', ['-c', statusCommand], {
        env: { ...process.env, ...variables },
      })
      outputs.push(`${stdout} ${command}`)
    }
    const getExpectedPattern = (output: string) =>
      NEEDS_MAIL_OR_SECRET.test(output) ? /^40[0349] / : /^20[0124] /
    expect(outputs.filter((output) => !getExpectedPattern(output).test(output))).toEqual([])
    // These numbers show that the selector and the pattern still find the commands of the page.
    expect(commands.length).toBeGreaterThanOrEqual(18)
    expect(commands.filter((command) => NEEDS_MAIL_OR_SECRET.test(command))).toHaveLength(7)
  })
})

/** Creates the values of `$id`, `$secret` and `$token` in the commands. */
async function createCredentials(): Promise<Record<'id' | 'secret' | 'token', string>> {
  const registration = await fetch(`${stack.origin}/api/agent/register`, { method: 'POST' })
  const { client_id: id, client_secret: secret } = (await registration.json()) as Record<string, string>
  const response = await fetch(`${stack.origin}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  const { access_token: token } = (await response.json()) as Record<string, string>
  return { id: id ?? '', secret: secret ?? '', token: token ?? '' }
}
