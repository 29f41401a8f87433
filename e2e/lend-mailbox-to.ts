import type { MailServer } from '@plainpath/mail/testing'
import { JWT_BEARER_GRANT } from '@plainpath/metadata'
import { waitUntil } from '@plainpath/stack/managed-process'
import { basic, form, type HttpResponse, json, type Sender } from './send.ts'

export interface AgentCredentials {
  readonly client_id: string
  readonly client_secret: string
}

export const STAFF_INBOX = 'desk@answers.example.org'

const MAILED_MS = 20_000

/** Settings with which both apps send mail to the server, and messages to `DESK` without a hold. */
export const mailSettings = ({ url }: Pick<MailServer, 'url'>) => ({
  AUTH_SMTP_URL: url,
  RESOURCE_SMTP_URL: url,
  AUTH_MAIL_FROM: 'no-reply@plainpath.example',
  RESOURCE_MAIL_FROM: 'no-reply@plainpath.example',
  RESOURCE_DESK_ADDRESS: STAFF_INBOX,
  RESOURCE_CONTACT_HOLD: '0',
})

type Fields = Record<string, unknown>

/** Sends a request. @throws {Error} when the response has another status */
function parsed(response: HttpResponse, status: number): Record<string, string> {
  if (response.status !== status) throw new Error(`${response.status} instead of ${status}: ${response.text}`)
  return JSON.parse(response.text) as Record<string, string>
}

export const postAs = (sender: Sender, agent: AgentCredentials, path: string, body: Fields) => {
  const sent = json(body)
  const headers = { ...sent.headers, ...basic(agent.client_id, agent.client_secret) }
  return sender.send({ method: 'POST', path, ...sent, headers })
}

/** Exchanges an assertion at the token endpoint. */
export function exchange(sender: Sender, agent: AgentCredentials, assertion: string): Promise<HttpResponse> {
  const sent = form({ grant_type: JWT_BEARER_GRANT, assertion })
  const headers = { ...sent.headers, ...basic(agent.client_id, agent.client_secret) }
  return sender.send({ method: 'POST', path: '/oauth/token', ...sent, headers })
}

/** Begins a verification. Returns the two words, and the link in the mail. */
export async function beginClaim(
  { mail }: { readonly mail: Pick<MailServer, 'received'> },
  sender: Sender,
  given: { agent: AgentCredentials; email: string },
): Promise<{ phrase: string; link: string; attemptId: string }> {
  const response = await postAs(sender, given.agent, '/api/agent/claim', { email: given.email })
  const { match_phrase: phrase = '', claim_attempt_id: attemptId = '' } = parsed(response, 202)
  return { phrase, attemptId, link: await mailedLink({ mail }, given.email, phrase) }
}

/** @returns the link that is mailed to `email` for the verification with these two words */
export async function mailedLink(
  { mail }: { readonly mail: Pick<MailServer, 'received'> },
  email: string,
  phrase: string,
): Promise<string> {
  const its = () => mail.received.find(({ to, text }) => to.includes(email) && text.includes(phrase))
  if (!(await waitUntil(() => its() !== undefined, MAILED_MS)))
    throw new Error('the mail of the claim never came')
  return linkIn(its()?.text ?? '', 'attempt')
}

/** Presses the button of the page behind a mailed link. @returns the code that the page shows then */
export async function showCode(sender: Sender, link: string): Promise<string> {
  const attempt = new URL(link).searchParams.get('attempt') ?? ''
  const page = await sender.send({ method: 'POST', path: '/claim', ...form({ attempt, answer: 'yes' }) })
  return /<code id="code">([\d ]+)</.exec(page.text)?.[1] ?? ''
}

/** Completes the verification with the code. Returns the assertion. */
export async function completeClaim(sender: Sender, agent: AgentCredentials, otp: string): Promise<string> {
  const response = await postAs(sender, agent, '/api/agent/claim/complete', { otp })
  return parsed(response, 200)['identity_assertion'] ?? ''
}

/** Returns a token with the confirmed scope. */
export async function lentToken(sender: Sender, agent: AgentCredentials, assertion: string): Promise<string> {
  const { scope = '', access_token: token = '' } = parsed(await exchange(sender, agent, assertion), 200)
  if (!scope.includes('contact:write')) throw new Error(`a token for ${scope}`)
  return token
}

/** Lets a person at `email` confirm the agent, over HTTP. Returns a token with `contact:write`. */
export async function lendMailboxTo(
  agent: AgentCredentials,
  email: string,
  { mail, sender }: { mail: Pick<MailServer, 'received'>; sender: Sender },
): Promise<string> {
  const { link } = await beginClaim({ mail }, sender, { agent, email })
  return lentToken(sender, agent, await completeClaim(sender, agent, await showCode(sender, link)))
}

/** Finds the link in a mail of a verification. */
export const linkIn = (text: string, kind: 'attempt' | 'end'): string =>
  new RegExp(`^ *(http\\S+/claim\\?${kind}=[\\w-]{43})$`, 'm').exec(text)?.[1] ?? ''
