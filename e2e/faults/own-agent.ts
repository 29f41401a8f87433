import type { AgentCredentials } from '../lend-mailbox-to.ts'
import { basic, form, json, type Sender } from '../send.ts'

const PATIENCE = 20

/** Registers an agent that the load does not know, and so neither uses nor deletes. */
export async function ownAgent(sender: Sender): Promise<AgentCredentials> {
  const text = await sendUntilServed(sender, { path: '/api/agent/register', ...json({}) }, 201)
  return JSON.parse(text) as AgentCredentials
}

export async function ownToken(sender: Sender, agent: AgentCredentials): Promise<string> {
  const grant = form({ grant_type: 'client_credentials' })
  const headers = { ...grant.headers, ...basic(agent.client_id, agent.client_secret) }
  const text = await sendUntilServed(sender, { path: '/oauth/token', ...grant, headers }, 200)
  return (JSON.parse(text) as { access_token: string }).access_token
}

/** Repeats a refused request, and returns the body of the response with the expected status. */
export async function sendUntilServed(
  sender: Sender,
  sent: { path: string; headers: Readonly<Record<string, string>>; body: string },
  expectedStatus: number,
): Promise<string> {
  for (let tries = 1; ; tries += 1) {
    const { status, text } = await sender.send({ method: 'POST', ...sent })
    if (status === expectedStatus) return text
    if (status !== 503 || tries === PATIENCE)
      throw new Error(`${sent.path}: ${status} instead of ${expectedStatus}`)
  }
}
