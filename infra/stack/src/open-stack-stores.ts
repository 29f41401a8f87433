import { loadConfig } from '@plainpath/auth/config'
import { initKeys } from '@plainpath/auth/key-operations'
import { openStores } from '@plainpath/auth/stores'
import { createLog } from '@plainpath/http'
import { reserveFreePorts } from '@plainpath/http/free-ports'
import { DATA_DIRECTORY_LOCK, openDataDirectory } from '@plainpath/local/data-directory'
import { ensureEmbeddedDatabases, migrateBothApps } from '@plainpath/local/databases'
import { ensureLocalSecrets } from '@plainpath/local/secrets'
import { LocalError } from '@plainpath/local/settings'
import { createServiceUrls } from '@plainpath/metadata'
import { type EmbeddedPostgres, holdLock, useEmbeddedPostgres } from '@plainpath/postgres'
import { publishFirstGuides } from '@plainpath/resource/publish-first-guides'
import { findDebianPrograms } from './debian-program.ts'
import { type RunningRedis, startRedis } from './start-redis.ts'

/** The addresses at which each app reaches its stores. */
export interface StoreAddresses {
  readonly AUTH_DATABASE_URL: string
  readonly RESOURCE_DATABASE_URL: string
  readonly AUTH_REDIS_URL: string
  readonly RESOURCE_REDIS_URL: string
}

/** The running stores. Both databases are migrated. Auth's contains a signing key, and the API's contains the first guides. */
export interface StackStores extends AsyncDisposable {
  readonly postgres: EmbeddedPostgres
  readonly redis: RunningRedis
  readonly addresses: StoreAddresses
  /** Settings of both apps, including `addresses`. They lack the ports, and `RESOURCE_AUTH_URL` is only a placeholder. */
  readonly env: Readonly<Record<string, string>>
}

/**
 * Starts the stores of a stack with the data in `folder`, and creates the data if necessary.
 *
 * @throws {MissingPrograms} if `redis-server` is not installed
 * @throws {LocalError} if another stack or `npm start` uses the data, or PostgreSQL already runs on it at another port
 */
export async function openStackStores(options: {
  folder: string
  origin: string
  limitsFactor: number
  /** The memory limit of Redis in MB; by default 256. */
  redisMb?: number
  /** By default free ports. */
  ports?: { readonly postgres: number | undefined; readonly redis: number }
  postgresSettings?: Readonly<Record<string, string>>
}): Promise<StackStores> {
  const { folder, origin, limitsFactor } = options
  await using opening = new AsyncDisposableStack()
  const programs = await findDebianPrograms(['redis-server'], process.env['PATH'] ?? '')
  const data = await openDataDirectory(folder)
  const secrets = await ensureLocalSecrets(data, createServiceUrls(origin).base)
  const postgresPort = options.ports?.postgres
  const postgres = opening.use(
    await useEmbeddedPostgres({
      dir: data.path('postgres'),
      settings: {
        ...options.postgresSettings,
        ...(postgresPort !== undefined && { port: String(postgresPort) }),
      },
    }),
  )
  const lock = await holdLock(postgres.url, DATA_DIRECTORY_LOCK)
  if (!lock)
    throw new LocalError(
      `Another npm start or stack serves ${folder}. Stop it, or set DATA_DIR to another directory.`,
    )
  opening.use(lock)
  if (postgresPort !== undefined && postgres.port !== postgresPort)
    throw new LocalError(
      `PostgreSQL is already running on the data in ${folder}, at port ${postgres.port}. Stop the programs that use it, then start the stack again.`,
    )
  const databases = await ensureEmbeddedDatabases(postgres, secrets.passwords)
  const port = options.ports?.redis ?? (await reserveFreePorts(1))[0] ?? 0
  const redis = opening.use(
    await startRedis({
      program: programs['redis-server'],
      port,
      folder,
      maxMemoryMb: options.redisMb ?? 256,
    }),
  )
  await migrateBothApps(databases)
  await publishFirstGuides(databases.RESOURCE_DATABASE_URL, new Date())
  const addresses = { ...databases, AUTH_REDIS_URL: redis.urls.auth, RESOURCE_REDIS_URL: redis.urls.resource }
  const env = {
    ...secrets.files,
    ...addresses,
    RESOURCE_CLIENT_ID: secrets.RESOURCE_CLIENT_ID,
    AUTH_ORIGIN: origin,
    RESOURCE_ORIGIN: origin,
    AUTH_OUTBOX_DIR: data.path('outbox'),
    RESOURCE_OUTBOX_DIR: data.path('outbox'),
    AUTH_TRUSTED_PROXIES: '127.0.0.1',
    RESOURCE_TRUSTED_PROXIES: '127.0.0.1',
    AUTH_LIMITS_FACTOR: String(limitsFactor),
    RESOURCE_LIMITS_FACTOR: String(limitsFactor),
    // The app requires an address, and the ports of auth are not known here.
    RESOURCE_AUTH_URL: 'http://127.0.0.1:9',
  }
  await createSigningKey(env)
  const resources = opening.move()
  return { postgres, redis, addresses, env, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

/**
 * Creates the first signing key, unless one exists.
 *
 * @param env the settings of the authorization server
 */
async function createSigningKey(env: Readonly<Record<string, string>>): Promise<void> {
  await using stores = await openStores(loadConfig(env), {
    log: createLog({ service: 'stack', write: () => {} }),
    now: () => new Date(),
  })
  await initKeys({ keys: stores.keys })
}
