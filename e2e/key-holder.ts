import type { AgentKey } from './agent-key.ts'
import { form, type HttpResponse, type Sender } from './send.ts'

/** An agent that authenticates with a key. It is registered, or identified by the URL of its document. */
export interface KeyHolder {
  readonly client_id: string
  readonly key: AgentKey
}

/** The requests of a key holder to a service, with assertions and proofs for its origin. */
export interface KeyRequests {
  /** Creates the form fields that authenticate the client at OAuth endpoints. */
  fields(holder: KeyHolder): Record<string, string>
  /** Creates the header that authenticates the client at other endpoints. */
  header(holder: KeyHolder): Record<string, string>
  /**
   * Requests a token. A token that is bound to the key takes two requests, since the first has no nonce.
   *
   * @param options.grant the parameters of the grant; by default those of client_credentials
   */
  requestToken(
    sender: Sender,
    holder: KeyHolder,
    options: { readonly isBound: boolean; readonly grant?: Record<string, string> },
  ): Promise<HttpResponse>
  /** Creates the headers of a GET request that presents a token. @param path without query */
  present(
    holder: KeyHolder,
    token: string,
    path: string,
    options: { readonly isBound: boolean },
  ): PresentedToken
}

type PresentedToken = Readonly<Record<string, string>>

const CLIENT_CREDENTIALS = { grant_type: 'client_credentials' }

/** Creates the requests of key holders to the service at an origin. */
export function keyRequests(origin: string): KeyRequests {
  const fields = ({ client_id, key }: KeyHolder) => ({
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: key.assertion(client_id, origin),
  })
  return {
    fields,
    header: ({ client_id, key }) => ({ 'client-assertion': key.assertion(client_id, origin) }),
    async requestToken(sender, holder, { isBound, grant: parameters = CLIENT_CREDENTIALS }) {
      const sendRequest = async (dpop: Record<string, string>) => {
        const grant = form({ ...parameters, ...fields(holder) })
        return await sender.send({
          method: 'POST',
          path: '/oauth/token',
          ...grant,
          headers: { ...grant.headers, ...dpop },
        })
      }
      const createProof = (nonce?: string) => ({
        dpop: holder.key.proof({ method: 'POST', url: `${origin}/oauth/token`, nonce }),
      })
      if (!isBound) return await sendRequest({})
      const firstResponse = await sendRequest(createProof())
      const nonce = firstResponse.headers.get('dpop-nonce')
      return nonce === null ? firstResponse : await sendRequest(createProof(nonce))
    },
    present(holder, token, path, { isBound }) {
      if (!isBound) return { authorization: `Bearer ${token}` }
      const dpop = holder.key.proof({ method: 'GET', url: `${origin}${path}`, token })
      return { authorization: `DPoP ${token}`, dpop }
    },
  }
}
