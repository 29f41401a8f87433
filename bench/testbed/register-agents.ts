import { z } from 'zod'
import { basicAuthorization, FORM_HEADERS, sendUntilServed } from './send-request.ts'
import type { MeasuredApp } from './start-measured-app.ts'

interface Credentials {
  readonly id: string
  readonly secret: string
}

/** A registered agent with a valid token. */
export interface AgentWithToken extends Credentials {
  readonly token: string
}

const RegistrationResponse = z.object({ client_id: z.string(), client_secret: z.string() })
const TokenResponse = z.object({ access_token: z.string() })

const CONCURRENCY = 16

/** Registers at least `count` agents at auth, with a token for each, and returns `count` of them. */
export const registerAgents = (auth: MeasuredApp, count: number): Promise<AgentWithToken[]> =>
  createConcurrently(count, () => registerAgent(auth))

/** Requests at least `count` tokens of one client, and returns `count` of them. @param path the path of the token endpoint */
export const issueTokens = (
  count: number,
  { port, path, client }: { port: number; path: string; client: Credentials },
): Promise<string[]> => createConcurrently(count, () => issueToken(port, path, client))

async function createConcurrently<T>(count: number, create: () => Promise<T>): Promise<T[]> {
  const created: T[] = []
  const createUntilEnough = async () => {
    while (created.length < count) created.push(await create())
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, createUntilEnough))
  return created.slice(0, count)
}

async function registerAgent(auth: MeasuredApp): Promise<AgentWithToken> {
  const registration = await sendUntilServed(auth.port, '/api/agent/register', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: AGENT_NAME }),
  })
  const { client_id: id, client_secret: secret } = RegistrationResponse.parse(registration)
  return { id, secret, token: await issueToken(auth.port, '/oauth/token', { id, secret }) }
}

/** Requests a token. @param path the path of the token endpoint */
export async function issueToken(port: number, path: string, client: Credentials): Promise<string> {
  const tokenResponse = await sendUntilServed(port, path, {
    method: 'POST',
    headers: { ...FORM_HEADERS, ...basicAuthorization(client.id, client.secret) },
    body: 'grant_type=client_credentials',
  })
  return TokenResponse.parse(tokenResponse).access_token
}

export const AGENT_NAME = 'An agent of the bench'
