import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { FOCUSABLE_SELECTOR } from '../pages/focus.ts'
import { isOnScreen } from '../pages/is-on-screen.ts'
import { openBrowser } from '../pages/open-browser.ts'
import { EXAMPLE_QUESTIONS } from '../pages/site-pages.ts'

/*
 * What people come to the site for, each from the first page to the result. `pages.test.ts` and `safe-pages.test.ts` test single
 * pages.
 */

const resources = new AsyncDisposableStack()
const stack = inject('pagesStack')
let browser: Browser

beforeAll(async () => {
  browser = resources.use(await openBrowser())
})
afterAll(() => resources.disposeAsync())

const readHeading = (page: Page) => page.locator('h1').innerText()

/**
 * Opens a page with scripts disabled, for a person who uses only the keyboard. Counts activations: how often the person presses Enter
 * on a link, on a button, or in a field.
 */
async function openWithKeyboard(address: string) {
  const page = await browser.newPage({ javaScriptEnabled: false })
  await page.goto(`${stack.origin}${address}`)
  let activationCount = 0
  /** Presses Tab until the element has the focus. @throws {Error} if Tab does not reach it */
  async function tabTo(element: Locator): Promise<void> {
    const focusableCount = await page.locator(FOCUSABLE_SELECTOR).count()
    for (let step = 0; step < focusableCount; step++) {
      await page.keyboard.press('Tab')
      if ((await element.and(page.locator(':focus')).count()) > 0) return
    }
    throw new Error(`Tab does not reach ${element} on ${page.url()}`)
  }
  /** Presses Enter on the focused element, which must open a page, and waits for that page. */
  async function pressEnter(): Promise<void> {
    activationCount += 1
    // The wait must begin before the press, or it could miss the navigation.
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
  }
  const findControl = (name: string | RegExp) => {
    const options = typeof name === 'string' ? { name, exact: true } : { name }
    return page.getByRole('link', options).or(page.getByRole('button', options))
  }
  return {
    page,
    pressEnter,
    /** Writes into the field with the label. */
    async write(label: string, text: string): Promise<void> {
      await tabTo(page.getByLabel(label, { exact: true }))
      await page.keyboard.type(text)
    },
    /** Presses Enter on the link or button with the name. */
    async activate(name: string | RegExp): Promise<void> {
      await tabTo(findControl(name))
      await pressEnter()
    },
    countActivations: () => activationCount,
    [Symbol.asyncDispose]: () => page.close(),
  }
}

describe('with the keyboard alone and without scripts, in at most three activations', () => {
  test('a person finds how to replace a lost card, by situation', async () => {
    await using person = await openWithKeyboard('/')
    await person.activate('Green card')
    await expect.poll(() => person.page.url()).toBe(`${stack.origin}/guides#green-card`)
    await person.activate(/^Replace a lost/)
    expect(await readHeading(person.page)).toMatch(/^Replace a lost/)
    expect(person.countActivations()).toBeLessThanOrEqual(3)
  })

  test('a person finds how to replace a lost card, by searching', async () => {
    await using person = await openWithKeyboard('/')
    await person.write('Search the guides', 'I lost my green card')
    await person.pressEnter()
    await expect.poll(() => person.page.url()).toContain('/search?q=')
    await person.activate(/^Replace a lost/)
    expect(await readHeading(person.page)).toMatch(/^Replace a lost/)
    expect(person.countActivations()).toBeLessThanOrEqual(3)
  })

  test.for([
    ['/', 'Get help now', 'ICE detainee locator'],
    ['/', 'Ayuda en español', 'localizador de detenidos de ICE'],
    ['/guides/work-permit', 'Get help', 'ICE detainee locator'],
  ] as const)(
    'a person finds urgent help for somebody who is detained, from %s, via the link “%s”',
    async ([address, linkName, locatorLinkName]) => {
      await using person = await openWithKeyboard(address)
      const { page } = person
      await person.activate(linkName)
      for (const name of ['911', '1-888-351-4024', locatorLinkName])
        expect(await page.getByRole('link', { name, exact: true }).isVisible()).toBe(true)
      expect(await isOnScreen(page, page.getByRole('link', { name: '911' }))).toBe(true)
      expect(person.countActivations()).toBeLessThanOrEqual(3)
    },
  )

  test('a person asks a question, writes to staff, and reaches the page about the confirmation e-mail', async () => {
    await using person = await openWithKeyboard('/')
    await person.write('Ask in your own words', EXAMPLE_QUESTIONS['hand-off'])
    await person.activate('Ask')
    expect(await readHeading(person.page)).toBe('Get help today')
    await person.write('Your message', 'My brother was taken. How can we reach you?')
    await person.write('Your e-mail address', 'sister@example.org')
    await person.activate('Send me the link')
    expect(await readHeading(person.page)).toBe('Open the e-mail that we send you')
    expect(person.countActivations()).toBeLessThanOrEqual(3)
  })

  test('a person prints a guide offline, with its whole text and its address', async () => {
    await using person = await openWithKeyboard('/')
    const { page } = person
    await person.activate('Green card')
    await person.activate(/^Replace a lost/)
    expect(person.countActivations()).toBeLessThanOrEqual(3)
    await page.context().setOffline(true)
    const guideTexts = await page.locator('.guide .text :is(p, li)').allInnerTexts()
    const pdf = await page.pdf({ format: 'Letter' })
    // A PDF has an object of this type for each page.
    expect(pdf.toString('latin1').match(/\/Type \/Page\b/g)?.length).toBeGreaterThan(1)
    await page.emulateMedia({ media: 'print' })
    const printedText = removeSpaces(await page.locator('main').innerText())
    const textsWithoutCitations = guideTexts.map((text) =>
      removeSpaces(text.replaceAll(/\[\d+\]|Report a mistake/g, '')),
    )
    expect(textsWithoutCitations.filter((text) => !printedText.includes(text))).toEqual([])
    expect(guideTexts.length).toBeGreaterThan(20)
    expect(printedText).toContain(page.url().replace(/#.*/, ''))
  })

  test('a developer finds how an agent registers', async () => {
    await using person = await openWithKeyboard('/')
    const { page } = person
    await person.activate('For AI software and developers')
    const command = page.locator('code', { hasText: '/api/agent/register' })
    expect(await isOnScreen(page, command)).toBe(true)
    await person.activate('How an agent registers')
    await expect.poll(() => page.url()).toBe(`${stack.origin}/auth.md`)
    expect(person.countActivations()).toBeLessThanOrEqual(3)
  })
})

const removeSpaces = (text: string) => text.replaceAll(/\s+/g, '')
