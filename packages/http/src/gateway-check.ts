import type { RequestHandler } from './server.ts'

/** Nobody's name (RFC 2606 §2), so that no request of the public means it. */
export const GATEWAY_CHECK_HOST = 'gateway-check.invalid'

/**
 * Answers a gateway that asks `GET /` under `GATEWAY_CHECK_HOST` whether to send requests here: 204, or 503 once this
 * instance drains. That a shared store is away is no reason to send them elsewhere, so this is not `/ready`.
 */
export function answerGatewayCheck(handler: RequestHandler, isTaking: () => boolean): RequestHandler {
  return (request, response) => {
    if (request.url !== '/' || request.method !== 'GET' || request.headers.host !== GATEWAY_CHECK_HOST)
      return handler(request, response)
    // The next question may be for another instance at the same address.
    return response
      .writeHead(isTaking() ? 204 : 503, { 'cache-control': 'no-store', connection: 'close' })
      .end()
  }
}
