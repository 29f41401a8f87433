import { type MailServer, startMailServer } from '@plainpath/mail/testing'
import { expect } from 'vitest'
import { agentAuthHeader, createJsonContent, type RegisteredAgent, register } from './agent-client.ts'
import { type AuthTestbed, openAuthTestbed, type TokenStoreKind } from './open-auth-testbed.ts'
import { type HttpResponse, send } from './send.ts'
import { type RunningAuth, startInstance } from './start-auth.ts'

/** An instance with a mail server and a testbed of its own, and a clock that only the test moves. */
export interface VerificationSystem extends AsyncDisposable {
  readonly auth: RunningAuth
  readonly testbed: AuthTestbed
  readonly mailServer: MailServer
  readonly clock: { now: Date }
  /** Starts another instance with the same testbed and mail server. The caller disposes it. */
  startAnother(env?: Record<string, string>): Promise<RunningAuth>
}

/** @param options.env settings of every instance, including those that `startAnother` starts */
export async function startVerificationSystem(
  options: { env?: Record<string, string>; tokenStore?: TokenStoreKind } = {},
): Promise<VerificationSystem> {
  await using opening = new AsyncDisposableStack()
  const mailServer = opening.use(await startMailServer())
  const testbed = opening.use(await openAuthTestbed(options.tokenStore))
  const clock = { now: new Date() }
  const startAnother = (env: Record<string, string> = {}) =>
    startInstance(testbed, {
      now: () => clock.now,
      env: { AUTH_SMTP_URL: mailServer.url, ...options.env, ...env },
    })
  const auth = opening.use(await startAnother())
  const resources = opening.move()
  return {
    auth,
    testbed,
    mailServer,
    clock,
    startAnother,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

let addressCount = 0
/** Creates an e-mail address that was not used before in this process. */
export const createAddress = (local = 'canary-person') =>
  `${local}-${(addressCount++).toString()}@example.org`

/** Requests a verification as the agent. Does not check the response. */
export const requestVerification = (
  auth: RunningAuth,
  agent: RegisteredAgent,
  body: unknown,
): Promise<HttpResponse> => postAsAgent(auth, agent, '/api/agent/claim', body)
/** Sends a code as the agent. Does not check the response. */
export const completeVerification = (
  auth: RunningAuth,
  agent: RegisteredAgent,
  body: unknown,
): Promise<HttpResponse> => postAsAgent(auth, agent, '/api/agent/claim/complete', body)
export const revokeVerification = (auth: RunningAuth, agent: RegisteredAgent): Promise<HttpResponse> =>
  send(auth.url, { method: 'DELETE', path: '/api/agent/claim', headers: agentAuthHeader(agent) })

function postAsAgent(
  auth: RunningAuth,
  agent: RegisteredAgent,
  path: string,
  body: unknown,
): Promise<HttpResponse> {
  const { headers, body: text } = createJsonContent(body)
  return send(auth.url, {
    method: 'POST',
    path,
    headers: { ...headers, ...agentAuthHeader(agent) },
    body: text,
  })
}

/** A verification attempt whose mail has arrived. */
export interface Attempt {
  readonly agent: RegisteredAgent
  readonly email: string
  /** The two words that the agent and the page behind the mailed link show to the person. */
  readonly phrase: string
  readonly id: string
  /** The id of the verification that the attempt leads to. */
  readonly registrationId: string
  /** The secret in the mailed link. */
  readonly secret: string
}

/** Begins a verification and waits for its mail. Registers an agent unless one is given. */
export async function beginVerification(
  system: VerificationSystem,
  options: { agent?: RegisteredAgent; email?: string; auth?: RunningAuth } = {},
): Promise<Attempt> {
  const auth = options.auth ?? system.auth
  const agent = options.agent ?? (await register(auth))
  const email = options.email ?? createAddress()
  auth.confidential.add(email)
  const earlierMailCount = system.mailServer.received.length
  const response = await requestVerification(auth, agent, { email })
  expect(response.status, response.text).toBe(202)
  const body = JSON.parse(response.text) as Record<string, string>
  const phrase = body['match_phrase'] ?? ''
  // Two attempts for one mailbox can have the same phrase by chance, so earlier mails are skipped.
  const findMail = () =>
    system.mailServer.received
      .slice(earlierMailCount)
      .find(({ to, text }) => to.includes(email) && text.includes(phrase))
  await expect.poll(findMail, { timeout: 10_000 }).toBeDefined()
  const secret = findLinkSecret(findMail()?.text ?? '')
  auth.confidential.add(secret)
  return {
    agent,
    email,
    secret,
    phrase,
    id: body['claim_attempt_id'] ?? '',
    registrationId: body['registration_id'] ?? '',
  }
}

/**
 * Finds the secret of the link in a mail: a link that opens an attempt (`attempt`), or one that ends the agent's access (`end`).
 * Returns an empty string if there is none.
 */
export const findLinkSecret = (text: string) =>
  /\/claim\?(?:attempt|end)=([A-Za-z0-9_-]{43})\n/.exec(text)?.[1] ?? ''

const BROWSER_HEADERS = { accept: 'text/html,*/*;q=0.8', 'sec-fetch-site': 'same-origin' }
/** Opens the page behind a mailed link. `query` has the secret of the link, as `attempt` or as `end`. */
export const openClaimPage = (
  auth: RunningAuth,
  query: Record<string, string>,
  method = 'GET',
): Promise<HttpResponse> =>
  send(auth.url, { method, path: `/claim?${new URLSearchParams(query)}`, headers: BROWSER_HEADERS })
/** Submits a form of the page behind a mailed link, as one of its buttons does. */
export const pressButton = (
  auth: RunningAuth,
  fields: Record<string, string>,
  headers = {},
): Promise<HttpResponse> =>
  send(auth.url, {
    method: 'POST',
    path: '/claim',
    headers: { ...BROWSER_HEADERS, ...headers },
    body: new URLSearchParams(fields),
  })
export const sayYes = (auth: RunningAuth, { secret }: { secret: string }) =>
  pressButton(auth, { attempt: secret, answer: 'yes' })
export const sayNo = (auth: RunningAuth, { secret }: { secret: string }) =>
  pressButton(auth, { attempt: secret, answer: 'no' })

/** Finds the code on a page. Returns an empty string if there is none. */
export const findCode = (page: string) =>
  /<code id="code">(\d{3}) (\d{3})<\/code>/.exec(page)?.slice(1).join('') ?? ''
export const findHeading = (page: string) => /<h1>([^<]*)<\/h1>/.exec(page)?.[1]

/** Presses *Yes* on the page behind the mailed link. Returns the six digits of the code. */
export async function showCode(auth: RunningAuth, attempt: { secret: string }): Promise<string> {
  const page = await sayYes(auth, attempt)
  expect(page.status, page.text).toBe(200)
  const code = findCode(page.text)
  expect(code).toMatch(/^\d{6}$/)
  auth.confidentialCodes.add(code)
  return code
}

/** Creates a code that differs from `code`. */
export const createWrongCode = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, '0')

/** Completes a verification, so that the agent is confirmed. */
export async function confirmAgent(
  system: VerificationSystem,
  options: Parameters<typeof beginVerification>[1] = {},
): Promise<Attempt> {
  const attempt = await beginVerification(system, options)
  const auth = options.auth ?? system.auth
  const response = await completeVerification(auth, attempt.agent, { otp: await showCode(auth, attempt) })
  expect(response.status, response.text).toBe(200)
  return attempt
}
