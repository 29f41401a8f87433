import type { AgentKey } from './agent-key.ts'
import type { Credentials } from './credentials.ts'
import type { ApiRequest } from './send.ts'

const CLIENT_ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** A request that authenticates with the agent's credentials, not with a token. */
export type ClientRequest = Pick<ApiRequest, 'method' | 'body'> & { path: string; isRepeatable?: boolean }

interface ClientAuthentication {
  readonly credentials: Credentials
  /** The agent's key; undefined for an agent with a secret. */
  readonly key: AgentKey | undefined
  /** The last `DPoP-Nonce` that the service sent. */
  readonly nonce: string | undefined
}

/**
 * Adds client authentication to a request: the client secret, or an assertion that the key signs. To a token request of an agent
 * with a key, also adds a DPoP proof.
 */
export async function addClientAuthentication(
  request: ApiRequest,
  { credentials: { origin, client_id, client_secret }, key, nonce }: ClientAuthentication,
): Promise<ApiRequest> {
  if (!key) {
    const Authorization = `Basic ${btoa(`${client_id}:${client_secret}`)}`
    return { ...request, headers: { ...request.headers, Authorization } }
  }
  const assertion = await key.signAssertion(client_id, origin)
  // Only a token request has a form. It takes the assertion as parameters (RFC 7523 §2.2), and other requests take it as a header.
  if (!(request.body instanceof URLSearchParams))
    return { ...request, headers: { ...request.headers, 'Client-Assertion': assertion } }
  const { method, url } = request
  const body = new URLSearchParams([
    ...request.body,
    ['client_assertion_type', CLIENT_ASSERTION_TYPE],
    ['client_assertion', assertion],
  ])
  const DPoP = await key.signProof({ method, url, nonce })
  return { ...request, body, headers: { ...request.headers, DPoP } }
}
