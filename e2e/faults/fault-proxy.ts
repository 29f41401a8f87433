import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { Fault } from './fault.ts'
import { type Link, openLink } from './link.ts'

/** A TCP proxy on loopback that injects faults into the connections through it. */
export interface FaultProxy extends AsyncDisposable {
  readonly port: number
  /** The number of connections through it that are open at one end or both. */
  readonly open: number
  /** The number of bytes that it has discarded. */
  readonly lostBytes: number
  /** Sets the fault, for open connections and new ones. */
  set(fault: Fault): Promise<void>
  /** Counts from now on what clients send with this text in it. Returns a function that returns the count. */
  watch(text: string): () => number
  /** Sets the target of new connections. */
  aim(port: number): void
}

const RETRIES = 100

export async function startFaultProxy(first: { host: string; port: number }): Promise<FaultProxy> {
  let target = first
  let fault: Fault = { kind: 'pass' }
  const links = new Set<Link>()
  let lostBytes = 0
  let watched = { text: '', count: 0 }
  const onRequest = (bytes: Buffer) => {
    if (watched.text && bytes.includes(watched.text)) watched.count += 1
  }
  const onLost = (bytes: number) => {
    lostBytes += bytes
  }
  const server = createServer({ allowHalfOpen: true, noDelay: true }, accept)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  function accept(client: Socket): void {
    if (fault.kind === 'reset') return void client.resetAndDestroy()
    const onClosed = () => links.delete(link)
    const link = openLink({ client, target, fault: () => fault, onRequest, onLost, onClosed })
    links.add(link)
    link.changed()
  }

  /** Retries: the port may be in use for a moment, as the local end of another connection. */
  async function listenAgain(retries = RETRIES): Promise<void> {
    server.listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch (error) {
      if (retries === 0) throw error
      await listenAgain(retries - 1)
    }
  }

  return {
    port,
    get open() {
      return links.size
    },
    get lostBytes() {
      return lostBytes
    },
    watch(text) {
      const begun = { text, count: 0 }
      watched = begun
      return () => begun.count
    },
    aim(there) {
      target = { ...target, port: there }
    },
    async set(next) {
      fault = next
      if (next.kind === 'refuse' && server.listening) server.close()
      for (const link of links) link.changed()
      if (next.kind !== 'refuse' && !server.listening) await listenAgain()
    },
    async [Symbol.asyncDispose]() {
      const closed = server.listening ? once(server, 'close') : undefined
      server.close()
      for (const link of links) link.reset()
      await closed
    },
  }
}
