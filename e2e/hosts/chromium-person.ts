import { randomUUID } from 'node:crypto'
import type { MailServer } from '@plainpath/mail/testing'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { linkIn } from '../lend-mailbox-to.ts'
import { BUTTONS, SIGN_IN_CODE } from './person.ts'

/** A person at a page of Chromium, with a mailbox. */
export interface ChromiumPerson {
  readonly email: string
  /** Signs in on the page that an app opened: enters the address and the code, and presses Allow. */
  signIn(page: Page): Promise<void>
  /** Opens the end link of the newest mail, and revokes all access. */
  endEverything(page: Page): Promise<void>
}

const MAIL_TIMEOUT = { timeout: 20_000 }

/** Creates a person. @param options.checkPages true to check the accessibility of every page, which needs scripts */
export function chromiumPerson(
  mail: Pick<MailServer, 'received'>,
  { checkPages = false }: { readonly checkPages?: boolean } = {},
): ChromiumPerson {
  const email = `person.${randomUUID().slice(0, 13)}@canary.example.org`
  const texts = () => mail.received.filter(({ to }) => to.includes(email)).map(({ text }) => text)
  const findNewest = (find: (text: string) => string | undefined) =>
    texts()
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
      const code = () => findNewest((text) => SIGN_IN_CODE.exec(text)?.[1]?.replace(' ', ''))
      await expect.poll(code, MAIL_TIMEOUT).toBeDefined()
      await page.locator('input[name=code]').fill(code() ?? '')
      await press(page, BUTTONS.allow)
    },
    async endEverything(page) {
      const link = () => findNewest((text) => linkIn(text, 'end'))
      await expect.poll(link, MAIL_TIMEOUT).toBeDefined()
      await page.goto(link() ?? '')
      await checkPage(page)
      await press(page, BUTTONS.end)
      await page.waitForLoadState()
      await checkPage(page)
    },
  }
}

/** Expects no violation of a rule of axe, and no need to scroll sideways at 320 pixels. */
async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate<axe.AxeResults>('axe.run()')
  expect(violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))).toEqual([])
  const size = page.viewportSize()
  await page.setViewportSize({ width: 320, height: 640 })
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
  if (size) await page.setViewportSize(size)
}
