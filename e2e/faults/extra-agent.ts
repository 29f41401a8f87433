import { basic, form, json, type Sender } from '../send.ts'
import type { AgentCredentials } from '../verification-steps.ts'

const MAX_ATTEMPTS = 20

/** Registers an agent outside the ledger, so that the load neither uses nor deletes it. */
export async function registerExtraAgent(sender: Sender): Promise<AgentCredentials> {
  const text = await sendUntilServed(sender, { path: '/api/agent/register', ...json({}) }, 201)
  return JSON.parse(text) as AgentCredentials
}

/** Requests a token for an agent, and returns it. */
export async function requestToken(sender: Sender, agent: AgentCredentials): Promise<string> {
  const grant = form({ grant_type: 'client_credentials' })
  const headers = { ...grant.headers, ...basic(agent.client_id, agent.client_secret) }
  const text = await sendUntilServed(sender, { path: '/oauth/token', ...grant, headers }, 200)
  return (JSON.parse(text) as { access_token: string }).access_token
}

/**
 * Sends a POST request, at most 20 times while it is refused (503). Returns the body of the response.
 *
 * @throws {Error} if the last response has another status than the expected one
 */
export async function sendUntilServed(
  sender: Sender,
  request: { path: string; headers: Readonly<Record<string, string>>; body: string },
  expectedStatus: number,
): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    const { status, text } = await sender.send({ method: 'POST', ...request })
    if (status === expectedStatus) return text
    if (status !== 503 || attempt === MAX_ATTEMPTS)
      throw new Error(`${request.path}: ${status} instead of ${expectedStatus}`)
  }
}
