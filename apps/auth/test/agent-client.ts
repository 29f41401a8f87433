import { createRemoteJWKSet, type JWTVerifyResult, jwtVerify } from 'jose'
import { expect } from 'vitest'
import { z } from 'zod'
import { type HttpResponse, send } from './send.ts'
import type { RunningAuth } from './start-auth.ts'

const RegisteredAgent = z.looseObject({ client_id: z.string(), client_secret: z.string() })
export type RegisteredAgent = z.infer<typeof RegisteredAgent>
const TokenResponse = z.looseObject({ access_token: z.string() })

export const basicAuth = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
})
/** Creates the header with which an agent authenticates by its secret. */
export const agentAuthHeader = (agent: RegisteredAgent) => basicAuth(agent.client_id, agent.client_secret)
/** Creates the header with which our API authenticates as the resource server `rs_api`. */
export const apiAuthHeader = (auth: RunningAuth) => basicAuth('rs_api', auth.testbed.secrets.rs_api)
/** Creates the headers and the body of a JSON request. */
export const createJsonContent = (body: unknown) => ({
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})
export const CLIENT_CREDENTIALS_GRANT = { grant_type: 'client_credentials' }
/** The header that requests the signed form of an introspection response. */
export const ACCEPT_SIGNED = { accept: 'application/token-introspection+jwt' }

/**
 * Registers an agent with a secret. Adds the secret and the name to `auth.confidential`, the values that must not be
 * stored or logged in plaintext.
 */
export async function register(auth: RunningAuth, name?: string): Promise<RegisteredAgent> {
  const content = name === undefined ? {} : createJsonContent({ client_name: name })
  const response = await send(auth.url, { method: 'POST', path: '/api/agent/register', ...content })
  expect(response.status, response.text).toBe(201)
  const agent = RegisteredAgent.parse(JSON.parse(response.text))
  auth.confidential.add(agent.client_secret)
  if (name) auth.confidential.add(name)
  return agent
}

/** Requests a token, by default with the client_credentials grant. Does not check the response. */
export const requestToken = (
  auth: RunningAuth,
  agent: RegisteredAgent,
  fields: Record<string, string> = CLIENT_CREDENTIALS_GRANT,
) =>
  send(auth.url, {
    method: 'POST',
    path: '/oauth/token',
    headers: agentAuthHeader(agent),
    body: new URLSearchParams(fields),
  })

/** Gets an access token. Adds it to `auth.confidential`. */
export async function getToken(auth: RunningAuth, agent: RegisteredAgent, fields = {}): Promise<string> {
  const response = await requestToken(auth, agent, { ...CLIENT_CREDENTIALS_GRANT, ...fields })
  expect(response.status, response.text).toBe(200)
  const { access_token } = TokenResponse.parse(JSON.parse(response.text))
  auth.confidential.add(access_token)
  return access_token
}

export const revoke = (auth: RunningAuth, agent: RegisteredAgent, token: string): Promise<HttpResponse> =>
  send(auth.url, {
    method: 'POST',
    path: '/oauth/revoke',
    headers: agentAuthHeader(agent),
    body: new URLSearchParams({ token }),
  })

export const deleteAgent = (auth: RunningAuth, agent: RegisteredAgent): Promise<HttpResponse> =>
  send(auth.url, { method: 'DELETE', path: '/api/agent', headers: agentAuthHeader(agent) })

/** Sends an introspection request, by default authenticated as our API. Does not check the response. */
export const requestIntrospection = (
  auth: RunningAuth,
  token: string,
  headers: Record<string, string> = apiAuthHeader(auth),
) =>
  send(auth.internalUrl, {
    method: 'POST',
    path: '/oauth/introspect',
    headers: { ...ACCEPT_SIGNED, ...headers },
    body: new URLSearchParams({ token }),
  })

/**
 * Introspects a token, and verifies the signed response against the published keys, as a resource server does.
 *
 * @param caller the resource server whose credentials are used. A token is active only for the resource server of its audience,
 *   and the token of an app also for our API
 * @param clockTolerance the permitted clock skew, in seconds; needed if the instance's clock steps before the verification
 */
export async function introspect(
  auth: RunningAuth,
  token: string,
  caller: 'rs_api' | 'rs_other' = 'rs_api',
  clockTolerance = 0,
): Promise<JWTVerifyResult<{ token_introspection: { active: boolean }; token_hash: string }>> {
  const response = await requestIntrospection(auth, token, basicAuth(caller, auth.testbed.secrets[caller]))
  expect(response.status, response.text).toBe(200)
  expect(response.headers.get('content-type')).toMatch(/^application\/token-introspection\+jwt/)
  return jwtVerify(response.text, createRemoteJWKSet(new URL('/oauth/jwks.json', auth.internalUrl)), {
    issuer: auth.origin,
    audience: caller,
    typ: 'token-introspection+jwt',
    maxTokenAge: 5,
    currentDate: auth.now(),
    clockTolerance,
    algorithms: ['ES256', 'EdDSA'],
  })
}

/** Introspects a token as our API, `rs_api`, and returns whether it is active. `clockTolerance` is in seconds. */
export async function isActive(auth: RunningAuth, token: string, clockTolerance = 0): Promise<boolean> {
  const { payload } = await introspect(auth, token, 'rs_api', clockTolerance)
  return payload.token_introspection.active
}
