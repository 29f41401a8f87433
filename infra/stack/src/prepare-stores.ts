import { loadConfig } from '@plainpath/auth/config'
import { initKeys } from '@plainpath/auth/key-operations'
import { MIGRATIONS as AUTH_MIGRATIONS, openStores } from '@plainpath/auth/stores'
import { createLog } from '@plainpath/http'
import type { embeddedDatabases } from '@plainpath/local/databases'
import { migrate } from '@plainpath/postgres'
import { MIGRATIONS as RESOURCE_MIGRATIONS } from '@plainpath/resource/migrations'

/** Brings the tables of both apps up to date. */
export async function migrateBoth(urls: Awaited<ReturnType<typeof embeddedDatabases>>): Promise<void> {
  const role = (url: string) => decodeURIComponent(new URL(url).username)
  await migrate({
    url: urls.AUTH_MIGRATION_DATABASE_URL,
    folder: AUTH_MIGRATIONS,
    appRole: role(urls.AUTH_DATABASE_URL),
  })
  await migrate({
    url: urls.RESOURCE_MIGRATION_DATABASE_URL,
    folder: RESOURCE_MIGRATIONS,
    appRole: role(urls.RESOURCE_DATABASE_URL),
  })
}

/** @param env the settings of the authorization server */
export async function firstSigningKey(env: Readonly<Record<string, string>>): Promise<void> {
  const now = () => new Date()
  await using stores = await openStores(loadConfig(env), {
    log: createLog({ service: 'stack', write: () => {} }),
    now,
  })
  await initKeys({ keys: stores.keys })
}
