import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { FORM_TYPE } from '@plainpath/http'
import type { ClientCredentials } from '../clients/read-credentials.ts'

/**
 * Lets oidc-provider read a form and credentials that we have read already, so that there are no two opinions about
 * what was sent. It takes the body with `request.iterator()` and holds its length against `Content-Length`.
 *
 * @param form changed: the credentials move from it into the Authorization header
 */
export function replayForm(
  request: IncomingMessage,
  form: URLSearchParams,
  { clientId, secret }: ClientCredentials,
): void {
  for (const name of ['client_id', 'client_secret', 'client_assertion', 'client_assertion_type'])
    form.delete(name)
  const basic = `${encodeURIComponent(clientId)}:${encodeURIComponent(secret)}`
  request.headers.authorization = `Basic ${Buffer.from(basic).toString('base64')}`
  const body = Buffer.from(form.toString())
  request.headers['content-type'] = FORM_TYPE
  request.headers['content-length'] = String(body.length)
  delete request.headers['transfer-encoding']
  // The gate has decided about origins; the library would decide again.
  delete request.headers.origin
  Object.defineProperty(request, 'readable', { value: true })
  request.iterator = () => Readable.from([body]).iterator()
}
