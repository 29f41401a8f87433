import type { MailServer } from '@plainpath/mail/testing'
import { JWT_BEARER_GRANT_TYPE } from '@plainpath/metadata'
import { waitUntil } from '@plainpath/stack/managed-process'
import { basic, form, type HttpResponse, json, type Sender } from './send.ts'

export interface AgentCredentials {
  readonly client_id: string
  readonly client_secret: string
}

/** The address to which the API mails messages to staff. */
export const STAFF_INBOX = 'desk@answers.example.org'

const DELIVERY_TIMEOUT_MS = 20_000

/*
 * The steps with which a person confirms by e-mail that an agent acts for them, over HTTP. The response to the agent, the mail
 * and the page show the same two words, by which the person recognises the agent's request.
 */

/** Creates settings for both apps: mail goes to this server, and messages are not held before they go to staff. */
export const createMailSettings = ({ url }: Pick<MailServer, 'url'>) => ({
  AUTH_SMTP_URL: url,
  RESOURCE_SMTP_URL: url,
  AUTH_MAIL_FROM: 'no-reply@plainpath.example',
  RESOURCE_MAIL_FROM: 'no-reply@plainpath.example',
  RESOURCE_DESK_ADDRESS: STAFF_INBOX,
  RESOURCE_CONTACT_HOLD: '0',
})

type Fields = Record<string, unknown>

/** Parses a JSON response. @throws {Error} if its status is not `status` */
function parseResponse(response: HttpResponse, status: number): Record<string, string> {
  if (response.status !== status) throw new Error(`${response.status} instead of ${status}: ${response.text}`)
  return JSON.parse(response.text) as Record<string, string>
}

/** Posts JSON with an agent's credentials. */
export const postAs = (sender: Sender, agent: AgentCredentials, path: string, body: Fields) => {
  const content = json(body)
  const headers = { ...content.headers, ...basic(agent.client_id, agent.client_secret) }
  return sender.send({ method: 'POST', path, ...content, headers })
}

/** Exchanges an assertion at the token endpoint. */
export function exchangeAssertion(
  sender: Sender,
  agent: AgentCredentials,
  assertion: string,
): Promise<HttpResponse> {
  const content = form({ grant_type: JWT_BEARER_GRANT_TYPE, assertion })
  const headers = { ...content.headers, ...basic(agent.client_id, agent.client_secret) }
  return sender.send({ method: 'POST', path: '/oauth/token', ...content, headers })
}

/** Begins a verification, and waits for its mail. @returns the two words (`phrase`), the mailed link and the attempt id */
export async function beginVerification(
  { mail }: { readonly mail: Pick<MailServer, 'received'> },
  sender: Sender,
  { agent, email }: { agent: AgentCredentials; email: string },
): Promise<{ phrase: string; link: string; attemptId: string }> {
  const earlierMailCount = mail.received.length
  const response = await postAs(sender, agent, '/api/agent/claim', { email })
  const { match_phrase: phrase = '', claim_attempt_id: attemptId = '' } = parseResponse(response, 202)
  return { phrase, attemptId, link: await waitForMailedLink({ mail }, email, phrase, earlierMailCount) }
}

/**
 * Waits for the mail to `email` about the verification with the two words. Two verifications can have the same words by
 * chance, so the first `earlierMailCount` mails do not count.
 *
 * @returns the link in the mail
 * @throws {Error} if the mail does not arrive within 20 s
 */
export async function waitForMailedLink(
  { mail }: { readonly mail: Pick<MailServer, 'received'> },
  email: string,
  phrase: string,
  earlierMailCount = 0,
): Promise<string> {
  const findMail = () =>
    mail.received.slice(earlierMailCount).find(({ to, text }) => to.includes(email) && text.includes(phrase))
  if (!(await waitUntil(() => findMail() !== undefined, DELIVERY_TIMEOUT_MS)))
    throw new Error(`no verification mail arrived within ${DELIVERY_TIMEOUT_MS / 1000} s`)
  return findLink(findMail()?.text ?? '', 'attempt')
}

/** Presses the button on the page of a mailed link. @returns the code that the page then shows, or an empty string */
export async function showCode(sender: Sender, link: string): Promise<string> {
  const attempt = new URL(link).searchParams.get('attempt') ?? ''
  const page = await sender.send({ method: 'POST', path: '/claim', ...form({ attempt, answer: 'yes' }) })
  return /<code id="code">([\d ]+)</.exec(page.text)?.[1] ?? ''
}

/** Completes the verification with the code. @returns the identity assertion */
export async function completeVerification(
  sender: Sender,
  agent: AgentCredentials,
  code: string,
): Promise<string> {
  const response = await postAs(sender, agent, '/api/agent/claim/complete', { otp: code })
  return parseResponse(response, 200)['identity_assertion'] ?? ''
}

/**
 * Exchanges an assertion for a token.
 *
 * @returns a token with `contact:write`
 * @throws {Error} if the exchange fails, or the token lacks `contact:write`
 */
export async function requestContactToken(
  sender: Sender,
  agent: AgentCredentials,
  assertion: string,
): Promise<string> {
  const { scope = '', access_token: token = '' } = parseResponse(
    await exchangeAssertion(sender, agent, assertion),
    200,
  )
  if (!scope.includes('contact:write')) throw new Error(`the token lacks contact:write: it has ${scope}`)
  return token
}

/** Verifies the mailbox for the agent over HTTP. Plays both agent and person. @returns a token with `contact:write` */
export async function verifyMailbox(
  agent: AgentCredentials,
  email: string,
  { mail, sender }: { mail: Pick<MailServer, 'received'>; sender: Sender },
): Promise<string> {
  const { link } = await beginVerification({ mail }, sender, { agent, email })
  const assertion = await completeVerification(sender, agent, await showCode(sender, link))
  return requestContactToken(sender, agent, assertion)
}

/** Finds a link in a verification mail: the link to the code, or the link that revokes access. @returns '' if none */
export const findLink = (text: string, kind: 'attempt' | 'end'): string =>
  new RegExp(`^ *(http\\S+/claim\\?${kind}=[\\w-]{43})$`, 'm').exec(text)?.[1] ?? ''
