import { type MailServer, startMailServer } from '@plainpath/mail/testing'
import { JWT_BEARER_GRANT } from '@plainpath/metadata'
import { expect } from 'vitest'
import { type Answer, basic, form, json, type Sender } from '../send.ts'
import { openSystem, type RegisteredAgent, type System } from './open-system.ts'

export const DESK = 'desk@answers.example.org'

/** The whole topology, with a mail server that both apps send to. */
export interface MailSystem extends System {
  readonly mail: MailServer
}

export async function openMailSystem(options: { limitsFactor: number }): Promise<MailSystem> {
  await using opening = new AsyncDisposableStack()
  const mail = opening.use(await startMailServer())
  const settings = {
    AUTH_SMTP_URL: mail.url,
    RESOURCE_SMTP_URL: mail.url,
    AUTH_MAIL_FROM: 'no-reply@plainpath.example',
    RESOURCE_MAIL_FROM: 'no-reply@plainpath.example',
    RESOURCE_DESK_ADDRESS: DESK,
  }
  const system = opening.use(await openSystem({ ...options, settings }))
  const resources = opening.move()
  return { ...system, mail, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

type Fields = Record<string, unknown>
const parsed = (answer: Answer): Record<string, string> => JSON.parse(answer.text)

export const postAs = (sender: Sender, agent: RegisteredAgent, path: string, body: Fields) => {
  const sent = json(body)
  const headers = { ...sent.headers, ...basic(agent.client_id, agent.client_secret) }
  return sender.send({ method: 'POST', path, ...sent, headers })
}

/** @returns the answer of the token endpoint to an assertion */
export function exchange(sender: Sender, agent: RegisteredAgent, assertion: string): Promise<Answer> {
  const sent = form({ grant_type: JWT_BEARER_GRANT, assertion })
  const headers = { ...sent.headers, ...basic(agent.client_id, agent.client_secret) }
  return sender.send({ method: 'POST', path: '/oauth/token', ...sent, headers })
}

/** Begins a claim. @returns the two words, and the link that is mailed */
export async function beginClaim(
  { mail }: Pick<MailSystem, 'mail'>,
  sender: Sender,
  given: { agent: RegisteredAgent; email: string },
): Promise<{ phrase: string; link: string; attemptId: string }> {
  const answer = await postAs(sender, given.agent, '/api/agent/claim', { email: given.email })
  expect(answer.status, answer.text).toBe(202)
  const { match_phrase: phrase = '', claim_attempt_id: attemptId = '' } = parsed(answer)
  const its = () => mail.received.find(({ to, text }) => to.includes(given.email) && text.includes(phrase))
  await expect.poll(its, { timeout: 20_000 }).toBeDefined()
  return { phrase, attemptId, link: linkIn(its()?.text ?? '', 'attempt') }
}

/** Gives the code back. @returns the assertion */
export async function completeClaim(sender: Sender, agent: RegisteredAgent, otp: string): Promise<string> {
  const answer = await postAs(sender, agent, '/api/agent/claim/complete', { otp })
  expect(answer.status, answer.text).toBe(200)
  return parsed(answer)['identity_assertion'] ?? ''
}

/** @returns a token for what the person lent */
export async function lentToken(sender: Sender, agent: RegisteredAgent, assertion: string): Promise<string> {
  const answer = await exchange(sender, agent, assertion)
  expect(answer.status, answer.text).toBe(200)
  expect(parsed(answer)['scope']).toContain('contact:write')
  return parsed(answer)['access_token'] ?? ''
}

/** All of it over plain HTTP. @returns a token for what the person lent */
export async function lendMailbox(system: MailSystem, email: string): Promise<string> {
  const sender = system.client({ from: '127.0.0.101' })
  const agent = await system.register(sender)
  const { link } = await beginClaim(system, sender, { agent, email })
  const attempt = new URL(link).searchParams.get('attempt') ?? ''
  const page = await sender.send({ method: 'POST', path: '/claim', ...form({ attempt, answer: 'yes' }) })
  const otp = /<code id="code">([\d ]+)</.exec(page.text)?.[1] ?? ''
  return lentToken(sender, agent, await completeClaim(sender, agent, otp))
}

/** @returns the one link of a mail about a claim */
export const linkIn = (text: string, kind: 'attempt' | 'end'): string =>
  new RegExp(`^ *(http\\S+/claim\\?${kind}=[\\w-]{43})$`, 'm').exec(text)?.[1] ?? ''
