import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface ReceivedRequest {
  readonly method: string
  /** The path without the query string. */
  readonly path: string
  /** The headers by lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

interface Reply {
  /** By default 200. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** A string is sent unchanged; any other value is sent as JSON. */
  readonly body?: unknown
}

export interface FakeService extends AsyncDisposable {
  readonly origin: string
  /** The requests so far, in the order in which their bodies arrived. */
  readonly received: readonly ReceivedRequest[]
  /** Counts the requests for a path. */
  count(path: string): number
}

/** Starts an HTTP server for failures that the real service does not produce on demand. Disposing drops pending replies. */
export async function startFakeService(
  reply: (request: ReceivedRequest) => Reply | Promise<Reply>,
): Promise<FakeService> {
  const received: ReceivedRequest[] = []
  const server = createServer((request, response) => {
    void (async () => {
      const { method = '', url = '', headers } = request
      const receivedRequest = { method, path: url.split('?')[0] ?? '', headers, body: await text(request) }
      received.push(receivedRequest)
      const { status = 200, headers: replyHeaders, body } = await reply(receivedRequest)
      response.writeHead(status, replyHeaders)
      response.end(typeof body === 'string' || body === undefined ? body : JSON.stringify(body))
    })()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    count: (path) => received.filter((request) => request.path === path).length,
    async [Symbol.asyncDispose]() {
      const closeEvent = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closeEvent
    },
  }
}
