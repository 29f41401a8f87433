import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A proxy to a server. It can simulate a network partition: sockets stay open, but no bytes pass. */
export interface TcpProxy extends AsyncDisposable {
  url: string
  silence(): void
  /** Forwards new connections again. Silenced ones stay silent. */
  resume(): void
}

/** Starts a proxy to the host and port of a PostgreSQL URL. */
export async function startTcpProxy(url: string): Promise<TcpProxy> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  let silent = false
  const proxy = createServer((near) => {
    const far = connect(Number(target.port || 5432), target.hostname)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('error', () => undefined).on('close', () => to.destroy())
      if (silent) from.pause()
      else from.pipe(to)
    }
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const near = new URL(url)
  near.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`
  return {
    url: near.href,
    silence() {
      silent = true
      for (const socket of sockets) socket.unpipe().pause()
    },
    resume() {
      silent = false
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      proxy.close()
      await once(proxy, 'close')
    },
  }
}
