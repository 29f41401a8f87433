import type { MailServer } from '@plainpath/mail/testing'
import { type App, openApp } from '../hosts/app.ts'
import { connect } from '../hosts/connect.ts'
import { newPerson } from '../hosts/person.ts'
import { registrationFor } from '../hosts/scene.ts'
import { createHttpClient } from './http-client.ts'
import { type Ledger, newLedger } from './ledger.ts'
import { type OperationName, operation } from './operations.ts'
import { jsonObject } from './refusal.ts'

const AGENTS = 150
const PEOPLE = 40
const REDIRECT_URI = 'http://localhost:8787/callback'
const AT_ONCE = 10

/**
 * Creates agents with a token each, and addresses, so that every operation is possible from the first request.
 *
 * @param mail receives the mails of the service, so that people can sign in; without it there are no people
 */
export async function prepareLedger(
  origin: string,
  { mail }: { readonly mail?: Pick<MailServer, 'received'> } = {},
): Promise<Ledger> {
  using client = createHttpClient(origin)
  const list = jsonObject((await client.send({ method: 'GET', path: '/api/guides' })).text)['guides']
  const guides = (list as { slug: string }[]).map(({ slug }) => slug)
  using app = mail && (await openApp({ origin, registration: registrationFor(REDIRECT_URI) }))
  const ledger = newLedger(origin, guides, app?.clientId)
  if (app && mail) await signInPeople(app, mail)
  for (const name of ['register', 'token', 'bound token', 'join'] as const) {
    let left = AGENTS
    const worker = async () => {
      for (; left > 0; left -= 1) await carryOut(name)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
  }
  return ledger

  async function signInPeople(signInApp: App, mails: Pick<MailServer, 'received'>): Promise<void> {
    let left = PEOPLE
    const worker = async () => {
      for (; left > 0; left -= 1) {
        using person = newPerson({ origin, mail: mails })
        const requestedAt = performance.now()
        const { accessToken, refreshToken } = await connect(signInApp, person, { redirectUri: REDIRECT_URI })
        const owner = { refreshToken, busy: 0 }
        ledger.connections.push(owner)
        const token = { value: accessToken, owner, isBound: false, requestedAt }
        ledger.tokens.push(token)
        ledger.liveTokens.push(token)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
  }

  async function carryOut(name: OperationName): Promise<void> {
    const attempt = operation(name).prepare(ledger)
    const wrong = attempt?.read(await client.send(attempt.sent))
    attempt?.release?.()
    if (wrong) throw new Error(`${name}: ${wrong}`)
  }
}
