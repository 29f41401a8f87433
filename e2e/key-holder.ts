import type { AgentKey } from './agent-key.ts'
import { form, type HttpResponse, type Sender } from './send.ts'

/** An agent that authenticates with a key. It has registered, or its `client_id` is the URL of its client metadata document. */
export interface KeyHolder {
  readonly client_id: string
  readonly key: AgentKey
}

/** Functions with which key holders authenticate to the service at one origin. */
export interface KeyRequests {
  /** Creates the form fields that authenticate the client at OAuth endpoints. */
  createAuthFields(holder: KeyHolder): Record<string, string>
  /** Creates the header that authenticates the client at other endpoints. */
  createAuthHeader(holder: KeyHolder): Record<string, string>
  /**
   * Requests a token. For a token that is bound to the key, first sends a request without a nonce, and then a
   * request with the nonce from the first response.
   *
   * @param options.grant the parameters of the grant. The default is client_credentials
   */
  requestToken(
    sender: Sender,
    holder: KeyHolder,
    options: { readonly isBound: boolean; readonly grant?: Record<string, string> },
  ): Promise<HttpResponse>
  /** Creates the headers of a GET request that presents a token. @param path without query */
  createTokenHeaders(
    holder: KeyHolder,
    token: string,
    path: string,
    options: { readonly isBound: boolean },
  ): TokenHeaders
}

type TokenHeaders = Readonly<Record<string, string>>

const CLIENT_CREDENTIALS = { grant_type: 'client_credentials' }

/** Creates the functions for the service at `origin`. */
export function createKeyRequests(origin: string): KeyRequests {
  const createAuthFields = ({ client_id, key }: KeyHolder) => ({
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: key.signAssertion(client_id, origin),
  })
  return {
    createAuthFields,
    createAuthHeader: ({ client_id, key }) => ({ 'client-assertion': key.signAssertion(client_id, origin) }),
    async requestToken(sender, holder, { isBound, grant = CLIENT_CREDENTIALS }) {
      const sendRequest = async (dpop: Record<string, string>) => {
        const content = form({ ...grant, ...createAuthFields(holder) })
        return await sender.send({
          method: 'POST',
          path: '/oauth/token',
          ...content,
          headers: { ...content.headers, ...dpop },
        })
      }
      const createProof = (nonce?: string) => ({
        dpop: holder.key.signProof({ method: 'POST', url: `${origin}/oauth/token`, nonce }),
      })
      if (!isBound) return await sendRequest({})
      const firstResponse = await sendRequest(createProof())
      const nonce = firstResponse.headers.get('dpop-nonce')
      return nonce === null ? firstResponse : await sendRequest(createProof(nonce))
    },
    createTokenHeaders(holder, token, path, { isBound }) {
      if (!isBound) return { authorization: `Bearer ${token}` }
      const dpop = holder.key.signProof({ method: 'GET', url: `${origin}${path}`, token })
      return { authorization: `DPoP ${token}`, dpop }
    },
  }
}
