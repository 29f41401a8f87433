import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { FORM_TYPE } from '@plainpath/http'

/**
 * Lets oidc-provider read a form that we have read already. It takes the body with `request.iterator()` and holds its
 * length against `Content-Length`; nothing else of the request changes.
 */
export function replayForm(request: IncomingMessage, form: URLSearchParams): void {
  const body = Buffer.from(form.toString())
  request.headers['content-type'] = FORM_TYPE
  request.headers['content-length'] = String(body.length)
  delete request.headers['transfer-encoding']
  // The gate has decided about origins; the library would decide again.
  delete request.headers.origin
  Object.defineProperty(request, 'readable', { value: true })
  request.iterator = () => Readable.from([body]).iterator()
}
