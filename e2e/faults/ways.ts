import type { Fault } from './fault.ts'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'

/** The ways between the processes that a fault can be put on. */
export type Way = 'auth database' | 'api database' | 'auth redis' | 'api redis' | 'introspection' | 'mail'

const DATABASES: readonly Way[] = ['auth database', 'api database']

/** A fault proxy for each address that processes ask. */
export interface Ways extends AsyncDisposable {
  /** @returns the address to be asked instead of the one given */
  through(way: Way, url: string): Promise<string>
  put(fault: Fault, ...ways: readonly Way[]): Promise<void>
  /** From now on counts what is sent on a way with this text in it. @returns how often that was */
  watch(text: string, way: Way): () => number
  /** New connections to the databases go to the server at this port; open ones are reset. */
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
      // A name, so that it can fail to be resolved.
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
