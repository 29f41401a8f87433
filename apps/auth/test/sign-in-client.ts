import { formatAppHost } from '@plainpath/domain'
import { type MailServer, startMailServer } from '@plainpath/mail/testing'
import { expect } from 'vitest'
import type { AppClient } from '../src/app-clients/app-client.ts'
import { authorize, exampleApp, locationOf, newRequest } from './app-flow.ts'
import { Browser } from './browser.ts'
import { headingIn, newAddress } from './claim-client.ts'
import { type AuthStores, openAuthStores } from './open-auth-stores.ts'
import type { HttpResponse } from './send.ts'
import { type RunningAuth, startInstance } from './start-auth.ts'

/** A server with the real sign-in pages, a mail server, the test's apps, and a clock that only the test moves on. */
export interface SignInsUnderTest extends AsyncDisposable {
  readonly auth: RunningAuth
  readonly stores: AuthStores
  readonly mail: MailServer
  readonly clock: { now: Date }
  /** Apps by id. One that is missing is not acceptable any more. */
  readonly apps: Map<string, AppClient>
  /** Another process on the same stores. */
  another(env?: Record<string, string>): Promise<RunningAuth>
}

/** @param settings of every process */
export async function startSignIns(settings: Record<string, string> = {}): Promise<SignInsUnderTest> {
  await using opening = new AsyncDisposableStack()
  const mail = opening.use(await startMailServer())
  const stores = opening.use(await openAuthStores())
  const clock = { now: new Date() }
  const apps = new Map<string, AppClient>()
  const another = (env: Record<string, string> = {}) =>
    startInstance(stores, {
      now: () => clock.now,
      env: { AUTH_SMTP_URL: mail.url, ...settings, ...env },
      apps: { find: async (_ctx, id) => apps.get(id) },
    })
  const auth = opening.use(await another())
  const resources = opening.move()
  return { auth, stores, mail, clock, apps, another, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

const FROM_PAGE = { 'sec-fetch-site': 'same-origin' }

/** One tab of a browser at the pages of one sign-in. */
export class Tab {
  readonly browser: Browser
  readonly path: string
  readonly email = newAddress('canary-signs-in')
  readonly app: AppClient
  readonly #under: SignInsUnderTest
  /** The page that it shows. */
  shown: HttpResponse

  private constructor(under: SignInsUnderTest, at: Pick<Tab, 'browser' | 'path' | 'app' | 'shown'>) {
    this.#under = under
    this.browser = at.browser
    this.path = at.path
    this.app = at.app
    this.shown = at.shown
    under.auth.confidential.add(this.email)
  }

  /** Begins a sign-in in a browser of its own. */
  static async open(
    under: SignInsUnderTest,
    { app = exampleApp(), auth = under.auth }: { app?: AppClient; auth?: RunningAuth } = {},
  ): Promise<Tab> {
    under.apps.set(app.id, app)
    const browser = new Browser(auth.url)
    const { pathname } = locationOf(await authorize(browser, app, newRequest()))
    return new Tab(under, { browser, path: pathname, app, shown: await browser.open(pathname) })
  }

  /** Another tab of the same browser, at the same page. */
  async another(): Promise<Tab> {
    const { browser, path, app } = this
    return new Tab(this.#under, { browser, path, app, shown: await browser.open(path) })
  }

  get heading(): string | undefined {
    return headingIn(this.shown.text)
  }

  async load(): Promise<HttpResponse> {
    this.shown = await this.browser.open(this.path)
    return this.shown
  }

  field(name: string): string {
    return new RegExp(`<input name="${name}" type="hidden" value="([^"]*)">`).exec(this.shown.text)?.[1] ?? ''
  }

  /** Sends a form of the page that is shown. A redirect to the page itself is followed. */
  async press(
    step: string,
    fields: Record<string, string> = {},
    headers: Record<string, string> = FROM_PAGE,
  ): Promise<HttpResponse> {
    const attempt = this.field('attempt')
    const form = { token: this.field('token'), ...(attempt && { attempt }), step, ...fields }
    const answer = await this.browser.open(this.path, {
      method: 'POST',
      headers,
      body: new URLSearchParams(form),
    })
    if (
      answer.status === 303 &&
      new URL(answer.headers.get('location') ?? '', 'http://x').pathname === this.path
    )
      await this.load()
    else if (answer.status !== 303) this.shown = answer
    return answer
  }

  /** The codes that were mailed to the address, oldest first; waits for that many. */
  codes(count: number, email = this.email): Promise<string[]> {
    return mailedCodes(this.#under, email, count)
  }

  /** Types the address, and reads the code from the mail. */
  async askForCode(email = this.email): Promise<string> {
    const before = codesTo(this.#under, email).length
    locationOf(await this.press('email', { email }))
    return (await this.codes(before + 1, email)).at(-1) ?? ''
  }

  /** Types the code, presses Allow, and follows to the app. */
  async allow(code: string): Promise<URL> {
    return await this.follow(await this.press('code', { code }))
  }

  /** Follows the redirect of this server. @returns the one to the app */
  async follow(answer: HttpResponse): Promise<URL> {
    return locationOf(await this.browser.open(locationOf(answer).href))
  }
}

export const codesTo = (under: SignInsUnderTest, email: string): string[] =>
  under.mail.received
    .filter(({ to, subject }) => to.includes(email) && subject === 'Your sign-in code for Plainpath')
    .map(({ text }) => /^ {3}(\d{3}) (\d{3})$/m.exec(text)?.slice(1).join('') ?? '')

async function mailedCodes(under: SignInsUnderTest, email: string, count: number): Promise<string[]> {
  const found = () => codesTo(under, email)
  await expect.poll(() => found().length, { timeout: 10_000 }).toBeGreaterThanOrEqual(count)
  for (const code of found()) under.auth.confidential.add(`otp ${code}`)
  return found()
}

export const hostApp = (redirectUri: string, members: Partial<AppClient> = {}): AppClient =>
  exampleApp({
    redirectUris: [redirectUri],
    applicationType: formatAppHost(redirectUri).includes('.') ? 'web' : 'native',
    ...members,
  })

/** A whole sign-in. @returns the id of the claim */
export async function signedIn(
  under: SignInsUnderTest,
  { app, email }: { app?: AppClient; email?: string } = {},
): Promise<{ tab: Tab; registrationId: string; agentId: string; back: URL }> {
  const tab = await Tab.open(under, app ? { app } : {})
  const address = email ?? tab.email
  under.auth.confidential.add(address)
  const back = await tab.allow(await tab.askForCode(address))
  expect(back.searchParams.get('code')).toMatch(/^[A-Za-z0-9_-]{43}$/)
  under.auth.confidential.add(back.searchParams.get('code') ?? '')
  const { rows } = await under.stores.db.query<{ id: string; agent_id: string }>(
    `select claims.id, agent_id from claims join agents on agents.id = agent_id
     where app_client_id = $1 order by verified_at desc limit 1`,
    [tab.app.id],
  )
  return { tab, registrationId: rows[0]?.id ?? '', agentId: rows[0]?.agent_id ?? '', back }
}

/** Counts the rows of a `from` clause. */
export async function countRows(under: SignInsUnderTest, from: string, values: readonly unknown[] = []) {
  const { rows } = await under.stores.db.query<{ n: number }>(`select count(*)::int as n from ${from}`, [
    ...values,
  ])
  return rows[0]?.n
}

/** Counts the claims of the connections with an app, of which each test has its own. */
export const claimsOf = (under: SignInsUnderTest, { app }: Pick<Tab, 'app'>) =>
  countRows(under, 'claims join agents on agents.id = agent_id where app_client_id = $1', [app.id])
