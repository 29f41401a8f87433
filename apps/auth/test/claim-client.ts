import { type MailServer, startMailServer } from '@plainpath/mail/testing'
import { expect } from 'vitest'
import { asAgent, json, type Registered, register } from './agent-client.ts'
import { type AuthStores, openAuthStores, type TokenPlace } from './open-auth-stores.ts'
import { type HttpResponse, send } from './send.ts'
import { type RunningAuth, startInstance } from './start-auth.ts'

/** A server with claims and a mail server of its own, and a clock that only the test moves on. */
export interface ClaimsUnderTest extends AsyncDisposable {
  readonly auth: RunningAuth
  readonly stores: AuthStores
  readonly mail: MailServer
  readonly clock: { now: Date }
  /** Another process on the same stores. */
  another(env?: Record<string, string>): Promise<RunningAuth>
}

export async function startClaims(
  options: { env?: Record<string, string>; tokens?: TokenPlace } = {},
): Promise<ClaimsUnderTest> {
  await using opening = new AsyncDisposableStack()
  const mail = opening.use(await startMailServer())
  const stores = opening.use(await openAuthStores(options.tokens))
  const clock = { now: new Date() }
  const another = (env: Record<string, string> = {}) =>
    startInstance(stores, {
      now: () => clock.now,
      env: { AUTH_SMTP_URL: mail.url, ...options.env, ...env },
    })
  const auth = opening.use(await another())
  const resources = opening.move()
  return { auth, stores, mail, clock, another, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

let people = 0
/** An address that nobody else in this process has. */
export const newAddress = (local = 'canary-person') => `${local}-${(people++).toString()}@example.org`

export const claim = (auth: RunningAuth, agent: Registered, body: unknown): Promise<HttpResponse> =>
  post(auth, agent, '/api/agent/claim', body)
export const complete = (auth: RunningAuth, agent: Registered, body: unknown): Promise<HttpResponse> =>
  post(auth, agent, '/api/agent/claim/complete', body)
export const endClaim = (auth: RunningAuth, agent: Registered): Promise<HttpResponse> =>
  send(auth.url, { method: 'DELETE', path: '/api/agent/claim', headers: asAgent(agent) })

function post(auth: RunningAuth, agent: Registered, path: string, body: unknown): Promise<HttpResponse> {
  const { headers, body: text } = json(body)
  return send(auth.url, { method: 'POST', path, headers: { ...headers, ...asAgent(agent) }, body: text })
}

export interface Attempt {
  readonly agent: Registered
  readonly email: string
  readonly phrase: string
  readonly id: string
  readonly registrationId: string
  /** The secret in the mailed link. */
  readonly secret: string
}

/** Registers an agent if none is given, begins a claim and waits for the mail. */
export async function begin(
  under: ClaimsUnderTest,
  given: { agent?: Registered; email?: string; auth?: RunningAuth } = {},
): Promise<Attempt> {
  const auth = given.auth ?? under.auth
  const agent = given.agent ?? (await register(auth))
  const email = given.email ?? newAddress()
  auth.confidential.add(email)
  const earlierMails = under.mail.received.length
  const response = await claim(auth, agent, { email })
  expect(response.status, response.text).toBe(202)
  const begun = JSON.parse(response.text) as Record<string, string>
  const phrase = begun['match_phrase'] ?? ''
  // Two attempts for one mailbox can have the same phrase by chance, so earlier mails do not count.
  const itsMail = () =>
    under.mail.received
      .slice(earlierMails)
      .find(({ to, text }) => to.includes(email) && text.includes(phrase))
  await expect.poll(itsMail, { timeout: 10_000 }).toBeDefined()
  const secret = secretIn(itsMail()?.text ?? '')
  auth.confidential.add(secret)
  return {
    agent,
    email,
    secret,
    phrase,
    id: begun['claim_attempt_id'] ?? '',
    registrationId: begun['registration_id'] ?? '',
  }
}

export const secretIn = (text: string) =>
  /\/claim\?(?:attempt|end)=([A-Za-z0-9_-]{43})\n/.exec(text)?.[1] ?? ''

const BROWSER = { accept: 'text/html,*/*;q=0.8', 'sec-fetch-site': 'same-origin' }
export const openClaimPage = (
  auth: RunningAuth,
  query: Record<string, string>,
  method = 'GET',
): Promise<HttpResponse> =>
  send(auth.url, { method, path: `/claim?${new URLSearchParams(query)}`, headers: BROWSER })
export const pressButton = (
  auth: RunningAuth,
  fields: Record<string, string>,
  headers = {},
): Promise<HttpResponse> =>
  send(auth.url, {
    method: 'POST',
    path: '/claim',
    headers: { ...BROWSER, ...headers },
    body: new URLSearchParams(fields),
  })
export const sayYes = (auth: RunningAuth, { secret }: { secret: string }) =>
  pressButton(auth, { attempt: secret, answer: 'yes' })
export const sayNo = (auth: RunningAuth, { secret }: { secret: string }) =>
  pressButton(auth, { attempt: secret, answer: 'no' })

export const codeIn = (page: string) =>
  /<code id="code">(\d{3}) (\d{3})<\/code>/.exec(page)?.slice(1).join('') ?? ''
export const headingIn = (page: string) => /<h1>([^<]*)<\/h1>/.exec(page)?.[1]

/** Presses *yes* and reads the code. */
export async function showCode(auth: RunningAuth, attempt: { secret: string }): Promise<string> {
  const page = await sayYes(auth, attempt)
  expect(page.status, page.text).toBe(200)
  const code = codeIn(page.text)
  expect(code).toMatch(/^\d{6}$/)
  auth.confidential.add(`otp ${code}`)
  return code
}

/** A code that is not the right one. */
export const wrongCode = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, '0')

/** A whole claim. */
export async function confirmed(
  under: ClaimsUnderTest,
  given: Parameters<typeof begin>[1] = {},
): Promise<Attempt> {
  const attempt = await begin(under, given)
  const auth = given.auth ?? under.auth
  const response = await complete(auth, attempt.agent, { otp: await showCode(auth, attempt) })
  expect(response.status, response.text).toBe(200)
  return attempt
}
