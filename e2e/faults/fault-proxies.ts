import type { Fault } from './fault.ts'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'

/** The connections between processes into which faults can be injected. */
export type ProxiedConnection =
  | 'auth database'
  | 'api database'
  | 'auth redis'
  | 'api redis'
  | 'introspection'
  | 'mail'

const DATABASES: readonly ProxiedConnection[] = ['auth database', 'api database']
const REDIS: readonly ProxiedConnection[] = ['auth redis', 'api redis']

/** The fault proxies, one for each address to which processes connect. */
export interface FaultProxies extends AsyncDisposable {
  /** Creates a proxy for an address, and returns the address of the proxy. */
  through(connection: ProxiedConnection, url: string): Promise<string>
  /** Injects a fault into connections. */
  put(fault: Fault, ...connections: readonly ProxiedConnection[]): Promise<void>
  /** Counts how often a text is sent on a connection from now on. Returns a function that returns the count. */
  watch(text: string, connection: ProxiedConnection): () => number
  /** Sends new connections to the databases to the server at this port, and resets open ones. */
  aimDatabases(port: number): Promise<void>
  /** Sends new connections to Redis to the server at this port, and resets open ones. */
  aimRedis(port: number): Promise<void>
}

/** Creates an empty set of proxies. Disposing closes them. */
export function openFaultProxies(): FaultProxies {
  const resources = new AsyncDisposableStack()
  const proxies = new Map<ProxiedConnection, FaultProxy[]>()
  const listProxies = (...connections: readonly ProxiedConnection[]) =>
    connections.flatMap((connection) => proxies.get(connection) ?? [])
  const put = async (fault: Fault, ...connections: readonly ProxiedConnection[]) => {
    await Promise.all(listProxies(...connections).map((proxy) => proxy.set(fault)))
  }
  const aim = async (port: number, connections: readonly ProxiedConnection[]) => {
    for (const proxy of listProxies(...connections)) proxy.aim(port)
    await put({ kind: 'reset' }, ...connections)
    await put({ kind: 'pass' }, ...connections)
  }
  return {
    put,
    async through(connection, url) {
      const target = new URL(url)
      const proxy = resources.use(await startFaultProxy({ host: '127.0.0.1', port: Number(target.port) }))
      proxies.set(connection, [...listProxies(connection), proxy])
      target.port = String(proxy.port)
      // This is a name and not an IP address, so that its resolution can fail.
      target.hostname = 'localhost'
      return target.href.replace(/\/$/, '')
    },
    watch(text, connection) {
      const counts = listProxies(connection).map((proxy) => proxy.watch(text))
      return () => counts.reduce((sum, count) => sum + count(), 0)
    },
    aimDatabases: (port) => aim(port, DATABASES),
    aimRedis: (port) => aim(port, REDIS),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
