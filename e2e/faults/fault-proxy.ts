import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { Fault } from './fault.ts'
import { type Link, openLink } from './link.ts'

/** A TCP proxy on loopback that injects faults into the connections through it. */
export interface FaultProxy extends AsyncDisposable {
  readonly port: number
  /** The number of connections that are open at one or both ends. */
  readonly openConnectionCount: number
  /** The number of bytes that the proxy has discarded. */
  readonly lostByteCount: number
  /** Sets the fault for open and new connections. */
  setFault(fault: Fault): Promise<void>
  /**
   * Starts to count the chunks from clients that contain this text. Ends an earlier count. Returns a function that
   * reads the count.
   */
  startCounting(text: string): () => number
  /** Sets the target port of new connections. */
  redirect(port: number): void
}

/** The number of times that the proxy tries again, without a pause, to listen on its port after the fault `refuse`. */
const LISTEN_RETRIES = 100

/** Starts a proxy on a free port, initially without a fault. */
export async function startFaultProxy(initialTarget: { host: string; port: number }): Promise<FaultProxy> {
  let target = initialTarget
  let fault: Fault = { kind: 'pass' }
  const links = new Set<Link>()
  let lostByteCount = 0
  let counter = { text: '', count: 0 }
  const onRequest = (bytes: Buffer) => {
    if (counter.text && bytes.includes(counter.text)) counter.count += 1
  }
  const onLost = (bytes: number) => {
    lostByteCount += bytes
  }
  const server = createServer({ allowHalfOpen: true, noDelay: true }, accept)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  function accept(client: Socket): void {
    if (fault.kind === 'reset') return void client.resetAndDestroy()
    const onClosed = () => links.delete(link)
    const link = openLink({ client, target, getFault: () => fault, onRequest, onLost, onClosed })
    links.add(link)
    link.applyFault()
  }

  /** Listens on the same port again. Retries, because another connection may briefly use the port as its local port. */
  async function listenAgain(retries = LISTEN_RETRIES): Promise<void> {
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
    get openConnectionCount() {
      return links.size
    },
    get lostByteCount() {
      return lostByteCount
    },
    startCounting(text) {
      const newCounter = { text, count: 0 }
      counter = newCounter
      return () => newCounter.count
    },
    redirect(newPort) {
      target = { ...target, port: newPort }
    },
    async setFault(newFault) {
      fault = newFault
      if (newFault.kind === 'refuse' && server.listening) server.close()
      for (const link of links) link.applyFault()
      if (newFault.kind !== 'refuse' && !server.listening) await listenAgain()
    },
    async [Symbol.asyncDispose]() {
      const closeEvent = server.listening ? once(server, 'close') : undefined
      server.close()
      for (const link of links) link.reset()
      await closeEvent
    },
  }
}
