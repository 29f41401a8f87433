import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { takeLock } from '../src/advisory-lock.ts'
import { connect, type ErrorLog } from '../src/connection.ts'
import { keepConnected } from '../src/persistent-connection.ts'

/** The server on which a project's tests create their databases. */
export interface TestPostgres {
  /** The URL of a role that may create roles and databases. */
  adminUrl: string
  /** `embedded` if the tests started the server, or the variable that names it. */
  source: 'embedded' | 'TEST_POSTGRES_URL'
  /** The version of PostgreSQL, such as `18.4`, or `of unknown version`. */
  version: string
  /** Identifies the run in the names of its databases and roles: 8 hexadecimal digits. */
  runId: string
  /** The password of every role that the run creates. */
  rolePassword: string
}

declare module 'vitest' {
  interface ProvidedContext {
    testPostgres: TestPostgres
    /** Undefined if tests have no Redis. */
    redisUrl: string | undefined
  }
}

const NAME_PREFIX = 'plainpath_test_'
/** Captures the run id in the name of a database or role. */
const RUN_NAME_PATTERN = /^plainpath_test_([0-9a-f]{8})_/
/** The application name of the connection that a run keeps open is this prefix and the run id. */
const RUN_SESSION_PREFIX = 'plainpath test run '
/** How long a clean-up waits for that of another run. */
const LOCK_SECONDS = 30

/**
 * Creates a name for a database or role of a run.
 *
 * @throws {Error} if the name has more than 63 characters, which is PostgreSQL's limit
 */
export function createRunName(runId: string, ...parts: string[]): string {
  const name = [`${NAME_PREFIX}${runId}`, ...parts].join('_')
  if (name.length > 63) throw new Error(`too long for a PostgreSQL name: ${name}`)
  return name
}

/**
 * Begins a test run on a server, and removes the leftovers of runs that have ended. Disposing removes the databases and
 * roles of this run.
 *
 * @param options.isServerTemporary true if the server is deleted after the run: disposing then removes nothing
 */
export async function beginTestRun(
  { adminUrl, source }: Pick<TestPostgres, 'adminUrl' | 'source'>,
  log: ErrorLog,
  options: { isServerTemporary?: boolean } = {},
): Promise<TestPostgres & AsyncDisposable> {
  const runId = randomBytes(4).toString('hex')
  // While this connection is open, other runs do not remove the data of this run.
  const runSession = await keepConnected({
    url: adminUrl,
    applicationName: RUN_SESSION_PREFIX + runId,
    prepare: async () => {},
    log,
  })
  await removeRuns(adminUrl, (id, liveRunIds) => !liveRunIds.has(id))
  return {
    adminUrl,
    source,
    runId,
    version: await readServerVersion(adminUrl),
    rolePassword: randomBytes(24).toString('base64url'),
    async [Symbol.asyncDispose]() {
      if (!options.isServerTemporary) await removeRuns(adminUrl, (id) => id === runId)
      await runSession[Symbol.asyncDispose]()
    },
  }
}

async function readServerVersion(adminUrl: string): Promise<string> {
  await using client = await connect(adminUrl, { applicationName: 'plainpath test', patience: 15 })
  const { rows } = await client.query<{ server_version: string }>('show server_version')
  return rows[0]?.server_version.split(' ')[0] ?? 'of unknown version'
}

/** Drops the databases and roles of selected runs. `liveRunIds` are the runs whose process is connected. */
async function removeRuns(
  adminUrl: string,
  isSelected: (runId: string, liveRunIds: ReadonlySet<string>) => boolean,
): Promise<void> {
  await using admin = await connect(adminUrl, {
    applicationName: 'plainpath test clean-up',
    patience: 15,
  })
  await takeLock(admin, 'plainpath test clean-up', LOCK_SECONDS)
  const databases = await readNames(admin, 'select datname as name from pg_database')
  const roles = await readNames(admin, 'select rolname as name from pg_roles')
  const sessions = await readNames(admin, 'select application_name as name from pg_stat_activity')
  // The names of other sessions remain in the set, but equal no run id.
  const liveRunIds = new Set(sessions.map((name) => name.replace(RUN_SESSION_PREFIX, '')))
  const belongsToSelectedRun = (name: string) => {
    const runId = RUN_NAME_PATTERN.exec(name)?.[1]
    return runId !== undefined && isSelected(runId, liveRunIds)
  }
  for (const name of databases.filter(belongsToSelectedRun)) {
    await admin.query(`drop database if exists ${pg.escapeIdentifier(name)} with (force)`)
  }
  for (const name of roles.filter(belongsToSelectedRun))
    await admin.query(`drop role if exists ${pg.escapeIdentifier(name)}`)
}

async function readNames(admin: pg.Client, query: string): Promise<string[]> {
  const { rows } = await admin.query<{ name: string | null }>(query)
  return rows.flatMap(({ name }) => name ?? [])
}
