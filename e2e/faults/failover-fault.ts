import { execFile } from 'node:child_process'
import { appendFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { reserveFreePorts } from '@plainpath/http/free-ports'
import { openPool, type Pool } from '@plainpath/postgres'
import { waitUntil } from '@plainpath/stack/managed-process'
import { createPostgresProcess, type PostgresProcess } from '@plainpath/stack/postgres-process'
import type { FaultCase } from './fault-case.ts'
import type { FaultyStack } from './faulty-stack.ts'

const run = promisify(execFile)
const PATIENCE_MS = 20_000

/**
 * Creates a fault in which the server is killed and a synchronous standby takes over (`synchronous_standby_names`). An
 * asynchronous standby could lack the last acknowledged changes, such as revocations.
 */
export function createFailoverFault(): FaultCase {
  let standby: Standby
  return {
    name: 'Postgres: killed, and a synchronous standby takes over',
    numbers: ['F-07'],
    components: ['auth database', 'api database'],
    refusedOperations: [],
    isManual: true,
    async prepare(system) {
      standby = await startStandby(system)
      await system.admin.server.query(`alter system set synchronous_standby_names = '*'`)
      await system.admin.server.query('select pg_reload_conf()')
      await waitUntilFound(system.admin.server, `select from pg_stat_replication where sync_state = 'sync'`)
    },
    async begin(system) {
      await system.postgres.stop('SIGKILL')
      // Waits at most 1 s, because the statement times out after 2 s. The next query waits until the promotion is complete.
      await standby.admin.query('select pg_promote(true, 1)')
      await waitUntilFound(standby.admin, 'select where not pg_is_in_recovery()')
      await system.redirectDatabases(standby.port)
    },
    // The apps use the promoted server until `finish`.
    end: async () => {},
    /** Moves the data of the promoted server to the original server, and directs the apps back to it. */
    async finish(system) {
      const { postgres } = system
      await standby.admin[Symbol.asyncDispose]()
      await standby.server.stop('SIGINT')
      await rm(postgres.dir, { recursive: true })
      await rename(standby.server.dir, postgres.dir)
      await postgres.start()
      await system.redirectDatabases(system.stack.postgres.port)
      return []
    },
  }
}

interface Standby {
  readonly port: number
  readonly server: PostgresProcess
  readonly admin: Pool
}

/** Copies the data of the stopped server, and starts the copy on a free port as a standby of that server. */
async function startStandby(system: FaultyStack): Promise<Standby> {
  const { postgres } = system
  const [port = 0] = await reserveFreePorts(1)
  const dir = path.join(system.folder, 'standby')
  // SIGINT is the fast shutdown, after which the files are consistent.
  await postgres.stop('SIGINT')
  await run('cp', ['-a', postgres.dir, dir])
  await postgres.start()
  const primary = new URL(system.stack.postgres.url)
  const primaryConnection = `host=127.0.0.1 port=${primary.port} user=postgres password=${decodeURIComponent(primary.password)}`
  await writeFile(path.join(dir, 'standby.signal'), '')
  await appendFile(path.join(dir, 'postgresql.auto.conf'), `primary_conninfo = '${primaryConnection}'\n`)
  await run('chown', ['-R', '--reference', postgres.dir, dir])
  const changePort = (part: string) => (part.startsWith('port=') ? `port=${port}` : part)
  const command = postgres.command.map((part) => (part === postgres.dir ? dir : changePort(part)))
  const server = createPostgresProcess({ dir }, command)
  system.defer(async () => {
    if (server.isRunning) await server.stop('SIGKILL')
  })
  await server.start()
  const url = new URL(primary)
  url.port = String(port)
  return { port, server, admin: openPool(url.href, { max: 1, applicationName: 'plainpath faults' }) }
}

/** Polls until a query returns a row. @throws {Error} if it returns none within 20 s */
async function waitUntilFound(db: Pool, query: string): Promise<void> {
  if (!(await waitUntil(async () => (await db.query(query)).rowCount > 0, PATIENCE_MS)))
    throw new Error(`no row within ${PATIENCE_MS / 1_000} s: ${query}`)
}
