import { chmod } from 'node:fs/promises'
import path from 'node:path'
import { reserveFreePorts } from '@plainpath/http/free-ports'
import { openDataDirectory } from '@plainpath/local/data-directory'
import { ensureEmbeddedDatabases } from '@plainpath/local/databases'
import { ensureLocalSecrets } from '@plainpath/local/secrets'
import { createServiceUrls } from '@plainpath/metadata'
import { useEmbeddedPostgres } from '@plainpath/postgres'
import { findDebianPrograms } from '@plainpath/stack/debian-program'
import { startRedis } from '@plainpath/stack/start-redis'

/** Databases without tables, and Redis. */
export interface ReleaseStores extends AsyncDisposable {
  /** The settings of both apps for stores, secrets, origin and mail. Each release receives those that it knows. */
  readonly env: Readonly<Record<string, string>>
}

/** Opens stores that several releases can use simultaneously, with the data in `folder`. */
export async function openReleaseStores(folder: string, origin: string): Promise<ReleaseStores> {
  await using opening = new AsyncDisposableStack()
  const data = await openDataDirectory(path.join(folder, 'data'))
  const secrets = await ensureLocalSecrets(data, createServiceUrls(origin).base)
  // If this process is root, the database server runs as another user, which must be able to enter this folder.
  await chmod(path.join(folder, 'data'), 0o755)
  const postgres = opening.use(await useEmbeddedPostgres({ dir: data.path('postgres') }))
  const programs = await findDebianPrograms(['redis-server'], process.env['PATH'] ?? '')
  const [port = 0] = await reserveFreePorts(1)
  const redis = opening.use(await startRedis({ program: programs['redis-server'], port, folder }))
  const env = {
    ...secrets.files,
    ...(await ensureEmbeddedDatabases(postgres, secrets.passwords)),
    AUTH_REDIS_URL: redis.urls.auth,
    RESOURCE_REDIS_URL: redis.urls.resource,
    RESOURCE_CLIENT_ID: secrets.RESOURCE_CLIENT_ID,
    AUTH_ORIGIN: origin,
    RESOURCE_ORIGIN: origin,
    AUTH_OUTBOX_DIR: data.path('outbox'),
    RESOURCE_OUTBOX_DIR: data.path('outbox'),
  }
  const resources = opening.move()
  return { env, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}
