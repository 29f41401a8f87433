import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A program on this computer that an authorization returns to. */
export interface CallbackServer extends AsyncDisposable {
  readonly redirectUri: string
  /** Resolves with the address of the next callback. */
  next(): Promise<URL>
}

/** @param path such as `/oauth/callback` */
export async function startCallbackServer(path: string): Promise<CallbackServer> {
  const arrived: URL[] = []
  let waiting: ((callback: URL) => void) | undefined
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', redirectUri)
    // A browser asks for an icon, too.
    if (url.pathname !== path) return void response.writeHead(404).end()
    response.writeHead(200, { 'content-type': 'text/html' }).end('<title>Back in the app</title>')
    if (waiting) waiting(url)
    else arrived.push(url)
    waiting = undefined
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`
  return {
    redirectUri,
    next() {
      const first = arrived.shift()
      if (first) return Promise.resolve(first)
      const { promise, resolve } = Promise.withResolvers<URL>()
      waiting = resolve
      return promise
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
