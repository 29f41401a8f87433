import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { takeLock } from '../src/advisory-lock.ts'
import { connect, type ErrorLog } from '../src/connection.ts'
import { keepConnected } from '../src/persistent-connection.ts'

/** The server on which a project's tests make their databases. */
export interface TestPostgres {
  /** A role that may create roles and databases. */
  adminUrl: string
  origin: 'embedded' | 'TEST_POSTGRES_URL'
  /** Such as `18.4`. */
  version: string
  /** Names the run in its databases and roles: 8 hexadecimal digits. */
  runId: string
  /** Of every role the run makes. */
  rolePassword: string
}

declare module 'vitest' {
  interface ProvidedContext {
    testPostgres: TestPostgres
    /** Undefined where tests have no Redis. */
    redisUrl: string | undefined
  }
}

const PREFIX = 'plainpath_test_'
const OF_A_RUN = /^plainpath_test_([0-9a-f]{8})_/
const RUN_SESSION = 'plainpath test run '
const STATEMENT_MS = 40_000
const LOCK_SECONDS = 30

/** @returns a name for a database or role by which its run is known; at most 63 characters (PostgreSQL's limit). */
export function nameInRun(runId: string, ...parts: string[]): string {
  const name = [`${PREFIX}${runId}`, ...parts].join('_')
  if (name.length > 63) throw new Error(`too long for a database name: ${name}`)
  return name
}

/** Begins a run of tests on a server: first removes the leftovers of runs that have ended. Disposing removes what this one made. */
export async function beginTestRun(
  { adminUrl, origin }: Pick<TestPostgres, 'adminUrl' | 'origin'>,
  log: ErrorLog,
): Promise<TestPostgres & AsyncDisposable> {
  const runId = randomBytes(4).toString('hex')
  const alive = await keepConnected({
    url: adminUrl,
    applicationName: RUN_SESSION + runId,
    prepare: async () => {},
    log,
  })
  await removeRuns(adminUrl, (id, live) => !live.has(id))
  return {
    adminUrl,
    origin,
    runId,
    version: await serverVersion(adminUrl),
    rolePassword: randomBytes(24).toString('base64url'),
    async [Symbol.asyncDispose]() {
      await removeRuns(adminUrl, (id) => id === runId)
      await alive[Symbol.asyncDispose]()
    },
  }
}

async function serverVersion(adminUrl: string): Promise<string> {
  await using client = await connect(adminUrl, { applicationName: 'plainpath test' })
  const { rows } = await client.query<{ server_version: string }>('show server_version')
  return rows[0]?.server_version.split(' ')[0] ?? 'of unknown version'
}

/** Drops the databases and roles of the runs that `chosen` picks; `live` are those whose process is connected. */
async function removeRuns(
  adminUrl: string,
  chosen: (runId: string, live: ReadonlySet<string>) => boolean,
): Promise<void> {
  await using admin = await connect(adminUrl, {
    applicationName: 'plainpath test clean-up',
    statementMs: STATEMENT_MS,
  })
  await takeLock(admin, 'plainpath test clean-up', LOCK_SECONDS)
  const databases = await names(admin, 'select datname as name from pg_database')
  const roles = await names(admin, 'select rolname as name from pg_roles')
  const sessions = await names(admin, 'select application_name as name from pg_stat_activity')
  const live = new Set(sessions.map((name) => name.replace(RUN_SESSION, '')))
  const picked = (name: string) => {
    const runId = OF_A_RUN.exec(name)?.[1]
    return runId !== undefined && chosen(runId, live)
  }
  for (const name of databases.filter(picked)) {
    await admin.query(`drop database if exists ${pg.escapeIdentifier(name)} with (force)`)
  }
  for (const name of roles.filter(picked))
    await admin.query(`drop role if exists ${pg.escapeIdentifier(name)}`)
}

async function names(admin: pg.Client, query: string): Promise<string[]> {
  const { rows } = await admin.query<{ name: string | null }>(query)
  return rows.flatMap(({ name }) => name ?? [])
}
