import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { freePorts } from '@plainpath/http/free-ports'
import { openDataDirectory } from '@plainpath/local/data-directory'
import { embeddedDatabases } from '@plainpath/local/databases'
import { localSecrets } from '@plainpath/local/secrets'
import { type AppName, serviceUrls } from '@plainpath/metadata'
import { type EmbeddedPostgres, useEmbeddedPostgres } from '@plainpath/postgres'
import { publishFirstGuides } from '@plainpath/resource/publish-first-guides'
import { compileApps } from './app-program.ts'
import { debianPrograms } from './debian-program.ts'
import type { ManagedProcess } from './managed-process.ts'
import { firstSigningKey, migrateBoth } from './prepare-stores.ts'
import { type AppPorts, type RunningApp, startApp } from './start-app.ts'
import { startGateway } from './start-gateway.ts'
import { type RunningRedis, startRedis } from './start-redis.ts'

/** Where each app meets its stores; a test puts a fault proxy in between. */
interface StackAddresses {
  readonly AUTH_DATABASE_URL: string
  readonly RESOURCE_DATABASE_URL: string
  readonly AUTH_REDIS_URL: string
  readonly RESOURCE_REDIS_URL: string
}

export interface StackOptions {
  /** Port of the gateway; a free one when absent. */
  readonly port?: number
  readonly folder: string
  readonly limitsFactor?: number
  /** Settings of the apps, beside those of the stack. */
  readonly settings?: Readonly<Record<string, string>>
  readonly say?: (line: string) => void
  /** Changes the addresses that the apps are given. */
  readonly between?: (addresses: StackAddresses) => Promise<StackAddresses>
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

const INSTANCES = 2

/** @throws {MissingPrograms} naming the Debian packages that are missing */
export async function startStack(options: StackOptions): Promise<Stack> {
  await using opening = new AsyncDisposableStack()
  const say = options.say ?? (() => {})
  const programs = await debianPrograms(['caddy', 'redis-server'], process.env['PATH'] ?? '')
  await mkdir(options.folder, { recursive: true, mode: 0o755 })
  const ports = await freePorts(2 + INSTANCES * 6)
  const next = () => ports.pop() ?? 0
  const port = options.port ?? next()
  const origin = `http://localhost:${port}`

  const data = await openDataDirectory(options.folder)
  const secrets = await localSecrets(data, serviceUrls(origin).base)
  const postgres = opening.use(await useEmbeddedPostgres({ dir: data.path('postgres') }))
  say(`PostgreSQL     127.0.0.1:${postgres.port}  databases plainpath_auth, plainpath_resource`)
  const databases = await embeddedDatabases(postgres, secrets.passwords)
  const redis = opening.use(
    await startRedis({ program: programs['redis-server'], port: next(), folder: options.folder }),
  )
  say(`Redis          127.0.0.1:${redis.port}  users auth, resource`)
  await migrateBoth(databases)
  await publishFirstGuides(databases.RESOURCE_DATABASE_URL, new Date())

  const addresses = { ...databases, AUTH_REDIS_URL: redis.urls.auth, RESOURCE_REDIS_URL: redis.urls.resource }
  const env = {
    ...secrets.files,
    ...addresses,
    ...(await options.between?.(addresses)),
    RESOURCE_CLIENT_ID: secrets.RESOURCE_CLIENT_ID,
    AUTH_ORIGIN: origin,
    RESOURCE_ORIGIN: origin,
    AUTH_OUTBOX_DIR: data.path('outbox'),
    RESOURCE_OUTBOX_DIR: data.path('outbox'),
    AUTH_TRUSTED_PROXIES: '127.0.0.1',
    RESOURCE_TRUSTED_PROXIES: '127.0.0.1',
    AUTH_LIMITS_FACTOR: String(options.limitsFactor ?? 100),
    RESOURCE_LIMITS_FACTOR: String(options.limitsFactor ?? 100),
    RESOURCE_AUTH_URL: 'http://127.0.0.1:9',
    // Whoever stops the stack stops all of it.
    AUTH_DRAIN_DELAY_SECONDS: '0',
    RESOURCE_DRAIN_DELAY_SECONDS: '0',
    ...options.settings,
  }
  await firstSigningKey({ ...env, ...addresses })
  await compileApps()

  const apps = await startApps({ ...options, env, next, say, opened: (app) => opening.use(app) })
  const upstreams = (running: readonly RunningApp[]) => running.map((app) => `127.0.0.1:${app.ports.public}`)
  const gateway = opening.use(
    await startGateway({
      program: programs.caddy,
      port,
      auth: upstreams(apps.auth),
      resource: upstreams(apps.resource),
      folder: options.folder,
    }),
  )
  say(`Gateway        ${origin}  (Caddy)`)
  say(`Logs           ${path.join(options.folder, '*.log')}`)
  const resources = opening.move()
  return {
    origin,
    ...apps,
    gateway,
    redis,
    postgres,
    env,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** Each API process asks every auth process. */
async function startApps(options: {
  env: Readonly<Record<string, string>>
  folder: string
  next: () => number
  say: (line: string) => void
  opened: (app: RunningApp) => void
  beforeAuth?: (url: string) => Promise<string>
  surroundingsOf?: StackOptions['surroundingsOf']
}): Promise<Pick<Stack, AppName>> {
  const { folder, next, say } = options
  const start = async (app: AppName, number: number, more: Record<string, string> = {}) => {
    const ports: AppPorts = { public: next(), operations: next(), internal: next() }
    const surroundings = options.surroundingsOf?.(`${app}-${number}`) ?? {}
    const env = { ...options.env, ...more }
    const started = await startApp({ app, number, ports, env, surroundings, folder })
    options.opened(started)
    say(`${started.name.padEnd(14)} 127.0.0.1:${ports.public}  operations 127.0.0.1:${ports.operations}`)
    return started
  }
  const auth: RunningApp[] = []
  const resource: RunningApp[] = []
  for (let number = 1; number <= INSTANCES; number += 1) auth.push(await start('auth', number))
  for (let number = 1; number <= INSTANCES; number += 1) {
    const urls: string[] = []
    for (const { ports } of auth) {
      const direct = `http://127.0.0.1:${ports.internal}`
      urls.push((await options.beforeAuth?.(direct)) ?? direct)
    }
    resource.push(await start('resource', number, { RESOURCE_AUTH_URL: urls.join(',') }))
  }
  return { auth, resource }
}
