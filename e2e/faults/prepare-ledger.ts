import type { MailServer } from '@plainpath/mail/testing'
import { type App, openApp } from '../hosts/app.ts'
import { connect } from '../hosts/connect.ts'
import { createPerson } from '../hosts/person.ts'
import { createAppRegistration } from '../hosts/scene.ts'
import { createHttpClient } from './http-client.ts'
import { createLedger, type Ledger } from './ledger.ts'
import { getOperation, type OperationName } from './operations.ts'
import { parseJsonObject } from './refusal.ts'
import { retryWhileRefused } from './retry-while-refused.ts'

const REDIRECT_URI = 'http://localhost:8787/callback'

interface LedgerSize {
  /** The approximate number of agents, and also of tokens, bound tokens and addresses. */
  readonly agents: number
  readonly people: number
  /** The number of concurrent requests. */
  readonly concurrency: number
}

const LARGE: LedgerSize = { agents: 150, people: 40, concurrency: 10 }

/**
 * Registers agents, requests tokens for them, joins the waitlist and signs people in, so that the load has what it
 * needs from its first request.
 *
 * @param options.mail receives the service's mails, with the codes that people need to sign in. Without it, nobody
 *   signs in
 */
export async function prepareLedger(
  origin: string,
  { mail, size = LARGE }: { readonly mail?: Pick<MailServer, 'received'>; readonly size?: LedgerSize } = {},
): Promise<Ledger> {
  using client = createHttpClient(origin)
  const { text } = await client.send({ method: 'GET', path: '/api/guides' })
  const { guides } = parseJsonObject(text)
  const slugs = (guides as { slug: string }[]).map(({ slug }) => slug)
  using app = mail && (await openApp({ origin, registration: createAppRegistration(REDIRECT_URI) }))
  const ledger = createLedger(origin, slugs, app?.clientId)
  if (app && mail) await signInPeople(app, mail)
  for (const name of ['register', 'token', 'bound token', 'join'] as const) {
    let remaining = size.agents
    const worker = async () => {
      for (; remaining > 0; remaining -= 1) await retryWhileRefused(() => perform(name))
    }
    await Promise.all(Array.from({ length: size.concurrency }, worker))
  }
  return ledger

  async function signInPeople(signInApp: App, mails: Pick<MailServer, 'received'>): Promise<void> {
    let remaining = size.people
    const worker = async () => {
      for (; remaining > 0; remaining -= 1) {
        using person = createPerson({ origin, mail: mails })
        const requestedAt = performance.now()
        const { accessToken, refreshToken } = await retryWhileRefused(() =>
          connect(signInApp, person, { redirectUri: REDIRECT_URI }),
        )
        const owner = { refreshToken, requestsInFlight: 0 }
        ledger.connections.push(owner)
        const token = { value: accessToken, owner, isBound: false, requestedAt }
        ledger.tokens.push(token)
        ledger.liveTokens.push(token)
      }
    }
    await Promise.all(Array.from({ length: size.concurrency }, worker))
  }

  async function perform(name: OperationName): Promise<void> {
    const attempt = getOperation(name).prepare(ledger)
    const mistake = attempt?.check(await client.send(attempt.request))
    attempt?.release?.()
    if (mistake) throw new Error(`${name}: ${mistake}`)
  }
}
