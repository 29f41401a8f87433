import { rm } from 'node:fs/promises'
import { openStackStores, type StackStores } from '@plainpath/stack/open-stack-stores'
import { openAdminConnection } from '../growth/fill-stores.ts'
import { ORIGIN } from '../load/target.ts'

/** The stores of this run, on the core of this process. */
export interface Stores extends Pick<StackStores, 'postgres' | 'redis' | 'env'>, AsyncDisposable {
  /** Superuser URLs, to fill tables and to read sizes. */
  readonly adminUrls: { readonly auth: string; readonly resource: string }
  /** Creates an empty database for a baseline. Returns its superuser URL. */
  createDatabase(name: string): Promise<string>
  /**
   * Deletes the mails of the API. Otherwise, queued mails would be sent during another measurement, and every ten seconds both apps
   * would check the age of each sent mail.
   */
  deleteMails(): Promise<void>
}

/**
 * Starts PostgreSQL and Redis with data in `folder`. Both are configured for a million rows.
 *
 * @param postgresSettings settings of PostgreSQL in addition to these
 */
export async function openStores(
  folder: string,
  postgresSettings: Readonly<Record<string, string>> = {},
): Promise<Stores> {
  await using opening = new AsyncDisposableStack()
  const { postgres, redis, env } = opening.use(
    await openStackStores({
      folder,
      origin: ORIGIN,
      // Every limit counts requests, but refuses none.
      limitsFactor: 1_000_000,
      // Room for a million tokens, and for the indexes of a million rows.
      redisMb: 2_048,
      postgresSettings: { shared_buffers: '512MB', max_wal_size: '4GB', ...postgresSettings },
    }),
  )
  const formatAdminUrl = (database: string) => {
    const url = new URL(postgres.url)
    url.pathname = database
    return url.href
  }
  const outboxFolder = env['RESOURCE_OUTBOX_DIR'] ?? ''
  const adminUrls = { auth: formatAdminUrl('plainpath_auth'), resource: formatAdminUrl('plainpath_resource') }
  const resourceDatabase = opening.use(await openAdminConnection(adminUrls.resource))
  const resources = opening.move()
  return {
    postgres,
    redis,
    env,
    adminUrls,
    async createDatabase(name) {
      await resourceDatabase.query(`create database ${name}`)
      return formatAdminUrl(name)
    },
    async deleteMails() {
      await resourceDatabase.query('delete from mails')
      // A mailer may be writing a file.
      await rm(outboxFolder, { recursive: true, force: true, maxRetries: 5 })
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
