import { z } from 'zod'
import { basic, FORM, sendUntilServed } from './send-request.ts'
import type { App } from './start-measured-app.ts'

/** An agent and a live token, issued through the API. */
export interface AgentWithToken {
  readonly id: string
  readonly secret: string
  readonly token: string
}

const Registered = z.object({ client_id: z.string(), client_secret: z.string() })
const Granted = z.object({ access_token: z.string() })

const AT_ONCE = 16

export async function makeAgents(auth: App, count: number): Promise<AgentWithToken[]> {
  const made: AgentWithToken[] = []
  const makeSome = async () => {
    while (made.length < count) made.push(await makeAgent(auth))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, makeSome))
  return made.slice(0, count)
}

async function makeAgent(auth: App): Promise<AgentWithToken> {
  const registered = await sendUntilServed(auth.port, '/api/agent/register', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: AGENT_NAME }),
  })
  const { client_id: id, client_secret: secret } = Registered.parse(registered)
  return { id, secret, token: await issueToken(auth.port, '/oauth/token', { id, secret }) }
}

/** Requests a token. @param path the path of the token endpoint */
export async function issueToken(
  port: number,
  path: string,
  client: { id: string; secret: string },
): Promise<string> {
  const granted = await sendUntilServed(port, path, {
    method: 'POST',
    headers: { ...FORM, ...basic(client.id, client.secret) },
    body: 'grant_type=client_credentials',
  })
  return Granted.parse(granted).access_token
}

export const AGENT_NAME = 'An agent of the bench'
