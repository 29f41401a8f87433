import type { Fault } from './fault.ts'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'

/** The connections between processes into which faults can be injected. */
export type Way = 'auth database' | 'api database' | 'auth redis' | 'api redis' | 'introspection' | 'mail'

const DATABASES: readonly Way[] = ['auth database', 'api database']

/** The fault proxies, one for each address that processes connect to. */
export interface Ways extends AsyncDisposable {
  /** Creates a proxy for an address, and returns the address of the proxy. */
  through(way: Way, url: string): Promise<string>
  put(fault: Fault, ...ways: readonly Way[]): Promise<void>
  /** Counts from now on what is sent on a connection with this text in it. Returns a function that returns the count. */
  watch(text: string, way: Way): () => number
  /** Sends new connections to the databases to the server at this port, and resets open ones. */
  aimDatabases(port: number): Promise<void>
}

export function openWays(): Ways {
  const resources = new AsyncDisposableStack()
  const proxies = new Map<Way, FaultProxy[]>()
  const on = (...ways: readonly Way[]) => ways.flatMap((way) => proxies.get(way) ?? [])
  const put = async (fault: Fault, ...ways: readonly Way[]) => {
    await Promise.all(on(...ways).map((proxy) => proxy.set(fault)))
  }
  return {
    put,
    async through(way, url) {
      const target = new URL(url)
      const proxy = resources.use(await startFaultProxy({ host: '127.0.0.1', port: Number(target.port) }))
      proxies.set(way, [...on(way), proxy])
      target.port = String(proxy.port)
      // A name instead of an address, so that its resolution can fail.
      target.hostname = 'localhost'
      return target.href.replace(/\/$/, '')
    },
    watch(text, way) {
      const counts = on(way).map((proxy) => proxy.watch(text))
      return () => counts.reduce((sum, count) => sum + count(), 0)
    },
    async aimDatabases(port) {
      for (const proxy of on(...DATABASES)) proxy.aim(port)
      await put({ kind: 'reset' }, ...DATABASES)
      await put({ kind: 'pass' }, ...DATABASES)
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
