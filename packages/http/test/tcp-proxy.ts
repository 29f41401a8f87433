import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A proxy in front of a server, which simulates network failures. */
export interface TcpProxy extends AsyncDisposable {
  /** The URL of the server, with the host and port of the proxy. */
  readonly url: string
  /** Discards all bytes from now on. Connections stay open. This cannot be undone. */
  silence(): void
  /** Closes every connection and refuses new ones. */
  cut(): Promise<void>
  /** Undoes `cut`: accepts connections again, on the same port. */
  restore(): Promise<void>
}

/** Starts a proxy to the server at a URL. The default port is that of Redis, 6379. */
export async function startTcpProxy(targetUrl: string): Promise<TcpProxy> {
  const target = new URL(targetUrl)
  const sockets = new Set<Socket>()
  let isSilent = false
  const server = createServer((client) => {
    const upstream = connect({ host: target.hostname, port: Number(target.port || 6379) })
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('data', (chunk) => {
        if (!isSilent) to.write(chunk)
      })
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const port = await listen(0)
  const cut = async () => {
    if (!server.listening) return
    const closeEvent = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closeEvent
  }
  const proxyUrl = new URL(targetUrl)
  proxyUrl.hostname = '127.0.0.1'
  proxyUrl.port = String(port)
  return {
    url: proxyUrl.href,
    silence: () => {
      isSilent = true
    },
    cut,
    async restore() {
      await listen(port)
    },
    [Symbol.asyncDispose]: cut,
  }
}
