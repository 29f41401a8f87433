import { CLIENT_ASSERTION_TYPE } from '@plainpath/metadata'
import { expect } from 'vitest'
import { GRANT } from './agent-client.ts'
import type { DocumentServer, UrlAgent } from './document-server.ts'
import { assertionOf, type KeyAgent } from './key-agent.ts'
import type { AuthStores } from './open-auth-stores.ts'
import { type HttpResponse, send } from './send.ts'
import { type RunningAuth, type StartOptions, startInstance } from './start-auth.ts'

/** A clock that only the test moves. */
export interface Clock {
  now: Date
}
/**
 * Sets the clock to so many seconds ago. Tests move from the past to the present, not to the future: oidc-provider computes
 * the expiry of tokens by the clock of the machine.
 */
export const setBack = (clock: Clock, seconds: number, present = Date.now()) => {
  clock.now = new Date(present - seconds * 1000)
}

/** An instance that fetches from the server, at a loopback origin, which the setting requires. */
export const startUrlInstance = (
  stores: AuthStores,
  server: DocumentServer,
  clock: Clock,
  options: StartOptions = {},
): Promise<RunningAuth> =>
  startInstance(stores, {
    origin: 'loopback',
    ...options,
    now: () => clock.now,
    documents: server.runtime,
    env: { ...server.settings, ...options.env },
  })

/** An assertion by the clock of the test. */
export function signedNow(
  auth: RunningAuth,
  agent: KeyAgent,
  clock: Clock,
  claims: Record<string, unknown> = {},
): Promise<string> {
  const iat = Math.floor(clock.now.getTime() / 1000)
  return assertionOf(auth, agent, { iat, exp: iat + 60, ...claims })
}

export async function requestUrlToken(
  auth: RunningAuth,
  agent: KeyAgent,
  clock: Clock,
  given: {
    fields?: Record<string, string>
    claims?: Record<string, unknown>
    path?: string
    headers?: Record<string, string>
  } = {},
): Promise<HttpResponse> {
  return await send(auth.url, {
    method: 'POST',
    path: given.path ?? '/oauth/token',
    ...(given.headers && { headers: given.headers }),
    body: new URLSearchParams({
      ...GRANT,
      client_assertion: await signedNow(auth, agent, clock, given.claims),
      client_assertion_type: CLIENT_ASSERTION_TYPE,
      ...given.fields,
    }),
  })
}

export async function getUrlToken(
  auth: RunningAuth,
  agent: UrlAgent,
  clock: Clock,
  fields: Record<string, string> = {},
): Promise<{ token: string; expiresIn: number; scope: string }> {
  const response = await requestUrlToken(auth, agent, clock, { fields })
  expect(response.status, response.text).toBe(200)
  const body = JSON.parse(response.text) as { access_token: string; expires_in: number; scope: string }
  auth.confidential.add(body.access_token)
  return { token: body.access_token, expiresIn: body.expires_in, scope: body.scope }
}

/** A request of the agent to another endpoint. */
export async function sendAs(
  auth: RunningAuth,
  agent: KeyAgent,
  clock: Clock,
  request: { method: string; path: string; body?: unknown },
): Promise<HttpResponse> {
  const headers = { 'client-assertion': await signedNow(auth, agent, clock) }
  if (request.body === undefined) return await send(auth.url, { ...request, body: undefined, headers })
  return await send(auth.url, {
    ...request,
    body: JSON.stringify(request.body),
    headers: { ...headers, 'content-type': 'application/json' },
  })
}
