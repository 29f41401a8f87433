import path from 'node:path'
import { freePorts } from '@plainpath/http/free-ports'
import type { AppName } from '@plainpath/metadata'
import type { EmbeddedPostgres } from '@plainpath/postgres'
import { findDebianPrograms } from './debian-program.ts'
import type { ManagedProcess } from './managed-process.ts'
import { openStackStores, type StoreAddresses } from './open-stack-stores.ts'
import { type AppPorts, compileApps, type RunningApp, startApp } from './start-app.ts'
import { publicMcpOrigin, startGateway } from './start-gateway.ts'
import type { RunningRedis } from './start-redis.ts'

export interface StackOptions {
  /** The port of the gateway; a free one when absent. */
  readonly port?: number
  readonly folder: string
  readonly limitsFactor?: number
  /** Settings of the apps besides those of the stack. */
  readonly settings?: Readonly<Record<string, string>>
  readonly print?: (line: string) => void
  /** Replaces the addresses of the stores, for example by those of fault proxies. */
  readonly redirectStores?: (addresses: StoreAddresses) => Promise<StoreAddresses>
  /** Replaces the address of an internal listener of auth, for each API process. */
  readonly redirectAuth?: (url: string) => Promise<string>
  /** Returns environment variables for a process such as `auth-1`, besides its settings. */
  readonly processEnvFor?: (name: string) => Readonly<Record<string, string>>
}

/** Two instances of each app behind a gateway, PostgreSQL with two databases, and Redis, all as plain processes. */
export interface Stack extends AsyncDisposable {
  readonly origin: string
  readonly auth: readonly RunningApp[]
  readonly resource: readonly RunningApp[]
  readonly gateway: ManagedProcess
  readonly redis: RunningRedis
  readonly postgres: EmbeddedPostgres
  readonly env: Readonly<Record<string, string>>
}

/** The numbers of the instances of each app. */
const INSTANCES = [1, 2]

/**
 * Starts the whole topology.
 *
 * @throws {MissingPrograms} that names the Debian packages that are missing
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  await using opening = new AsyncDisposableStack()
  const print = options.print ?? (() => {})
  const { caddy } = await findDebianPrograms(['caddy', 'redis-server'], process.env['PATH'] ?? '')
  const freePortNumbers = await freePorts(1 + INSTANCES.length * 6)
  const takePort = () => freePortNumbers.pop() ?? 0
  const port = options.port ?? takePort()
  const origin = `http://localhost:${port}`
  const { folder, limitsFactor = 100 } = options
  const { postgres, redis, ...stores } = opening.use(await openStackStores({ folder, origin, limitsFactor }))
  print(`PostgreSQL     127.0.0.1:${postgres.port}  databases plainpath_auth, plainpath_resource`)
  print(`Redis          127.0.0.1:${redis.port}  users auth, resource`)
  const env = {
    ...stores.env,
    RESOURCE_MCP_PUBLIC_ORIGIN: publicMcpOrigin(port),
    ...(await options.redirectStores?.(stores.addresses)),
    // The gateway stops together with the apps, so they need not wait until it has noticed.
    AUTH_DRAIN_DELAY_SECONDS: '0',
    RESOURCE_DRAIN_DELAY_SECONDS: '0',
    ...options.settings,
  }
  await compileApps()
  const start = async (
    app: AppName,
    number: number,
    extraSettings: Readonly<Record<string, string>> = {},
  ) => {
    const ports: AppPorts = { public: takePort(), operations: takePort(), internal: takePort() }
    const processEnv = options.processEnvFor?.(`${app}-${number}`) ?? {}
    const started = await startApp({
      app,
      number,
      ports,
      env: { ...env, ...extraSettings },
      processEnv,
      folder,
    })
    opening.use(started)
    print(`${started.name.padEnd(14)} 127.0.0.1:${ports.public}  operations 127.0.0.1:${ports.operations}`)
    return started
  }
  const auth: RunningApp[] = []
  for (const number of INSTANCES) auth.push(await start('auth', number))
  const { redirectAuth = async (url: string) => url } = options
  const resource: RunningApp[] = []
  for (const number of INSTANCES) {
    // Each API process is given the addresses of all auth processes.
    const urls = auth.map((each) => redirectAuth(`http://127.0.0.1:${each.ports.internal}`))
    const RESOURCE_AUTH_URL = (await Promise.all(urls)).join(',')
    resource.push(await start('resource', number, { RESOURCE_AUTH_URL }))
  }
  const upstreams = (apps: readonly RunningApp[]) => apps.map((app) => `127.0.0.1:${app.ports.public}`)
  const gateway = opening.use(
    await startGateway({
      program: caddy,
      port,
      auth: upstreams(auth),
      resource: upstreams(resource),
      folder,
    }),
  )
  print(`Gateway        ${origin}  (Caddy)`)
  print(`Public MCP     ${publicMcpOrigin(port)}/mcp`)
  print(`Logs           ${path.join(folder, '*.log')}`)
  const resources = opening.move()
  return {
    origin,
    auth,
    resource,
    gateway,
    redis,
    postgres,
    env,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
