import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openPool, type Pool } from '@plainpath/postgres'
import { openTestDatabase, type TestDatabase } from '@plainpath/postgres/testing'
import { generateHashKey, newKeyEncryptionKey, parseKeyEncryptionKeys } from '@plainpath/sealing'
import { inject } from 'vitest'
import { initKeys } from '../src/keys/key-operations.ts'
import { createKeyStore } from '../src/keys/key-store.ts'
import { createResourceServer } from '../src/resource-servers/resource-servers.ts'
import { MIGRATIONS } from '../src/stores.ts'
import { openScratchRedis, type ScratchRedis } from './open-scratch-redis.ts'

export type TokenPlace = 'Postgres' | 'Redis'

/** Where instances can store tokens in this test run: in PostgreSQL, and in Redis if one is available. */
export const TOKEN_PLACES: readonly TokenPlace[] = inject('redisUrl') ? ['Postgres', 'Redis'] : ['Postgres']

/** What the instances behind one gateway share: a database with a signing key, optionally Redis, and key files. */
export interface AuthStores extends AsyncDisposable {
  readonly database: TestDatabase
  /** Connections with the app's role. */
  readonly db: Pool
  readonly redis: ScratchRedis | undefined
  /** The secrets of two resource servers: our API (`rs_api`) and another API (`rs_other`). */
  readonly secrets: { readonly rs_api: string; readonly rs_other: string }
  /** See `RunningAuth.confidential`. */
  readonly confidential: Set<string>
  /** Runs SQL as the owner of the tables. */
  asOwner(sql: string): Promise<void>
  /** Runs SQL as the server's administrator, in the same database. */
  asAdmin(sql: string): Promise<void>
  /** Returns the settings of an instance at `origin`. */
  settingsFor(origin: string): Promise<Record<string, string>>
}

export async function openAuthStores(tokens: TokenPlace = 'Postgres'): Promise<AuthStores> {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-auth-test-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const createFile = async (name: string, text: string) => {
    await writeFile(path.join(folder, name), text, { mode: 0o600 })
    return path.join(folder, name)
  }
  const database = opening.use(await openTestDatabase({ folder: MIGRATIONS, name: 'auth' }))
  const db = opening.use(openPool(database.appUrl, { applicationName: 'plainpath-auth test', patience: 5 }))
  const redis = tokens === 'Redis' ? opening.use(await openScratchRedis()) : undefined
  const kek = newKeyEncryptionKey()
  await initKeys({ keys: createKeyStore(db, parseKeyEncryptionKeys(kek)) })
  const files = {
    AUTH_KEK_FILE: await createFile('kek', kek),
    AUTH_HASH_KEY_FILE: await createFile('hash-key', generateHashKey()),
  }
  const other = createResourceServer('rs_other', 'https://other.example/api')
  // `settingsFor` replaces this audience, because the audience of our API depends on the origin.
  const api = createResourceServer('rs_api', other.server.audience)
  const resources = opening.move()
  return {
    database,
    db,
    redis,
    secrets: { rs_api: api.secret, rs_other: other.secret },
    confidential: new Set([api.secret, other.secret]),
    asOwner: (sql) => runSql(database.ownerUrl, sql),
    asAdmin: (sql) => runSql(database.adminUrl, sql),
    async settingsFor(origin) {
      const servers = [{ ...api.server, audience: `${origin}/api` }, other.server]
      return {
        AUTH_ORIGIN: origin,
        AUTH_DATABASE_URL: database.appUrl,
        ...(redis && { AUTH_REDIS_URL: redis.url }),
        ...files,
        AUTH_RESOURCE_SERVERS_FILE: await createFile(
          `${randomBytes(4).toString('hex')}.json`,
          JSON.stringify(servers),
        ),
        AUTH_LIMITS_FACTOR: '10000',
        AUTH_OUTBOX_DIR: path.join(folder, 'outbox'),
        ...(origin.startsWith('https:') && { AUTH_SMTP_URL: NO_MAIL_SERVER }),
      }
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** The discard port, on which nothing should listen. */
const NO_MAIL_SERVER = 'smtp://127.0.0.1:9'

async function runSql(url: string, sql: string): Promise<void> {
  await using db = openPool(url, { max: 1, patience: 5 })
  await db.query(sql)
}
