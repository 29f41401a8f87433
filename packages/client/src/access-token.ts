import type { AgentKey } from './agent-key.ts'
import type { ApiRequest } from './send.ts'

/** A repeatable request that authenticates with a token. */
export type TokenRequest = Pick<ApiRequest, 'method' | 'url' | 'headers' | 'body'> & {
  /** True if the request is sent without a token when the agent gets none, or the API cannot check it. */
  isTokenOptional?: boolean
}

/** Adds an access token to a request. To a request of an agent with a key, also adds a DPoP proof. */
export async function addAccessToken(
  request: ApiRequest,
  { token, key }: { token: string; key: AgentKey | undefined },
): Promise<ApiRequest> {
  const { method, url } = request
  const headers = key
    ? { Authorization: `DPoP ${token}`, DPoP: await key.signProof({ method, url, token }) }
    : { Authorization: `Bearer ${token}` }
  return { ...request, headers: { ...request.headers, ...headers } }
}
