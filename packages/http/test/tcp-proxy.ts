import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface TcpProxy extends AsyncDisposable {
  readonly url: string
  /** From now on nothing is passed on, and no connection ends. */
  silence(): void
  /** Ends every connection and refuses new ones. */
  cut(): Promise<void>
  /** Accepts again, on the same port. */
  restore(): Promise<void>
}

/** Stands before the server of the URL, as a network that can fail. */
export async function startTcpProxy(url: string): Promise<TcpProxy> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  let silent = false
  const server = createServer((client) => {
    const upstream = connect({ host: target.hostname, port: Number(target.port || 6379) })
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('data', (chunk) => {
        if (!silent) to.write(chunk)
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
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  const here = new URL(url)
  here.hostname = '127.0.0.1'
  here.port = String(port)
  return {
    url: here.href,
    silence: () => {
      silent = true
    },
    cut,
    async restore() {
      await listen(port)
    },
    [Symbol.asyncDispose]: cut,
  }
}
