import { freePorts } from '@plainpath/http/free-ports'
import { openDataDirectory } from '@plainpath/local/data-directory'
import { embeddedDatabases, migrateBoth } from '@plainpath/local/databases'
import { localSecrets } from '@plainpath/local/secrets'
import { serviceUrls } from '@plainpath/metadata'
import { useEmbeddedPostgres } from '@plainpath/postgres'
import { publishFirstGuides } from '@plainpath/resource/publish-first-guides'
import { debianPrograms } from '@plainpath/stack/debian-program'
import { firstSigningKey } from '@plainpath/stack/prepare-stores'
import { type RunningRedis, startRedis } from '@plainpath/stack/start-redis'
import { openAdmin } from '../growth/fill-stores.ts'
import { ORIGIN } from '../load/target.ts'

/** PostgreSQL and Redis of this run alone, on the core of this process, empty but for guides and one signing key. */
export interface Stores extends AsyncDisposable {
  readonly redis: RunningRedis
  /** Every setting of both apps but their ports. */
  readonly env: Readonly<Record<string, string>>
  /** Superuser, for seeding and for looking at sizes. */
  readonly adminUrls: { readonly auth: string; readonly resource: string }
  /** Deletes the mails that wait to be sent: thousands of them would be sent while something else is measured. */
  forgetMails(): Promise<void>
}

/** Room for a million tokens. */
const REDIS_MB = 2_048
/** The indexes of a million rows fit in. */
const SHARED_BUFFERS = '512MB'
/** Each limit counts each request and refuses none. */
const LIMITS_FACTOR = '1000000'

export async function openStores(folder: string): Promise<Stores> {
  await using opening = new AsyncDisposableStack()
  const programs = await debianPrograms(['redis-server'], process.env['PATH'] ?? '')
  const data = await openDataDirectory(folder)
  const secrets = await localSecrets(data, serviceUrls(ORIGIN).base)
  const postgres = opening.use(
    await useEmbeddedPostgres({
      dir: data.path('postgres'),
      settings: { shared_buffers: SHARED_BUFFERS, max_wal_size: '4GB' },
    }),
  )
  const databases = await embeddedDatabases(postgres, secrets.passwords)
  const [port = 0] = await freePorts(1)
  const redis = opening.use(
    await startRedis({ program: programs['redis-server'], port, folder, maxMemoryMb: REDIS_MB }),
  )
  await migrateBoth(databases)
  await publishFirstGuides(databases.RESOURCE_DATABASE_URL, new Date())
  const env = {
    ...secrets.files,
    ...databases,
    AUTH_REDIS_URL: redis.urls.auth,
    RESOURCE_REDIS_URL: redis.urls.resource,
    RESOURCE_CLIENT_ID: secrets.RESOURCE_CLIENT_ID,
    AUTH_ORIGIN: ORIGIN,
    RESOURCE_ORIGIN: ORIGIN,
    AUTH_TRUSTED_PROXIES: '127.0.0.1',
    RESOURCE_TRUSTED_PROXIES: '127.0.0.1',
    AUTH_LIMITS_FACTOR: LIMITS_FACTOR,
    RESOURCE_LIMITS_FACTOR: LIMITS_FACTOR,
    AUTH_OUTBOX_DIR: data.path('outbox'),
    RESOURCE_OUTBOX_DIR: data.path('outbox'),
    RESOURCE_AUTH_URL: 'http://127.0.0.1:9',
  }
  await firstSigningKey(env)
  const admin = (database: string) => {
    const url = new URL(postgres.url)
    url.pathname = database
    return url.href
  }
  const adminUrls = { auth: admin('plainpath_auth'), resource: admin('plainpath_resource') }
  const mails = opening.use(await openAdmin(adminUrls.resource))
  const resources = opening.move()
  return {
    redis,
    env,
    adminUrls,
    async forgetMails() {
      await mails.query('delete from graphile_worker._private_jobs')
      await mails.query('delete from mails')
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
