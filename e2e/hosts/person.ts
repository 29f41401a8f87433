import { randomUUID } from 'node:crypto'
import type { MailServer } from '@plainpath/mail/testing'
import { waitUntil } from '@plainpath/stack/managed-process'
import { linkIn } from '../lend-mailbox-to.ts'
import { openPlainBrowser, type Page, type PlainBrowser } from './plain-browser.ts'

const MAILED_MS = 20_000

/** A person with a mailbox and a browser without scripts. */
export interface Person extends Disposable {
  readonly email: string
  readonly browser: PlainBrowser
  /** Opens what an app sent the browser to, gives the address, types the code that is mailed, and allows. */
  signIn(authorizationUrl: URL): Promise<URL>
  /** The page that asks for the address. */
  begin(authorizationUrl: URL): Promise<Page>
  /** Gives the address. @returns the page that asks for the code, and the code that was mailed for it */
  giveAddress(page: Page): Promise<{ readonly page: Page; readonly code: string }>
  /** Types the code and allows. @throws {Error} when the browser does not leave for the app */
  allow(page: Page, code: string): Promise<URL>
  deny(page: Page): Promise<URL>
  /** The codes that were mailed to sign in, oldest first. Waits for `count` of them. */
  codes(count: number): Promise<readonly string[]>
  /** The end link of the newest mail that has one. */
  endLink(): Promise<string>
  /** Ends everything that is lent, on the page behind that link. */
  endEverything(): Promise<Page>
}

export interface PersonOptions {
  readonly origin: string
  readonly mail: Pick<MailServer, 'received'>
  readonly email?: string
  /** Any of 127.0.0.0/8. */
  readonly from?: string
}

export function newPerson({ origin, mail, email = newAddress(), from }: PersonOptions): Person {
  const browser = openPlainBrowser(origin, from)
  const mailed = () => mail.received.filter(({ to }) => to.includes(email))
  const codesSoFar = () =>
    mailed().flatMap(({ text }) => SIGN_IN_CODE.exec(text)?.[1]?.replace(' ', '') ?? [])
  const person: Person = {
    email,
    browser,
    async signIn(authorizationUrl) {
      const { page, code } = await person.giveAddress(await person.begin(authorizationUrl))
      return person.allow(page, code)
    },
    async begin(authorizationUrl) {
      const page = await browser.open(authorizationUrl)
      if (page.status !== 200) throw new Error(`${page.status} ${page.heading}: ${page.left ?? page.text}`)
      return page
    },
    async giveAddress(page) {
      const before = codesSoFar().length
      const next = await browser.press(page, BUTTONS.continue, { email })
      if (next.status !== 200) throw new Error(`${next.status} ${next.heading}: ${next.text}`)
      return { page: next, code: (await person.codes(before + 1)).at(-1) ?? '' }
    },
    async allow(page, code) {
      return left(await browser.press(page, BUTTONS.allow, { code }))
    },
    async deny(page) {
      return left(await browser.press(page, BUTTONS.deny))
    },
    async codes(count) {
      if (!(await waitUntil(() => codesSoFar().length >= count, MAILED_MS)))
        throw new Error(`${codesSoFar().length} codes were mailed instead of ${count}`)
      return codesSoFar()
    },
    async endLink() {
      const link = () =>
        mailed()
          .flatMap(({ text }) => linkIn(text, 'end') || [])
          .at(-1)
      if (!(await waitUntil(() => link() !== undefined, MAILED_MS)))
        throw new Error('no mail has an end link')
      return link() ?? ''
    },
    async endEverything() {
      return browser.press(await browser.open(await person.endLink()), BUTTONS.end)
    },
    [Symbol.dispose]: () => browser[Symbol.dispose](),
  }
  return person
}

const newAddress = () => `person.${randomUUID().slice(0, 13)}@example.org`

/** What the buttons of the sign-in pages begin with. */
export const BUTTONS = {
  continue: 'Continue',
  allow: 'Allow',
  deny: 'Deny',
  again: 'Send another code',
  end: 'End',
} as const

/** The line of the mail that has the code and nothing else. */
export const SIGN_IN_CODE = /^ +(\d{3} ?\d{3})$/m

function left(page: Page): URL {
  if (!page.left)
    throw new Error(`the browser stayed at ${page.path}: ${page.status} ${page.heading}: ${page.text}`)
  return page.left
}
