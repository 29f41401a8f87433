import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON, or as it is when it is a text. */
  readonly body?: unknown
}

export interface FakeService extends AsyncDisposable {
  readonly origin: string
  readonly received: readonly Received[]
  /** How many requests came for a path. */
  count(path: string): number
}

/** An HTTP server for the failures that the real service does not produce on demand. A reply that is pending is never sent. */
export async function startFakeService(
  reply: (request: Received) => Reply | Promise<Reply>,
): Promise<FakeService> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    void (async () => {
      const { method = '', url = '', headers } = request
      const each = { method, path: url.split('?')[0] ?? '', headers, body: await text(request) }
      received.push(each)
      const { status = 200, headers: sent, body } = await reply(each)
      response.writeHead(status, sent)
      response.end(typeof body === 'string' || body === undefined ? body : JSON.stringify(body))
    })()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    count: (path) => received.filter((each) => each.path === path).length,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
