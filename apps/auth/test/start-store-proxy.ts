import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP proxy in front of a store, which simulates failures of the store. */
export interface StoreProxy extends AsyncDisposable {
  /** The store's URL, through the proxy. */
  readonly url: string
  /** Discards all bytes, in both directions. Connections stay open, and new ones are accepted. */
  silence(): void
  /** Closes every connection, and refuses new ones. */
  refuse(): Promise<void>
  /** Forwards bytes again, on the same port. Closes connections that may have lost bytes. */
  restore(): Promise<void>
}

/** Starts a proxy on a free port of 127.0.0.1. `defaultPort` is the port of the store if `storeUrl` names none. */
export async function startStoreProxy(storeUrl: string, defaultPort: number): Promise<StoreProxy> {
  const store = new URL(storeUrl)
  const sockets = new Set<Socket>()
  let isSilent = false
  const forward = (from: Socket, to: Socket) => {
    sockets.add(from)
    from.on('error', () => {
      // A `close` event follows every error, and is handled below.
    })
    from.on('close', () => {
      sockets.delete(from)
      to.destroy()
    })
    from.on('data', (chunk) => {
      if (!isSilent) to.write(chunk)
    })
  }
  const server = createServer((client) => {
    const upstream = connect(Number(store.port || defaultPort), store.hostname)
    forward(client, upstream)
    forward(upstream, client)
  })
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const closeConnections = () => {
    for (const socket of sockets) socket.destroy()
  }
  const close = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
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
      if (!server.listening) await listen(port)
    },
    [Symbol.asyncDispose]: close,
  }
}
