import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openPool, type Pool } from '@plainpath/postgres'
import { openTestDatabase, type TestDatabase } from '@plainpath/postgres/testing'
import { createSealer, generateHashKey, generateKeyEncryptionKey } from '@plainpath/sealing'
import { inject } from 'vitest'
import { initKeys } from '../src/keys/key-operations.ts'
import { createKeyStore } from '../src/keys/key-store.ts'
import { createResourceServer } from '../src/resource-servers/resource-servers.ts'
import { MIGRATIONS } from '../src/stores.ts'
import { openScratchRedis, type ScratchRedis } from './open-scratch-redis.ts'

export type TokenStoreKind = 'Postgres' | 'Redis'

/** The token stores of this test run: PostgreSQL, and Redis if one is available. */
export const TOKEN_STORES: readonly TokenStoreKind[] = inject('redisUrl')
  ? ['Postgres', 'Redis']
  : ['Postgres']

/** The stores and files that several instances share: a database with a signing key, optionally Redis, and the key files. */
export interface AuthTestbed extends AsyncDisposable {
  readonly database: TestDatabase
  /** A connection pool with the app's role. */
  readonly db: Pool
  readonly redis: ScratchRedis | undefined
  /** The secrets of two resource servers: our API (`rs_api`) and another API (`rs_other`). */
  readonly secrets: { readonly rs_api: string; readonly rs_other: string }
  /** See `RunningAuth.confidential`. */
  readonly confidential: Set<string>
  /** See `RunningAuth.confidentialCodes`. */
  readonly confidentialCodes: Set<string>
  /** Runs SQL as the owner of the tables. */
  runAsOwner(sql: string): Promise<void>
  /** Runs SQL as the server's administrator, in the same database. */
  runAsAdmin(sql: string): Promise<void>
  /** Creates the settings of an instance at `origin`, and the file of resource servers that they name. */
  createSettings(origin: string): Promise<Record<string, string>>
}

/** Creates a database with all migrations and a signing key, and a folder with the key files. Disposing removes them. */
export async function openAuthTestbed(tokenStore: TokenStoreKind = 'Postgres'): Promise<AuthTestbed> {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-auth-test-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const createFile = async (name: string, text: string) => {
    await writeFile(path.join(folder, name), text, { mode: 0o600 })
    return path.join(folder, name)
  }
  const database = opening.use(await openTestDatabase({ folder: MIGRATIONS, name: 'auth' }))
  const db = opening.use(openPool(database.appUrl, { applicationName: 'plainpath-auth test', patience: 5 }))
  const redis = tokenStore === 'Redis' ? opening.use(await openScratchRedis()) : undefined
  const kek = generateKeyEncryptionKey()
  await initKeys({ keys: createKeyStore(db, createSealer(kek)) })
  const files = {
    AUTH_KEK_FILE: await createFile('kek', kek),
    AUTH_HASH_KEY_FILE: await createFile('hash-key', generateHashKey()),
  }
  const other = createResourceServer('rs_other', 'https://other.example/api')
  // `createSettings` replaces this audience, because the audience of our API depends on the origin.
  const api = createResourceServer('rs_api', other.server.audience)
  const resources = opening.move()
  return {
    database,
    db,
    redis,
    secrets: { rs_api: api.secret, rs_other: other.secret },
    confidential: new Set([api.secret, other.secret]),
    confidentialCodes: new Set(),
    runAsOwner: (sql) => runSql(database.ownerUrl, sql),
    runAsAdmin: (sql) => runSql(database.adminUrl, sql),
    async createSettings(origin) {
      const servers = [{ ...api.server, audience: `${origin}/api` }, other.server]
      return {
        AUTH_ORIGIN: origin,
        AUTH_DATABASE_URL: database.appUrl,
        ...(redis && { AUTH_REDIS_URL: redis.url }),
        ...files,
        // Each call creates a new file, because running instances may still read the earlier ones.
        AUTH_RESOURCE_SERVERS_FILE: await createFile(
          `${randomBytes(4).toString('hex')}.json`,
          JSON.stringify(servers),
        ),
        // Tests that are not about limits send many requests from one address.
        AUTH_LIMITS_FACTOR: '10000',
        AUTH_OUTBOX_DIR: path.join(folder, 'outbox'),
        // An https origin must have a mail server. At any other origin, mails are written to the outbox.
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
