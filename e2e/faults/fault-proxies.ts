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
  /** Starts a proxy in front of the server at a URL, and returns the URL with the address of the proxy. */
  addProxy(connection: ProxiedConnection, url: string): Promise<string>
  /** Sets the fault for these connections, both for open ones and for new ones. */
  setFault(fault: Fault, ...connections: readonly ProxiedConnection[]): Promise<void>
  /**
   * Starts to count the chunks that clients send on a connection and that contain a text. Ends an earlier count of the
   * connection. Returns a function that reads the count.
   */
  startCounting(text: string, connection: ProxiedConnection): () => number
  /** Directs new database connections to the server at this port, and resets open ones. */
  redirectDatabases(port: number): Promise<void>
  /** Directs new Redis connections to the server at this port, and resets open ones. */
  redirectRedis(port: number): Promise<void>
}

/** Creates an empty set of proxies. Disposing closes them. */
export function createFaultProxies(): FaultProxies {
  const resources = new AsyncDisposableStack()
  const proxies = new Map<ProxiedConnection, FaultProxy[]>()
  const listProxies = (...connections: readonly ProxiedConnection[]) =>
    connections.flatMap((connection) => proxies.get(connection) ?? [])
  const setFault = async (fault: Fault, ...connections: readonly ProxiedConnection[]) => {
    await Promise.all(listProxies(...connections).map((proxy) => proxy.setFault(fault)))
  }
  const redirect = async (port: number, connections: readonly ProxiedConnection[]) => {
    for (const proxy of listProxies(...connections)) proxy.redirect(port)
    await setFault({ kind: 'reset' }, ...connections)
    await setFault({ kind: 'pass' }, ...connections)
  }
  return {
    setFault,
    async addProxy(connection, url) {
      const target = new URL(url)
      const proxy = resources.use(await startFaultProxy({ host: '127.0.0.1', port: Number(target.port) }))
      proxies.set(connection, [...listProxies(connection), proxy])
      target.port = String(proxy.port)
      // A name, not an IP address, so that a fault can prevent its resolution.
      target.hostname = 'localhost'
      // For a URL without a path, `href` ends with a slash, which `RESOURCE_AUTH_URL` must not have.
      return target.href.replace(/\/$/, '')
    },
    startCounting(text, connection) {
      const readCounts = listProxies(connection).map((proxy) => proxy.startCounting(text))
      return () => readCounts.reduce((sum, readCount) => sum + readCount(), 0)
    },
    redirectDatabases: (port) => redirect(port, DATABASES),
    redirectRedis: (port) => redirect(port, REDIS),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
