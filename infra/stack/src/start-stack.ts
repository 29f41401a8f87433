import path from 'node:path'
import { reserveFreePorts } from '@plainpath/http/free-ports'
import { LocalError } from '@plainpath/local/settings'
import type { AppName } from '@plainpath/metadata'
import type { EmbeddedPostgres } from '@plainpath/postgres'
import { findDebianPrograms } from './debian-program.ts'
import type { ManagedProcess } from './managed-process.ts'
import { openStackStores, type StoreAddresses } from './open-stack-stores.ts'
import { refuseBusyPorts } from './refuse-busy-ports.ts'
import { findFreeStackPorts, listAppPorts, type StackPorts } from './stack-ports.ts'
import { compileApps, type RunningApp, startApp } from './start-app.ts'
import { startGateway, toPublicMcpOrigin } from './start-gateway.ts'
import type { RunningRedis } from './start-redis.ts'

export interface StackOptions {
  /** The port of the gateway; by default a free one. */
  readonly port?: number
  /** The folder with the data of the stores, settings and logs. */
  readonly folder: string
  /** The setting `LIMITS_FACTOR` of both apps; by default 100. */
  readonly limitsFactor?: number
  /** The number of instances of each app at the start; by default two. */
  readonly instances?: Readonly<Record<AppName, number>>
  /** The maximum number of instances of each app, including those of `addInstance`; by default the number that starts. */
  readonly maxInstances?: number
  /** The ports of the other processes, for `maxInstances`; by default free ones. */
  readonly ports?: StackPorts
  /** App settings in addition to those of the stack. */
  readonly settings?: Readonly<Record<string, string>>
  /** Settings of PostgreSQL in addition to those of the stack. */
  readonly postgresSettings?: Readonly<Record<string, string>>
  /** Receives the progress and the addresses, line by line; by default nothing is printed. */
  readonly print?: (line: string) => void
  /** Replaces the store addresses, for example with those of fault proxies. May add settings with further addresses. */
  readonly redirectStores?: (
    addresses: StoreAddresses,
    folder: string,
  ) => Promise<StoreAddresses & Readonly<Record<string, string>>>
  /** Replaces the address of an internal listener of auth, for each API process. */
  readonly redirectAuth?: (url: string) => Promise<string>
  /** Returns environment variables for a process such as `auth-1`, in addition to its settings. */
  readonly processEnvFor?: (name: string) => Readonly<Record<string, string>>
}

/** The instances of both apps behind a gateway, PostgreSQL with two databases, and Redis, all as plain processes. */
export interface Stack extends AsyncDisposable {
  readonly origin: string
  readonly auth: readonly RunningApp[]
  readonly resource: readonly RunningApp[]
  readonly gateway: ManagedProcess
  readonly redis: RunningRedis
  readonly postgres: EmbeddedPostgres
  /** The settings of both apps. They lack the ports, and `RESOURCE_AUTH_URL` is only a placeholder. */
  readonly env: Readonly<Record<string, string>>
  /**
   * Starts one more instance of an app. The gateway finds it by its health check.
   *
   * @throws {LocalError} if `maxInstances` of the app already run, or another program uses one of the ports
   */
  addInstance(app: AppName): Promise<RunningApp>
  /** Stops an added instance. The gateway excludes the instance first, and the instance finishes its requests. */
  removeInstance(app: AppName, instance: RunningApp): Promise<void>
}

/** The database connections of one auth instance (14) and one resource instance (12), together. */
const CONNECTIONS_PER_PAIR = 26
/** Connections for commands and tests, and those that PostgreSQL reserves. */
const OTHER_CONNECTIONS = 48

/** Long enough for the gateway to exclude an instance that is about to stop: it checks each instance ten times a second. */
const DRAIN_DELAY_SECONDS = '2'

/**
 * Starts the whole topology.
 *
 * @throws {MissingPrograms} naming the missing Debian packages
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  await using opening = new AsyncDisposableStack()
  const print = options.print ?? (() => {})
  const { caddy } = await findDebianPrograms(['caddy', 'redis-server'], process.env['PATH'] ?? '')
  const { instances = { auth: 2, resource: 2 } } = options
  const { maxInstances = Math.max(instances.auth, instances.resource) } = options
  const ports = options.ports ?? (await findFreeStackPorts(maxInstances))
  const port = options.port ?? (await reserveFreePorts(1))[0] ?? 0
  const origin = `http://localhost:${port}`
  const { folder, limitsFactor = 100 } = options
  const { postgres, redis, ...stores } = opening.use(
    await openStackStores({
      folder,
      origin,
      limitsFactor,
      ports,
      postgresSettings: {
        max_connections: String(CONNECTIONS_PER_PAIR * maxInstances + OTHER_CONNECTIONS),
        ...options.postgresSettings,
      },
    }),
  )
  print(`PostgreSQL     127.0.0.1:${postgres.port}  databases plainpath_auth, plainpath_resource`)
  print(`Redis          127.0.0.1:${redis.port}  users auth, resource`)
  const env = {
    ...stores.env,
    RESOURCE_MCP_PUBLIC_ORIGIN: toPublicMcpOrigin(port),
    ...(await options.redirectStores?.(stores.addresses, folder)),
    // The gateway stops together with the apps, so they need not wait until it excludes them.
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
    const instance = await startApp({
      app,
      number,
      ports: ports.app(app, number),
      env: { ...env, ...extraSettings },
      processEnv: options.processEnvFor?.(`${app}-${number}`) ?? {},
      folder,
    })
    const { public: publicPort, operations } = instance.ports
    print(`${instance.name.padEnd(14)} 127.0.0.1:${publicPort}  operations 127.0.0.1:${operations}`)
    return instance
  }
  const runningInstances: Record<AppName, RunningApp[]> = { auth: [], resource: [] }
  opening.defer(async () => {
    // All instances are stopped, even if stopping one of them fails.
    await using stopping = new AsyncDisposableStack()
    for (const instance of [...runningInstances.auth, ...runningInstances.resource]) stopping.use(instance)
  })
  for (const number of listNumbersUpTo(instances.auth))
    runningInstances.auth.push(await start('auth', number))
  // Each API process receives the addresses of the auth processes that start with the stack, since added ones may stop earlier.
  const internalUrls = runningInstances.auth.map(({ ports: { internal } }) => `http://127.0.0.1:${internal}`)
  const { redirectAuth = async (url: string) => url } = options
  const createAuthUrlSetting = async () => ({
    RESOURCE_AUTH_URL: (await Promise.all(internalUrls.map(redirectAuth))).join(','),
  })
  for (const number of listNumbersUpTo(instances.resource))
    runningInstances.resource.push(await start('resource', number, await createAuthUrlSetting()))
  // The gateway receives the addresses of all possible instances, since a reload of Caddy would break open connections.
  const listUpstreams = (app: AppName) =>
    listNumbersUpTo(maxInstances).map((number) => `127.0.0.1:${ports.app(app, number).public}`)
  const gateway = opening.use(
    await startGateway({
      program: caddy,
      port,
      auth: listUpstreams('auth'),
      resource: listUpstreams('resource'),
      folder,
      logHealthChecks: Math.min(instances.auth, instances.resource) === maxInstances,
    }),
  )
  print(`Gateway        ${origin}  (Caddy)`)
  print(`Public MCP     ${toPublicMcpOrigin(port)}/mcp`)
  print(`Logs           ${path.join(folder, '*.log')}`)
  const usedNumbers = {
    auth: new Set(listNumbersUpTo(instances.auth)),
    resource: new Set(listNumbersUpTo(instances.resource)),
  }
  const addInstance = async (app: AppName): Promise<RunningApp> => {
    const number = listNumbersUpTo(maxInstances).find((candidate) => !usedNumbers[app].has(candidate))
    if (number === undefined)
      throw new LocalError(
        `The stack already runs ${maxInstances} instances of ${app}, which is the maximum.`,
      )
    usedNumbers[app].add(number)
    try {
      const requiredPorts = listAppPorts(app, number, ports.app(app, number))
      await refuseBusyPorts(requiredPorts, 'start the stack again on other ports')
      const instance = await start(app, number, {
        ...(await createAuthUrlSetting()),
        AUTH_DRAIN_DELAY_SECONDS: DRAIN_DELAY_SECONDS,
        RESOURCE_DRAIN_DELAY_SECONDS: DRAIN_DELAY_SECONDS,
      })
      runningInstances[app].push(instance)
      return instance
    } catch (error) {
      usedNumbers[app].delete(number)
      throw error
    }
  }
  const removeInstance = async (app: AppName, instance: RunningApp) => {
    await instance.stop('SIGTERM')
    runningInstances[app].splice(runningInstances[app].indexOf(instance), 1)
    usedNumbers[app].delete(Number(instance.name.slice(app.length + 1)))
  }
  const resources = opening.move()
  return {
    origin,
    auth: runningInstances.auth,
    resource: runningInstances.resource,
    gateway,
    redis,
    postgres,
    env,
    addInstance,
    removeInstance,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** Returns the numbers from 1 to `last`. */
const listNumbersUpTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1)
