import type { MailServer } from '@plainpath/mail/testing'
import { JWT_BEARER_GRANT } from '@plainpath/metadata'
import { waitUntil } from '@plainpath/stack/managed-process'
import { basic, form, type HttpResponse, json, type Sender } from './send.ts'

export interface AgentCredentials {
  readonly client_id: string
  readonly client_secret: string
}

export const STAFF_INBOX = 'desk@answers.example.org'

const DELIVERY_MS = 20_000

/** Settings with which both apps send mail to the server, and messages to the staff inbox without a delay. */
export const mailSettings = ({ url }: Pick<MailServer, 'url'>) => ({
  AUTH_SMTP_URL: url,
  RESOURCE_SMTP_URL: url,
  AUTH_MAIL_FROM: 'no-reply@plainpath.example',
  RESOURCE_MAIL_FROM: 'no-reply@plainpath.example',
  RESOURCE_DESK_ADDRESS: STAFF_INBOX,
  RESOURCE_CONTACT_HOLD: '0',
})

type Fields = Record<string, unknown>

/** Parses a response. @throws {Error} if it has another status */
function parseResponse(response: HttpResponse, status: number): Record<string, string> {
  if (response.status !== status) throw new Error(`${response.status} instead of ${status}: ${response.text}`)
  return JSON.parse(response.text) as Record<string, string>
}

/** Sends JSON with an agent's credentials. */
export const postAs = (sender: Sender, agent: AgentCredentials, path: string, body: Fields) => {
  const content = json(body)
  const headers = { ...content.headers, ...basic(agent.client_id, agent.client_secret) }
  return sender.send({ method: 'POST', path, ...content, headers })
}

/** Exchanges an assertion at the token endpoint. */
export function exchange(sender: Sender, agent: AgentCredentials, assertion: string): Promise<HttpResponse> {
  const content = form({ grant_type: JWT_BEARER_GRANT, assertion })
  const headers = { ...content.headers, ...basic(agent.client_id, agent.client_secret) }
  return sender.send({ method: 'POST', path: '/oauth/token', ...content, headers })
}

/** Begins a verification. Returns the two words, and the mailed link. */
export async function beginClaim(
  { mail }: { readonly mail: Pick<MailServer, 'received'> },
  sender: Sender,
  given: { agent: AgentCredentials; email: string },
): Promise<{ phrase: string; link: string; attemptId: string }> {
  const earlierMails = mail.received.length
  const response = await postAs(sender, given.agent, '/api/agent/claim', { email: given.email })
  const { match_phrase: phrase = '', claim_attempt_id: attemptId = '' } = parseResponse(response, 202)
  return { phrase, attemptId, link: await mailedLink({ mail }, given.email, phrase, earlierMails) }
}

/**
 * Finds the link that was mailed to `email` for the verification with these two words. Two verifications can have the same words
 * by chance, so the first `earlierMails` mails do not count.
 */
export async function mailedLink(
  { mail }: { readonly mail: Pick<MailServer, 'received'> },
  email: string,
  phrase: string,
  earlierMails = 0,
): Promise<string> {
  const findMail = () =>
    mail.received.slice(earlierMails).find(({ to, text }) => to.includes(email) && text.includes(phrase))
  if (!(await waitUntil(() => findMail() !== undefined, DELIVERY_MS)))
    throw new Error('the mail of the claim never came')
  return linkIn(findMail()?.text ?? '', 'attempt')
}

/** Presses the button on the page of a mailed link. @returns the code that the page then shows */
export async function showCode(sender: Sender, link: string): Promise<string> {
  const attempt = new URL(link).searchParams.get('attempt') ?? ''
  const page = await sender.send({ method: 'POST', path: '/claim', ...form({ attempt, answer: 'yes' }) })
  return /<code id="code">([\d ]+)</.exec(page.text)?.[1] ?? ''
}

/** Completes the verification with the code. Returns the assertion. */
export async function completeClaim(sender: Sender, agent: AgentCredentials, otp: string): Promise<string> {
  const response = await postAs(sender, agent, '/api/agent/claim/complete', { otp })
  return parseResponse(response, 200)['identity_assertion'] ?? ''
}

/** Returns a token with the confirmed scope. */
export async function lentToken(sender: Sender, agent: AgentCredentials, assertion: string): Promise<string> {
  const { scope = '', access_token: token = '' } = parseResponse(
    await exchange(sender, agent, assertion),
    200,
  )
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
