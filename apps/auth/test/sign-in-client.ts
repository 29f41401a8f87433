import { formatAppHost } from '@plainpath/domain'
import { type MailServer, startMailServer } from '@plainpath/mail/testing'
import { expect } from 'vitest'
import type { AppClient } from '../src/app-clients/app-client.ts'
import { authorize, createExampleApp, generateRequestValues, getRedirectTarget } from './app-flow.ts'
import { Browser } from './browser.ts'
import { type AuthTestbed, openAuthTestbed } from './open-auth-testbed.ts'
import type { HttpResponse } from './send.ts'
import { type RunningAuth, startInstance } from './start-auth.ts'
import { createAddress, findHeading } from './verification-client.ts'

/** An instance with the real sign-in pages, a mail server, and apps and a clock that the test controls. */
export interface SignInSystem extends AsyncDisposable {
  readonly auth: RunningAuth
  readonly testbed: AuthTestbed
  readonly mailServer: MailServer
  readonly clock: { now: Date }
  /** Apps by id. An app that is not in the map is unknown to the instances. */
  readonly apps: Map<string, AppClient>
  /** Starts another instance in the same testbed. The caller disposes it. */
  startAnother(env?: Record<string, string>): Promise<RunningAuth>
}

/** Opens a testbed, and starts a mail server and one instance. `settings` apply to every instance. */
export async function startSignInSystem(settings: Record<string, string> = {}): Promise<SignInSystem> {
  await using opening = new AsyncDisposableStack()
  const mailServer = opening.use(await startMailServer())
  const testbed = opening.use(await openAuthTestbed())
  const clock = { now: new Date() }
  const apps = new Map<string, AppClient>()
  const startAnother = (env: Record<string, string> = {}) =>
    startInstance(testbed, {
      now: () => clock.now,
      env: { AUTH_SMTP_URL: mailServer.url, ...settings, ...env },
      apps: { find: async (_ctx, id) => apps.get(id) },
    })
  const auth = opening.use(await startAnother())
  const resources = opening.move()
  return {
    auth,
    testbed,
    mailServer,
    clock,
    apps,
    startAnother,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** The header of a form that our own page sends. */
export const FROM_PAGE = { 'sec-fetch-site': 'same-origin' }

/** A browser tab with the pages of one sign-in. */
export class Tab {
  readonly browser: Browser
  readonly path: string
  /** A new address for each tab. */
  readonly email = createAddress('canary-signs-in')
  readonly app: AppClient
  readonly #system: SignInSystem
  /** The page that the tab shows. */
  page: HttpResponse

  private constructor(system: SignInSystem, members: Pick<Tab, 'browser' | 'path' | 'app' | 'page'>) {
    this.#system = system
    this.browser = members.browser
    this.path = members.path
    this.app = members.app
    this.page = members.page
    system.auth.confidential.add(this.email)
  }

  /** Begins a sign-in, in a new browser. */
  static async open(
    system: SignInSystem,
    { app = createExampleApp(), auth = system.auth }: { app?: AppClient; auth?: RunningAuth } = {},
  ): Promise<Tab> {
    system.apps.set(app.id, app)
    const browser = new Browser(auth.url)
    const { pathname } = getRedirectTarget(await authorize(browser, app, generateRequestValues()))
    return new Tab(system, { browser, path: pathname, app, page: await browser.open(pathname) })
  }

  /** Opens the same page in another tab of the same browser. */
  async openAnother(): Promise<Tab> {
    const { browser, path, app } = this
    return new Tab(this.#system, { browser, path, app, page: await browser.open(path) })
  }

  get heading(): string | undefined {
    return findHeading(this.page.text)
  }

  /** Loads the page again. */
  async reload(): Promise<HttpResponse> {
    this.page = await this.browser.open(this.path)
    return this.page
  }

  /** Reads a hidden field of the page. Returns an empty string if there is none. */
  readField(name: string): string {
    return new RegExp(`<input name="${name}" type="hidden" value="([^"]*)">`).exec(this.page.text)?.[1] ?? ''
  }

  /**
   * Submits the form of a step. Follows a redirect only if it leads back to the page.
   *
   * @param step the value of the button: `email`, `code`, `resend`, `address`, `continue` or `deny`
   */
  async submit(
    step: string,
    fields: Record<string, string> = {},
    headers: Record<string, string> = FROM_PAGE,
  ): Promise<HttpResponse> {
    const attempt = this.readField('attempt')
    const form = { token: this.readField('token'), ...(attempt && { attempt }), step, ...fields }
    const response = await this.browser.open(this.path, {
      method: 'POST',
      headers,
      body: new URLSearchParams(form),
    })
    if (
      response.status === 303 &&
      new URL(response.headers.get('location') ?? '', 'http://x').pathname === this.path
    )
      await this.reload()
    else if (response.status !== 303) this.page = response
    return response
  }

  /**
   * Waits until `count` codes have arrived for the address. Adds them to `confidentialCodes`.
   *
   * @returns all codes that have arrived, the oldest first
   */
  waitForCodes(count: number, email = this.email): Promise<string[]> {
    return waitForMailedCodes(this.#system, email, count)
  }

  /** Submits the address, and waits for the mailed code. */
  async requestCode(email = this.email): Promise<string> {
    const earlierCount = findMailedCodes(this.#system, email).length
    getRedirectTarget(await this.submit('email', { email }))
    return (await this.waitForCodes(earlierCount + 1, email)).at(-1) ?? ''
  }

  /** Enters the code and presses *Allow*. Returns the URL at which the browser reaches the app. */
  async allow(code: string): Promise<URL> {
    return await this.followToApp(await this.submit('code', { code }))
  }

  /** Follows a redirect to the authorization endpoint. Returns the target of the next redirect, which leads to the app. */
  async followToApp(response: HttpResponse): Promise<URL> {
    return getRedirectTarget(await this.browser.open(getRedirectTarget(response).href))
  }
}

/** Finds the codes that were mailed to the address so far, the oldest first. */
export const findMailedCodes = (system: SignInSystem, email: string): string[] =>
  system.mailServer.received
    .filter(({ to, subject }) => to.includes(email) && subject === 'Your sign-in code for Plainpath')
    .map(({ text }) => /^ {3}(\d{3}) (\d{3})$/m.exec(text)?.slice(1).join('') ?? '')

async function waitForMailedCodes(system: SignInSystem, email: string, count: number): Promise<string[]> {
  const findCodes = () => findMailedCodes(system, email)
  await expect.poll(() => findCodes().length, { timeout: 10_000 }).toBeGreaterThanOrEqual(count)
  for (const code of findCodes()) system.auth.confidentialCodes.add(code)
  return findCodes()
}

/**
 * Creates an app with the redirect URI, and with the application type that fits it. `formatAppHost` returns a host with a dot
 * for a web app, and `loopback` or a custom scheme for a native app.
 */
export const exampleAppAt = (redirectUri: string, members: Partial<AppClient> = {}): AppClient =>
  createExampleApp({
    redirectUris: [redirectUri],
    applicationType: formatAppHost(redirectUri).includes('.') ? 'web' : 'native',
    ...members,
  })

/**
 * Goes through a whole sign-in, in a new browser.
 *
 * @returns the tab, the URL at which the browser reached the app, and the ids of the newest connection with this app
 *   (`agentId`) and of its verification
 */
export async function completeSignIn(
  system: SignInSystem,
  { app, email }: { app?: AppClient; email?: string } = {},
): Promise<{ tab: Tab; verificationId: string; agentId: string; callbackUrl: URL }> {
  const tab = await Tab.open(system, app ? { app } : {})
  const address = email ?? tab.email
  system.auth.confidential.add(address)
  const callbackUrl = await tab.allow(await tab.requestCode(address))
  expect(callbackUrl.searchParams.get('code')).toMatch(/^[A-Za-z0-9_-]{43}$/)
  system.auth.confidential.add(callbackUrl.searchParams.get('code') ?? '')
  const { rows } = await system.testbed.db.query<{ id: string; agent_id: string }>(
    `select claims.id, agent_id from claims join agents on agents.id = agent_id
     where app_client_id = $1 order by verified_at desc limit 1`,
    [tab.app.id],
  )
  return { tab, verificationId: rows[0]?.id ?? '', agentId: rows[0]?.agent_id ?? '', callbackUrl }
}

/** Counts the rows that an SQL `from` clause selects. It may have a `where` clause. */
export async function countRowsFrom(system: SignInSystem, from: string, values: readonly unknown[] = []) {
  const { rows } = await system.testbed.db.query<{ n: number }>(`select count(*)::int as n from ${from}`, [
    ...values,
  ])
  return rows[0]?.n
}

/** Counts the verifications of the connections with a tab's app, including those that have ended. */
export const countVerifications = (system: SignInSystem, { app }: Pick<Tab, 'app'>) =>
  countRowsFrom(system, 'claims join agents on agents.id = agent_id where app_client_id = $1', [app.id])
