import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openPool, type Pool } from '@plainpath/postgres'
import { type PostgresProcess, postgresProcess } from '@plainpath/stack/postgres-process'
import { type Stack, startStack } from '@plainpath/stack/start-stack'
import { Redis } from 'ioredis'
import type { Fault } from './fault.ts'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'
import { faultyMachines, type Machine } from './faulty-machine.ts'

/** The ways between the processes that a fault can be put on. */
export type Way = 'auth database' | 'api database' | 'auth redis' | 'api redis' | 'introspection'

const DATABASES: readonly Way[] = ['auth database', 'api database']

/** The whole topology, with a fault proxy on every way to a store and from the API to auth. */
export interface FaultyStack extends AsyncDisposable {
  readonly folder: string
  readonly stack: Stack
  readonly postgres: PostgresProcess
  /** May do everything in the database named. */
  readonly admin: { readonly auth: Pool; readonly api: Pool; readonly server: Pool }
  readonly redis: Redis
  put(fault: Fault, ...ways: Way[]): Promise<void>
  /** New connections to the databases go to the server at this port; open ones are reset. */
  aimDatabases(port: number): Promise<void>
  /** What is wrong with the machine, as a process named such as `auth-1` sees it. */
  machine(name: string): Machine
  /** Done when all is over, before the folder goes. */
  defer(clean: () => Promise<void>): void
}

/**
 * @param options.limitsFactor as of both apps
 * @param options.folder where logs and data stay; without it they go when the stack goes
 */
export async function startFaultyStack(options: {
  limitsFactor: number
  folder?: string | undefined
}): Promise<FaultyStack> {
  await using opening = new AsyncDisposableStack()
  const { limitsFactor, folder = await mkdtemp(path.join(tmpdir(), 'plainpath-faults-')) } = options
  if (!options.folder) {
    opening.defer(() => rm(folder, { recursive: true, force: true }))
    // As root the database server runs as another user, who must reach its folder below this one.
    await chmod(folder, 0o755)
  }
  const last = opening.use(new AsyncDisposableStack())
  const machines = await faultyMachines(folder)
  const proxies = new Map<Way, FaultProxy[]>()
  const through = async (way: Way, url: string) => {
    const target = new URL(url)
    const proxy = opening.use(await startFaultProxy({ host: '127.0.0.1', port: Number(target.port) }))
    proxies.set(way, [...(proxies.get(way) ?? []), proxy])
    target.port = String(proxy.port)
    // A name, so that it can fail to be resolved.
    target.hostname = 'localhost'
    return target.href.replace(/\/$/, '')
  }
  const stack = opening.use(
    await startStack({
      folder,
      limitsFactor,
      between: async (to) => ({
        AUTH_DATABASE_URL: await through('auth database', to.AUTH_DATABASE_URL),
        RESOURCE_DATABASE_URL: await through('api database', to.RESOURCE_DATABASE_URL),
        AUTH_REDIS_URL: await through('auth redis', to.AUTH_REDIS_URL),
        RESOURCE_REDIS_URL: await through('api redis', to.RESOURCE_REDIS_URL),
      }),
      beforeAuth: (url) => through('introspection', url),
      surroundingsOf: (name) => machines.of(name).environment,
    }),
  )
  const admin = (database: string) => {
    const url = new URL(stack.postgres.url)
    url.pathname = `/${database}`
    return opening.use(openPool(url.href, { max: 1, applicationName: 'plainpath faults' }))
  }
  const redis = new Redis(stack.redis.adminUrl, { maxRetriesPerRequest: 20, retryStrategy: () => 50 })
  redis.on('error', () => {})
  opening.defer(() => redis.disconnect())
  const pools = {
    auth: admin('plainpath_auth'),
    api: admin('plainpath_resource'),
    server: admin('postgres'),
  }
  const put = async (fault: Fault, ...ways: readonly Way[]) => {
    await Promise.all(ways.flatMap((way) => proxies.get(way) ?? []).map((proxy) => proxy.set(fault)))
  }
  const resources = opening.move()
  return {
    folder,
    stack,
    admin: pools,
    redis,
    postgres: postgresProcess(stack.postgres),
    machine: (name) => machines.of(name),
    defer: (clean) => last.defer(clean),
    put,
    async aimDatabases(port) {
      for (const way of DATABASES) for (const proxy of proxies.get(way) ?? []) proxy.aim(port)
      await put({ kind: 'reset' }, ...DATABASES)
      await put({ kind: 'pass' }, ...DATABASES)
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
