import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP proxy in front of a store, which simulates failures of the store. */
export interface FaultProxy extends AsyncDisposable {
  /** The store's URL, through the proxy. */
  readonly url: string
  /** Stops forwarding bytes, in both directions. Connections stay open, and new ones are accepted. */
  silence(): void
  /** Closes every connection, and refuses new ones. */
  refuse(): Promise<void>
  /** Forwards bytes again, on the same port. Closes the connections that were open while the proxy was silent. */
  restore(): Promise<void>
}

export async function startFaultProxy(storeUrl: string, defaultPort: number): Promise<FaultProxy> {
  const store = new URL(storeUrl)
  const sockets = new Set<Socket>()
  let isSilent = false
  const forward = (from: Socket, to: Socket) => {
    sockets.add(from)
    from.on('error', () => undefined)
    from.on('close', () => {
      sockets.delete(from)
      to.destroy()
    })
    from.on('data', (chunk) => {
      if (!isSilent) to.write(chunk)
    })
  }
  const proxy = createServer((client) => {
    const upstream = connect(Number(store.port || defaultPort), store.hostname)
    forward(client, upstream)
    forward(upstream, client)
  })
  const listen = async (port: number) => {
    proxy.listen(port, '127.0.0.1')
    await once(proxy, 'listening')
    return (proxy.address() as AddressInfo).port
  }
  const closeConnections = () => {
    for (const socket of sockets) socket.destroy()
  }
  const close = async () => {
    if (!proxy.listening) return
    const closed = once(proxy, 'close')
    proxy.close()
    closeConnections()
    await closed
  }
  const port = await listen(0)
  const url = new URL(storeUrl)
  url.hostname = '127.0.0.1'
  url.port = String(port)
  return {
    url: url.href,
    silence() {
      isSilent = true
    },
    refuse: close,
    async restore() {
      if (isSilent) closeConnections()
      isSilent = false
      if (!proxy.listening) await listen(port)
    },
    [Symbol.asyncDispose]: close,
  }
}
