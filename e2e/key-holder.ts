import type { AgentKey } from './agent-key.ts'
import { form, type HttpResponse, type Sender } from './send.ts'

/** An agent that authenticates with a key, registered or by the URL of its document. */
export interface KeyHolder {
  readonly client_id: string
  readonly key: AgentKey
}

/** What a key holder sends to a service, with assertions and proofs for its origin. */
export interface KeyRequests {
  /** The form fields that authenticate the client at the endpoints of OAuth. */
  fields(holder: KeyHolder): Record<string, string>
  /** The header that authenticates the client at the other endpoints. */
  header(holder: KeyHolder): Record<string, string>
  /**
   * Requests a token, in one request; in two when it is bound to the key, since the first has no nonce.
   *
   * @param options.grant the parameters of the grant; those of client_credentials when absent
   */
  requestToken(
    sender: Sender,
    holder: KeyHolder,
    options: { readonly isBound: boolean; readonly grant?: Record<string, string> },
  ): Promise<HttpResponse>
  /** The headers of a GET request that presents a token. @param path without query */
  present(
    holder: KeyHolder,
    token: string,
    path: string,
    options: { readonly isBound: boolean },
  ): PresentedToken
}

type PresentedToken = Readonly<Record<string, string>>

const CLIENT_CREDENTIALS = { grant_type: 'client_credentials' }

export function keyRequests(origin: string): KeyRequests {
  const fields = ({ client_id, key }: KeyHolder) => ({
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: key.assertion(client_id, origin),
  })
  return {
    fields,
    header: ({ client_id, key }) => ({ 'client-assertion': key.assertion(client_id, origin) }),
    async requestToken(sender, holder, { isBound, grant: parameters = CLIENT_CREDENTIALS }) {
      const request = async (dpop: Record<string, string>) => {
        const grant = form({ ...parameters, ...fields(holder) })
        return await sender.send({
          method: 'POST',
          path: '/oauth/token',
          ...grant,
          headers: { ...grant.headers, ...dpop },
        })
      }
      const proof = (nonce?: string) => ({
        dpop: holder.key.proof({ method: 'POST', url: `${origin}/oauth/token`, nonce }),
      })
      if (!isBound) return await request({})
      const first = await request(proof())
      const nonce = first.headers.get('dpop-nonce')
      return nonce === null ? first : await request(proof(nonce))
    },
    present(holder, token, path, { isBound }) {
      if (!isBound) return { authorization: `Bearer ${token}` }
      const dpop = holder.key.proof({ method: 'GET', url: `${origin}${path}`, token })
      return { authorization: `DPoP ${token}`, dpop }
    },
  }
}
