import path from 'node:path'
import { freePorts } from '@plainpath/http/free-ports'
import type { AppName } from '@plainpath/metadata'
import type { EmbeddedPostgres } from '@plainpath/postgres'
import { debianPrograms } from './debian-program.ts'
import type { ManagedProcess } from './managed-process.ts'
import { openStackStores, type StoreAddresses } from './open-stack-stores.ts'
import { type AppPorts, compileApps, type RunningApp, startApp } from './start-app.ts'
import { startGateway } from './start-gateway.ts'
import type { RunningRedis } from './start-redis.ts'

export interface StackOptions {
  /** Port of the gateway; a free one when absent. */
  readonly port?: number
  readonly folder: string
  readonly limitsFactor?: number
  /** Settings of the apps, beside those of the stack. */
  readonly settings?: Readonly<Record<string, string>>
  readonly say?: (line: string) => void
  /** Changes the addresses of the stores that the apps are given; a test puts a fault proxy in between. */
  readonly between?: (addresses: StoreAddresses) => Promise<StoreAddresses>
  /** Changes the addresses of the internal listeners of auth that each API process is given. */
  readonly beforeAuth?: (url: string) => Promise<string>
  /** The environment of a process named such as `auth-1`, beside its settings. */
  readonly surroundingsOf?: (name: string) => Readonly<Record<string, string>>
}

/** Two of each app behind a gateway, PostgreSQL with two databases, Redis with a user for each app: all plain processes. */
export interface Stack extends AsyncDisposable {
  readonly origin: string
  readonly auth: readonly RunningApp[]
  readonly resource: readonly RunningApp[]
  readonly gateway: ManagedProcess
  readonly redis: RunningRedis
  readonly postgres: EmbeddedPostgres
  readonly env: Readonly<Record<string, string>>
}

/** Of each app, by their numbers. */
const INSTANCES = [1, 2]

/** @throws {MissingPrograms} naming the Debian packages that are missing */
export async function startStack(options: StackOptions): Promise<Stack> {
  await using opening = new AsyncDisposableStack()
  const say = options.say ?? (() => {})
  const { caddy } = await debianPrograms(['caddy', 'redis-server'], process.env['PATH'] ?? '')
  const free = await freePorts(1 + INSTANCES.length * 6)
  const next = () => free.pop() ?? 0
  const port = options.port ?? next()
  const origin = `http://localhost:${port}`
  const { folder, limitsFactor = 100 } = options
  const { postgres, redis, ...stores } = opening.use(await openStackStores({ folder, origin, limitsFactor }))
  say(`PostgreSQL     127.0.0.1:${postgres.port}  databases plainpath_auth, plainpath_resource`)
  say(`Redis          127.0.0.1:${redis.port}  users auth, resource`)
  const env = {
    ...stores.env,
    ...(await options.between?.(stores.addresses)),
    // Whoever stops the stack stops all of it.
    AUTH_DRAIN_DELAY_SECONDS: '0',
    RESOURCE_DRAIN_DELAY_SECONDS: '0',
    ...options.settings,
  }
  await compileApps()
  const start = async (app: AppName, number: number, more: Readonly<Record<string, string>> = {}) => {
    const ports: AppPorts = { public: next(), operations: next(), internal: next() }
    const surroundings = options.surroundingsOf?.(`${app}-${number}`) ?? {}
    const started = await startApp({ app, number, ports, env: { ...env, ...more }, surroundings, folder })
    opening.use(started)
    say(`${started.name.padEnd(14)} 127.0.0.1:${ports.public}  operations 127.0.0.1:${ports.operations}`)
    return started
  }
  const auth: RunningApp[] = []
  for (const number of INSTANCES) auth.push(await start('auth', number))
  const { beforeAuth = async (url: string) => url } = options
  const resource: RunningApp[] = []
  for (const number of INSTANCES) {
    // Each API process asks every auth process.
    const urls = auth.map((each) => beforeAuth(`http://127.0.0.1:${each.ports.internal}`))
    const RESOURCE_AUTH_URL = (await Promise.all(urls)).join(',')
    resource.push(await start('resource', number, { RESOURCE_AUTH_URL }))
  }
  const upstreams = (running: readonly RunningApp[]) => running.map((app) => `127.0.0.1:${app.ports.public}`)
  const gateway = opening.use(
    await startGateway({
      program: caddy,
      port,
      auth: upstreams(auth),
      resource: upstreams(resource),
      folder,
    }),
  )
  say(`Gateway        ${origin}  (Caddy)`)
  say(`Logs           ${path.join(folder, '*.log')}`)
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
