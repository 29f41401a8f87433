import { randomUUID } from 'node:crypto'
import type { MailServer } from '@plainpath/mail/testing'
import { waitUntil } from '@plainpath/stack/managed-process'
import { findLink } from '../verification-steps.ts'
import { createPlainBrowser, type Page, type PlainBrowser } from './plain-browser.ts'

const DELIVERY_TIMEOUT_MS = 20_000

/** A person with a mailbox and a browser without scripts. */
export interface Person extends Disposable {
  readonly email: string
  readonly browser: PlainBrowser
  /**
   * Opens the page for an authorization, enters the e-mail address and the mailed code, and allows the connection.
   *
   * @returns the address outside the service to which the browser was redirected
   */
  signIn(authorizationUrl: URL): Promise<URL>
  /** Opens the page that asks for the e-mail address. @throws {Error} if it is not shown */
  begin(authorizationUrl: URL): Promise<Page>
  /** Enters the e-mail address. @returns the page that asks for the code, and the mailed code */
  giveAddress(page: Page): Promise<{ readonly page: Page; readonly code: string }>
  /** Types the code and allows the connection. @throws {Error} if the browser is not redirected to the app */
  allow(page: Page, code: string): Promise<URL>
  /** Denies the connection. @throws {Error} if the browser is not redirected to the app */
  deny(page: Page): Promise<URL>
  /** Waits for `count` mailed sign-in codes, and returns all codes, oldest first. */
  waitForCodes(count: number): Promise<readonly string[]>
  /** Waits for a mail with an end link, and returns the newest such link. */
  waitForEndLink(): Promise<string>
  /** Opens the end link and revokes all access. */
  revokeAllAccess(): Promise<Page>
}

export interface PersonOptions {
  readonly origin: string
  readonly mail: Pick<MailServer, 'received'>
  readonly email?: string
  /** The address of the browser, in 127.0.0.0/8. */
  readonly from?: string
}

/** Creates a person. Mails to the address must arrive in `mail`. */
export function createPerson({ origin, mail, email = createAddress(), from }: PersonOptions): Person {
  const browser = createPlainBrowser(origin, from)
  const listMails = () => mail.received.filter(({ to }) => to.includes(email))
  const listCodes = () =>
    listMails().flatMap(({ text }) => SIGN_IN_CODE.exec(text)?.[1]?.replace(' ', '') ?? [])
  const person: Person = {
    email,
    browser,
    async signIn(authorizationUrl) {
      const { page, code } = await person.giveAddress(await person.begin(authorizationUrl))
      return person.allow(page, code)
    },
    async begin(authorizationUrl) {
      const page = await browser.open(authorizationUrl)
      if (page.status !== 200)
        throw new Error(`${page.status} ${page.heading}: ${page.externalTarget ?? page.text}`)
      return page
    },
    async giveAddress(page) {
      const codeCountBefore = listCodes().length
      const codePage = await browser.press(page, BUTTONS.continue, { email })
      if (codePage.status !== 200) throw new Error(`${codePage.status} ${codePage.heading}: ${codePage.text}`)
      return { page: codePage, code: (await person.waitForCodes(codeCountBefore + 1)).at(-1) ?? '' }
    },
    async allow(page, code) {
      return requireExternalTarget(await browser.press(page, BUTTONS.allow, { code }))
    },
    async deny(page) {
      return requireExternalTarget(await browser.press(page, BUTTONS.deny))
    },
    async waitForCodes(count) {
      if (!(await waitUntil(() => listCodes().length >= count, DELIVERY_TIMEOUT_MS)))
        throw new Error(`${listCodes().length} codes were mailed instead of ${count}`)
      return listCodes()
    },
    async waitForEndLink() {
      const findNewestLink = () =>
        listMails()
          .flatMap(({ text }) => findLink(text, 'end') || [])
          .at(-1)
      if (!(await waitUntil(() => findNewestLink() !== undefined, DELIVERY_TIMEOUT_MS)))
        throw new Error('no mail has an end link')
      return findNewestLink() ?? ''
    },
    async revokeAllAccess() {
      return browser.press(await browser.open(await person.waitForEndLink()), BUTTONS.end)
    },
    [Symbol.dispose]: () => browser[Symbol.dispose](),
  }
  return person
}

const createAddress = () => `person.${randomUUID().slice(0, 13)}@example.org`

/** The first words of the buttons on the sign-in pages. */
export const BUTTONS = {
  continue: 'Continue',
  allow: 'Allow',
  deny: 'Deny',
  again: 'Send another code',
  end: 'End',
} as const

/** The line of the mail that has the code and nothing else. */
export const SIGN_IN_CODE = /^ +(\d{3} ?\d{3})$/m

/** Returns the address outside the service to which the browser was redirected. @throws {Error} if there is none */
function requireExternalTarget(page: Page): URL {
  if (!page.externalTarget)
    throw new Error(`the browser stayed at ${page.path}: ${page.status} ${page.heading}: ${page.text}`)
  return page.externalTarget
}
