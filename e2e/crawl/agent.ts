import { randomUUID } from 'node:crypto'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

/** The credentials of a registered agent, as in the response. */
export interface RegisteredAgent {
  readonly client_id: string
  readonly client_secret: string
}

export const formatBasicAuthorization = ({ client_id, client_secret }: RegisteredAgent) =>
  `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`

/** Registers an agent. @param address the `register_uri` of the metadata @param type the identity type, if any */
export async function registerAgent(address: string, type?: string): Promise<RegisteredAgent> {
  const response = await fetch(address, {
    method: 'POST',
    ...(type !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ type }),
    }),
  })
  if (response.status !== 201) throw new Error(`the response to the registration was ${response.status}`)
  return (await response.json()) as RegisteredAgent
}

/** Creates a second secret for the agent, and returns the id of the secret. @param address the URL of the agent's secrets */
export async function createSecondSecret(address: string, agent: RegisteredAgent): Promise<string> {
  const response = await fetch(address, {
    method: 'POST',
    headers: { authorization: formatBasicAuthorization(agent) },
  })
  if (response.status !== 201)
    throw new Error(`the response to the request for a second secret was ${response.status}`)
  return ((await response.json()) as { secret_id: string }).secret_id
}

/** The members of a token response that the crawl reads, and its status. Of these, a refusal has only the status. */
export interface TokenResponse {
  readonly status: number
  readonly access_token?: string
  readonly scope?: string
}

/** Registers an agent with a key. Returns a function that creates the form fields of an assertion for this issuer. */
async function registerKey(address: string, issuer: string) {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const response = await fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jwks: { keys: [await exportJWK(publicKey)] } }),
  })
  if (response.status !== 201)
    throw new Error(`the response to a registration with a key was ${response.status}`)
  const { client_id } = (await response.json()) as { client_id: string }
  return async (): Promise<Record<string, string>> => ({
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: await new SignJWT({ iss: client_id, sub: client_id, aud: issuer, jti: randomUUID() })
      .setProtectedHeader({ alg: 'ES256' })
      .setExpirationTime('1 minute')
      .sign(privateKey),
  })
}

/** The headers and form fields by which an agent authenticates in one request. */
export interface Authentication {
  readonly headers: Record<string, string>
  readonly fields: Record<string, string>
}

/**
 * Registers a client that authenticates by one method.
 *
 * @param method one of `token_endpoint_auth_methods_supported`
 * @returns a function that creates the authentication of one request
 */
export async function createAuthenticator(
  method: string,
  server: { issuer: string; agent_auth: { register_uri: string } },
): Promise<() => Promise<Authentication>> {
  if (method === 'private_key_jwt') {
    const createAssertionFields = await registerKey(server.agent_auth.register_uri, server.issuer)
    return async () => ({ headers: {}, fields: await createAssertionFields() })
  }
  const agent = await registerAgent(server.agent_auth.register_uri)
  const { client_id, client_secret } = agent
  const basic = { headers: { authorization: formatBasicAuthorization(agent) }, fields: {} }
  return async () =>
    method === 'client_secret_basic' ? basic : { headers: {}, fields: { client_id, client_secret } }
}

/** Requests a token. @param address the token endpoint @param parameters the grant */
export async function requestToken(
  address: string,
  authentication: Authentication,
  parameters: Record<string, string>,
): Promise<TokenResponse> {
  const body = new URLSearchParams({ ...parameters, ...authentication.fields })
  const response = await fetch(address, { method: 'POST', headers: authentication.headers, body })
  return { ...((await response.json()) as object), status: response.status }
}
