import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The server of a program on this computer, to which a browser returns after an authorization. */
export interface CallbackServer extends AsyncDisposable {
  readonly redirectUri: string
  /** Returns the URL of the oldest callback that it has not returned yet. If there is none, waits for the next one. */
  waitForCallback(): Promise<URL>
}

/** Starts the server. @param path the path of its redirect URI, such as `/oauth/callback` */
export async function startCallbackServer(path: string): Promise<CallbackServer> {
  const callbacks: URL[] = []
  let onCallback: ((callback: URL) => void) | undefined
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', redirectUri)
    // A browser also requests an icon.
    if (url.pathname !== path) return void response.writeHead(404).end()
    response.writeHead(200, { 'content-type': 'text/html' }).end('<title>Back in the app</title>')
    if (onCallback) onCallback(url)
    else callbacks.push(url)
    onCallback = undefined
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`
  return {
    redirectUri,
    waitForCallback() {
      const oldestCallback = callbacks.shift()
      if (oldestCallback) return Promise.resolve(oldestCallback)
      const { promise, resolve } = Promise.withResolvers<URL>()
      onCallback = resolve
      return promise
    },
    async [Symbol.asyncDispose]() {
      const closeEvent = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closeEvent
    },
  }
}
