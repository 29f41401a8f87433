import type { IncomingMessage } from 'node:http'
import { FORM_TYPE } from '@plainpath/http'

/** A client that the gate has recognised, as oidc-provider is told of it. */
export interface VouchedClient {
  readonly clientId: string
  readonly voucher: string
}

/**
 * Lets oidc-provider read a form that we have read already, so that there are no two opinions about what was sent. It takes
 * the body with `request.iterator()` and holds its length against `Content-Length`.
 *
 * @param form changed: whatever the client showed makes way for what the gate says of it
 */
export function replayForm(
  request: IncomingMessage,
  form: URLSearchParams,
  { clientId, voucher }: VouchedClient,
): void {
  for (const name of ['client_assertion', 'client_assertion_type']) form.delete(name)
  form.set('client_id', clientId)
  form.set('client_secret', voucher)
  delete request.headers.authorization
  const body = Buffer.from(form.toString())
  request.headers['content-type'] = FORM_TYPE
  request.headers['content-length'] = String(body.length)
  delete request.headers['transfer-encoding']
  // The gate has decided about origins; the library would decide again.
  delete request.headers.origin
  Object.defineProperty(request, 'readable', { value: true })
  request.iterator = async function* replay(): AsyncGenerator<Buffer, undefined> {
    yield body
    return undefined
  }
}
