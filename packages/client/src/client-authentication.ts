import type { AgentKey } from './agent-key.ts'
import type { Credentials } from './credentials.ts'
import type { ApiRequest } from './send.ts'

const CLIENT_ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

interface ClientAuthentication {
  readonly credentials: Credentials
  /** The agent's key; undefined for an agent with a secret. */
  readonly key: AgentKey | undefined
  /** The last `DPoP-Nonce` that the service sent. */
  readonly nonce: string | undefined
}

/** Adds client authentication. Also adds a DPoP proof to a token request of an agent with keys. */
export async function addClientAuthentication(
  request: ApiRequest,
  { credentials: { origin, client_id, client_secret }, key, nonce }: ClientAuthentication,
): Promise<ApiRequest> {
  if (!key) {
    const Authorization = `Basic ${btoa(`${client_id}:${client_secret}`)}`
    return { ...request, headers: { ...request.headers, Authorization } }
  }
  const assertion = await key.signAssertion(client_id, origin)
  // The only forms are token requests.
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
