import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A proxy to a server. It can simulate a network partition: sockets stay open, but no bytes pass. */
export interface TcpProxy extends AsyncDisposable {
  /** The server's URL, with the host and port of the proxy. */
  url: string
  /** Stops forwarding bytes. */
  silence(): void
  /** Forwards new connections again. Connections that were silenced remain silent. */
  resume(): void
}

/** Starts a proxy to the host and port of a PostgreSQL URL. */
export async function startTcpProxy(url: string): Promise<TcpProxy> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  let isSilent = false
  const proxy = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      // Without a listener, a reset would end the process. The event `close` follows, and ends the other side.
      from.on('error', () => undefined).on('close', () => to.destroy())
      if (isSilent) from.pause()
      else from.pipe(to)
    }
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const proxyUrl = new URL(url)
  proxyUrl.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`
  return {
    url: proxyUrl.href,
    silence() {
      isSilent = true
      for (const socket of sockets) socket.unpipe().pause()
    },
    resume() {
      isSilent = false
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      proxy.close()
      await once(proxy, 'close')
    },
  }
}
