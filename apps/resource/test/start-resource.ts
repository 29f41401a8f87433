import path from 'node:path'
import { createLog, type RequestHandler, type RunningServer, serve } from '@plainpath/http'
import { ANY_PORT } from '@plainpath/http/testing/any-port'
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
import { keyFolder } from './key-folder.ts'

export interface RunningResource extends AsyncDisposable {
  readonly origin: string
  readonly resource: Resource
  readonly operations: RunningServer
  readonly auth: FakeAuthorizationServer
  /** Connections with the role that owns the tables. */
  readonly db: Pool
  readonly databaseUrl: string
  /** Connects to the same database as the server's administrator; absent beside another instance. */
  readonly adminUrl: string | undefined
  /** Every line of the log. */
  readonly logged: string[]
  /** Counts the people on the waitlist. */
  entries(): Promise<number>
}

export interface StartOptions {
  env?: Record<string, string>
  now?: () => Date
  /** Time-outs are those of production; else long, since a machine that runs tests is busy. */
  productionTimeouts?: boolean
  /** Another instance on the same stores, keys and authorization server. */
  beside?: { databaseUrl: string; keys: string }
}

/** The API on free ports, on a database of its own, with a fake authorization server, whose responses a test can change. */
export async function startResource(options: StartOptions = {}): Promise<RunningResource & { keys: string }> {
  await using opening = new AsyncDisposableStack()
  let handler: RequestHandler = (_request, response) => void response.writeHead(500).end()
  const server = opening.use(await serve((request, response) => handler(request, response), ANY_PORT))
  const origin = options.env?.['RESOURCE_ORIGIN'] ?? server.url
  const auth = opening.use(await startFakeAuthorizationServer(origin, options.now))
  const database = options.beside
    ? undefined
    : opening.use(await openTestDatabase({ folder: MIGRATIONS, name: 'resource' }))
  const databaseUrl = options.beside?.databaseUrl ?? database?.appUrl ?? ''
  const db = opening.use(openPool(database?.ownerUrl ?? databaseUrl, { max: 2, patience: 5 }))
  const keys = options.beside?.keys ?? keyFolder(opening)
  const logged: string[] = []
  const config = loadConfig({
    RESOURCE_ORIGIN: origin,
    RESOURCE_DATABASE_URL: databaseUrl,
    RESOURCE_AUTH_URL: auth.url,
    RESOURCE_CLIENT_ID: CLIENT_ID,
    RESOURCE_CLIENT_SECRET_FILE: path.join(keys, 'client-secret'),
    RESOURCE_KEK_FILE: path.join(keys, 'kek'),
    RESOURCE_HASH_KEY_FILE: path.join(keys, 'hash-key'),
    RESOURCE_OUTBOX_DIR: path.join(keys, 'outbox'),
    RESOURCE_SMTP_URL: origin.startsWith('https:') ? 'smtp://127.0.0.1:9' : '',
    RESOURCE_LIMITS_FACTOR: '1000',
    ...options.env,
  })
  const log = createLog({ service: 'resource', write: (line) => logged.push(line) })
  const resource = opening.use(
    await openResource(config, {
      log,
      now: options.now ?? (() => new Date()),
      ...(!options.productionTimeouts && { introspectionTimeoutMs: 5_000, databasePatience: 5 }),
    }),
  )
  handler = resource.handler
  const operations = opening.use(await serve(resource.operationsApp.callback(), ANY_PORT))
  const resources = opening.move()
  return {
    origin: server.url,
    resource,
    operations,
    auth,
    db,
    databaseUrl,
    adminUrl: database?.adminUrl,
    keys,
    logged,
    async entries() {
      const { rows } = await db.query<{ count: number }>('select count(*) as count from waitlist_entries')
      return rows[0]?.count ?? -1
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
