import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A way to a store that can fail as stores do. */
export interface FaultProxy extends AsyncDisposable {
  /** The store's URL, through the proxy. */
  readonly url: string
  /** From now on sockets stay open and new ones are accepted, but no bytes come back. */
  silence(): void
  /** Ends every connection and refuses new ones. */
  refuse(): Promise<void>
  /** Passes everything on again; connections that fell silent are ended. */
  restore(): Promise<void>
}

export async function startFaultProxy(storeUrl: string, defaultPort: number): Promise<FaultProxy> {
  const store = new URL(storeUrl)
  const sockets = new Set<Socket>()
  let silent = false
  const pair = (from: Socket, to: Socket) => {
    sockets.add(from)
    from.on('error', () => undefined)
    from.on('close', () => {
      sockets.delete(from)
      to.destroy()
    })
    from.on('data', (chunk) => {
      if (!silent) to.write(chunk)
    })
  }
  const proxy = createServer((near) => {
    const far = connect(Number(store.port || defaultPort), store.hostname)
    pair(near, far)
    pair(far, near)
  })
  const listen = async (port: number) => {
    proxy.listen(port, '127.0.0.1')
    await once(proxy, 'listening')
    return (proxy.address() as AddressInfo).port
  }
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  const close = async () => {
    if (!proxy.listening) return
    const closed = once(proxy, 'close')
    proxy.close()
    cut()
    await closed
  }
  const port = await listen(0)
  const url = new URL(storeUrl)
  url.hostname = '127.0.0.1'
  url.port = String(port)
  return {
    url: url.href,
    silence() {
      silent = true
    },
    refuse: close,
    async restore() {
      if (silent) cut()
      silent = false
      if (!proxy.listening) await listen(port)
    },
    [Symbol.asyncDispose]: close,
  }
}
