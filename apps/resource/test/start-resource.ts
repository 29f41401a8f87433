import path from 'node:path'
import { createLog, type RequestHandler, type RunningServer, serve } from '@plainpath/http'
import { TEST_SERVER_OPTIONS } from '@plainpath/http/testing/test-server-options'
import { openPool, type Pool } from '@plainpath/postgres'
import { openTestDatabase } from '@plainpath/postgres/testing'
import { loadConfig } from '../src/config.ts'
import { MIGRATIONS } from '../src/migrations.ts'
import { openResource, type Resource } from '../src/wire.ts'
import {
  CLIENT_ID,
  type FakeAuthorizationServer,
  startFakeAuthorizationServer,
} from './fake-authorization-server.ts'
import { createKeyFolder } from './key-folder.ts'

/** The factor by which the database may take longer than in production. */
const DATABASE_PATIENCE = 5

export interface RunningResource extends AsyncDisposable {
  /** The URL at which the instance listens. It differs from the configured origin if `env` sets `RESOURCE_ORIGIN`. */
  readonly origin: string
  readonly resource: Resource
  /** The server with the operations routes, such as `/metrics`. */
  readonly operations: RunningServer
  /** The fake authorization server. Each instance has its own, also with `otherInstance`. */
  readonly auth: FakeAuthorizationServer
  /** Connects as the owner of the tables, or as the app if the database belongs to `otherInstance`. */
  readonly db: Pool
  /** The URL with which the app connects to the database. */
  readonly databaseUrl: string
  /**
   * The URL of the same database for the administrator of the PostgreSQL server. Undefined if the database belongs to
   * `otherInstance`.
   */
  readonly adminUrl: string | undefined
  /** The path of the folder with the keys, the client secret and the outbox of mails. */
  readonly keyFolder: string
  /** The lines of the log so far. The list grows while the app runs. */
  readonly logLines: string[]
  countWaitlistEntries(): Promise<number>
}

export interface StartOptions {
  env?: Record<string, string>
  now?: () => Date
  /**
   * Uses the time-outs of production. By default, those for the authorization server and the database are five times as long,
   * because a machine that runs tests may be busy.
   */
  useProductionTimeouts?: boolean
  /** A running instance, whose database and keys the new instance uses too. By default, the new instance gets its own. */
  otherInstance?: Pick<RunningResource, 'databaseUrl' | 'keyFolder'>
}

/** Starts the API on free ports, with a fake authorization server whose responses a test can change. */
export async function startResource(options: StartOptions = {}): Promise<RunningResource> {
  await using opening = new AsyncDisposableStack()
  // The server listens before the app opens, because the app's settings contain the port.
  let handler: RequestHandler = (_request, response) => void response.writeHead(500).end()
  const server = opening.use(
    await serve((request, response) => handler(request, response), TEST_SERVER_OPTIONS),
  )
  const configuredOrigin = options.env?.['RESOURCE_ORIGIN'] ?? server.url
  const auth = opening.use(await startFakeAuthorizationServer(configuredOrigin, options.now))
  const database = options.otherInstance
    ? undefined
    : opening.use(await openTestDatabase({ folder: MIGRATIONS, name: 'resource' }))
  // One of the two URLs is always defined.
  const databaseUrl = options.otherInstance?.databaseUrl ?? database?.appUrl ?? ''
  const db = opening.use(openPool(database?.ownerUrl ?? databaseUrl, { max: 2, patience: DATABASE_PATIENCE }))
  const keyFolder = options.otherInstance?.keyFolder ?? createKeyFolder(opening)
  const logLines: string[] = []
  const config = loadConfig({
    RESOURCE_ORIGIN: configuredOrigin,
    RESOURCE_DATABASE_URL: databaseUrl,
    RESOURCE_AUTH_URL: auth.url,
    RESOURCE_CLIENT_ID: CLIENT_ID,
    RESOURCE_CLIENT_SECRET_FILE: path.join(keyFolder, 'client-secret'),
    RESOURCE_KEK_FILE: path.join(keyFolder, 'kek'),
    RESOURCE_HASH_KEY_FILE: path.join(keyFolder, 'hash-key'),
    RESOURCE_OUTBOX_DIR: path.join(keyFolder, 'outbox'),
    // With an https origin, the app requires a mail server. Nothing listens on port 9.
    RESOURCE_SMTP_URL: configuredOrigin.startsWith('https:') ? 'smtp://127.0.0.1:9' : '',
    // Tests must not reach the rate limits by accident.
    RESOURCE_LIMITS_FACTOR: '1000',
    ...options.env,
  })
  const log = createLog({ service: 'resource', write: (line) => logLines.push(line) })
  const resource = opening.use(
    await openResource(config, {
      log,
      now: options.now ?? (() => new Date()),
      ...(!options.useProductionTimeouts && {
        introspectionTimeoutMs: 5_000,
        databasePatience: DATABASE_PATIENCE,
      }),
    }),
  )
  handler = resource.handler
  const operations = opening.use(await serve(resource.operationsApp.callback(), TEST_SERVER_OPTIONS))
  const resources = opening.move()
  return {
    origin: server.url,
    resource,
    operations,
    auth,
    db,
    databaseUrl,
    adminUrl: database?.adminUrl,
    keyFolder,
    logLines,
    async countWaitlistEntries() {
      const { rows } = await db.query<{ count: number }>('select count(*) as count from waitlist_entries')
      return rows[0]?.count ?? -1
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
