import { setTimeout as sleep } from 'node:timers/promises'
import { lockKey, setLockTimeout, tryLock } from '../advisory-lock.ts'
import { connect } from '../connection.ts'
import { isUnavailable } from '../database-error.ts'
import { keepConnected } from '../persistent-connection.ts'
import { type Binaries, EmbeddedPostgresError, locateBinaries } from './binaries.ts'
import { type Cluster, openCluster } from './cluster.ts'
import { POLL_MS, runningServer, type StartingServer, startServer, stopServer } from './postmaster.ts'

/** A server in use. Disposing releases it; the last process to do so stops the server, whichever started it. */
export interface EmbeddedPostgres extends AsyncDisposable {
  /** Superuser, database `postgres`; holds the password. */
  readonly url: string
  readonly port: number
  /** The folder really used, which differs from the requested one if the server's user cannot access that. */
  readonly dir: string
  /** False when a running server was adopted. */
  readonly started: boolean
}

const START_TIMEOUT_MS = 30_000
const RESTART_MS = 100

/**
 * Uses the PostgreSQL server on the data directory `dir`: makes the directory, starts the server or adopts the one that
 * runs, whichever it takes. Any number of processes may do so at once. As root the server runs as a user of its own.
 * It listens on loopback alone, at a free port, and asks for a password (SCRAM) that is kept in the data directory.
 *
 * @param options.settings server settings beside or instead of the lasting defaults; an adopted server keeps its own.
 * @throws {EmbeddedPostgresError} saying in one line why it cannot be, within 30 s (90 s when the directory is made).
 */
export async function useEmbeddedPostgres(options: {
  dir: string
  settings?: Readonly<Record<string, string>>
}): Promise<EmbeddedPostgres> {
  const settings = options.settings ?? {}
  const binaries = locateBinaries()
  const cluster = await openCluster(binaries, options.dir, { durable: settings['fsync'] !== 'off' })
  const { lease, port, started } = await joinServer(binaries, cluster, settings)
  const url = serverUrl(cluster, port)
  return {
    url,
    port,
    started,
    dir: cluster.dir,
    async [Symbol.asyncDispose]() {
      await lease[Symbol.asyncDispose]()
      await stopUnlessUsed(cluster.dir, url)
    },
  }
}

/** Stops the server on `dir` if it runs and is not in use. @returns false if it is in use */
export async function stopAbandonedServer(dir: string): Promise<boolean> {
  const server = runningServer(dir)
  if (!server) return true
  const cluster = await openCluster(locateBinaries(), dir, { durable: true })
  return stopUnlessUsed(cluster.dir, serverUrl(cluster, server.port))
}

const serverUrl = (cluster: Cluster, port: number) =>
  `postgresql://postgres:${cluster.password}@127.0.0.1:${port}/postgres`

/** The server may start, recover, stop or vanish between any two checks, so this repeats until it holds a lease. */
async function joinServer(
  binaries: Binaries,
  cluster: Cluster,
  settings: Readonly<Record<string, string>>,
): Promise<{ lease: AsyncDisposable; port: number; started: boolean }> {
  let ours: StartingServer | undefined
  for (
    const deadline = performance.now() + START_TIMEOUT_MS;
    performance.now() < deadline;
    await sleep(POLL_MS)
  ) {
    const server = runningServer(cluster.dir)
    if (server?.ready) {
      const lease = await takeLease(serverUrl(cluster, server.port))
      if (lease) return { lease, port: server.port, started: ours?.ended === false }
    } else if (!server && ours?.ended !== false) {
      if (ours && !ours.mayStartAgain)
        throw new EmbeddedPostgresError(`PostgreSQL does not start: ${lastWords(ours)}`)
      if (ours) await sleep(RESTART_MS)
      ours = await startServer(binaries, cluster.dir, settings)
    }
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL in ${cluster.dir} was not ready within ${START_TIMEOUT_MS / 1000} s${ours ? `: ${lastWords(ours)}` : ''}`,
  )
}

function lastWords(server: StartingServer): string {
  const lines = server.log.trim().split('\n')
  return (
    lines.findLast((line) => /(?:FATAL|PANIC): /.test(line))?.replace(/^.*?(?:FATAL|PANIC): +/, '') ??
    lines.at(-1) ??
    ''
  )
}

/**
 * Every process that uses the server holds this lock in shared mode, on a connection of its own. A process that gets it in
 * exclusive mode is the last user, and holds it until the server that it stops closes the connection. The connection of a
 * killed process is closed, and its lock released with it.
 */
export const IN_USE = 'plainpath embedded server in use'
const WAIT_SECONDS = 2

/**
 * Keeps the server running until disposed.
 *
 * @returns undefined if the server is stopping, not yet running or full: try again.
 */
async function takeLease(url: string): Promise<AsyncDisposable | undefined> {
  try {
    return await keepConnected({
      url,
      applicationName: `plainpath lease of process ${process.pid}`,
      async prepare(client) {
        await setLockTimeout(client, WAIT_SECONDS)
        await client.query('select pg_advisory_lock_shared($1)', [lockKey(IN_USE)])
        // The lock may have come free because a stopping server cut the last one's connection, with ours to follow.
        // Such a server takes no new connection.
        await using _check = await connect(url, { applicationName: 'plainpath lease check' })
      },
    })
  } catch (error) {
    if (isUnavailable(error)) return undefined
    const reason = error instanceof Error ? error.message : String(error)
    throw new EmbeddedPostgresError(`cannot use PostgreSQL: ${reason}`, { cause: error })
  }
}

/**
 * Stops the server on `dir` unless it is in use.
 *
 * @returns false if it is in use; true also if it did not run, or another process is stopping it.
 */
async function stopUnlessUsed(dir: string, url: string): Promise<boolean> {
  await using last = new AsyncDisposableStack()
  try {
    const client = last.use(await connect(url, { applicationName: 'plainpath last one out' }))
    if (!(await tryLock(client, IN_USE))) return false
  } catch (error) {
    if (isUnavailable(error)) return true
    throw error
  }
  await stopServer(dir)
  return true
}
