import { randomUUID } from 'node:crypto'
import type { MailServer } from '@plainpath/mail/testing'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { findLink } from '../verification-steps.ts'
import { BUTTONS, SIGN_IN_CODE } from './person.ts'

/** A person at a page of Chromium, with a mailbox. */
export interface ChromiumPerson {
  readonly email: string
  /** Signs in on the page that an app opened: enters the e-mail address and the code, and presses Allow. */
  signIn(page: Page): Promise<void>
  /** Waits for a mail with an end link, opens the newest such link, and revokes all access. */
  revokeAllAccess(page: Page): Promise<void>
}

const POLL_OPTIONS = { timeout: 20_000 }

/**
 * Creates a person with a new address.
 *
 * @param options.checkPages true to check the accessibility of the pages on which the person acts, which needs scripts
 */
export function createChromiumPerson(
  mail: Pick<MailServer, 'received'>,
  { checkPages = false }: { readonly checkPages?: boolean } = {},
): ChromiumPerson {
  const email = `person.${randomUUID().slice(0, 13)}@canary.example.org`
  const listMailTexts = () => mail.received.filter(({ to }) => to.includes(email)).map(({ text }) => text)
  const findNewest = (find: (text: string) => string | undefined) =>
    listMailTexts()
      .flatMap((text) => find(text) || [])
      .at(-1)
  const checkPage = (page: Page) => (checkPages ? expectAccessible(page) : Promise.resolve())
  const press = (page: Page, button: string) =>
    page
      .getByRole('button', { name: new RegExp(`^${button}`) })
      .first()
      .click()
  return {
    email,
    async signIn(page) {
      await checkPage(page)
      await page.locator('input[name=email]').fill(email)
      await press(page, BUTTONS.continue)
      await page.locator('input[name=code]').waitFor()
      await checkPage(page)
      const findCode = () => findNewest((text) => SIGN_IN_CODE.exec(text)?.[1]?.replace(' ', ''))
      await expect.poll(findCode, POLL_OPTIONS).toBeDefined()
      await page.locator('input[name=code]').fill(findCode() ?? '')
      await press(page, BUTTONS.allow)
    },
    async revokeAllAccess(page) {
      const findEndLink = () => findNewest((text) => findLink(text, 'end'))
      await expect.poll(findEndLink, POLL_OPTIONS).toBeDefined()
      await page.goto(findEndLink() ?? '')
      await checkPage(page)
      await press(page, BUTTONS.end)
      await page.waitForLoadState()
      await checkPage(page)
    },
  }
}

/** Expects that axe finds no violation, and that a page 320 pixels wide needs no horizontal scrolling (WCAG 2.2, 1.4.10). */
async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate<axe.AxeResults>('axe.run()')
  expect(violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))).toEqual([])
  const size = page.viewportSize()
  await page.setViewportSize({ width: 320, height: 640 })
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
  if (size) await page.setViewportSize(size)
}
