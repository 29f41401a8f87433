import { setTimeout as sleep } from 'node:timers/promises'
import { setLockTimeout, toLockKey, tryLock } from '../advisory-lock.ts'
import { connect } from '../connection.ts'
import { isUnavailable } from '../database-error.ts'
import { keepConnected } from '../persistent-connection.ts'
import { type Binaries, EmbeddedPostgresError, locateBinaries } from './binaries.ts'
import { type Cluster, openCluster } from './cluster.ts'
import { findRunningServer, POLL_MS, type StartingServer, startServer, stopServer } from './postmaster.ts'

/** A server that this process uses. Disposing releases it. The last process that releases it stops it. */
export interface EmbeddedPostgres extends AsyncDisposable {
  /** The connection URL of the superuser `postgres`, for the database `postgres`. It contains the password. */
  readonly url: string
  readonly port: number
  /** The data directory in use. It differs from the requested one if the server's user cannot access that one. */
  readonly dir: string
  /** True if this process started the server; false if it was already running. */
  readonly wasStarted: boolean
}

const START_TIMEOUT_MS = 30_000
/** The pause before another start, after a server of ours has ended. */
const RESTART_DELAY_MS = 100

/**
 * Uses the PostgreSQL server with the data directory `dir`. Creates the directory if it is missing, and starts the
 * server unless it is already running. Any number of processes may call this function at the same time. If this process
 * runs as root, the server runs as a separate user. The server listens only on loopback, on a free port unless
 * `settings` specifies a port. The server requires a password (SCRAM), which is stored in the data directory.
 *
 * @param options.settings replace the defaults, which make commits durable, but not `FIXED_SETTINGS`. They are ignored if the
 *   server is already running
 * @throws {EmbeddedPostgresError} with the reason in one line, within 30 s (90 s if the directory has to be created)
 */
export async function useEmbeddedPostgres(options: {
  dir: string
  settings?: Readonly<Record<string, string>>
}): Promise<EmbeddedPostgres> {
  const settings = options.settings ?? {}
  const binaries = locateBinaries()
  const cluster = await openCluster(binaries, options.dir, { isDurable: settings['fsync'] !== 'off' })
  const { lease, port, wasStarted } = await joinServer(binaries, cluster, settings)
  const url = formatServerUrl(cluster, port)
  return {
    url,
    port,
    wasStarted,
    dir: cluster.dir,
    async [Symbol.asyncDispose]() {
      await lease[Symbol.asyncDispose]()
      await stopUnlessUsed(cluster.dir, url)
    },
  }
}

/**
 * Stops the server with the data directory `dir` if the server is running and not in use.
 *
 * @returns false if the server is in use; true if it was stopped or was not running
 */
export async function stopAbandonedServer(dir: string): Promise<boolean> {
  const server = findRunningServer(dir)
  if (!server) return true
  const cluster = await openCluster(locateBinaries(), dir, { isDurable: true })
  return stopUnlessUsed(cluster.dir, formatServerUrl(cluster, server.port))
}

const formatServerUrl = (cluster: Cluster, port: number) =>
  `postgresql://postgres:${cluster.password}@127.0.0.1:${port}/postgres`

/**
 * Takes a lease on the server, and starts the server if none is running. Retries for 30 s, because the server may
 * start, recover, stop or disappear between two checks.
 */
async function joinServer(
  binaries: Binaries,
  cluster: Cluster,
  settings: Readonly<Record<string, string>>,
): Promise<{ lease: AsyncDisposable; port: number; wasStarted: boolean }> {
  let ownServer: StartingServer | undefined
  const isOwnServerRunning = () => ownServer !== undefined && !ownServer.hasEnded
  for (
    const deadline = performance.now() + START_TIMEOUT_MS;
    performance.now() < deadline;
    await sleep(POLL_MS)
  ) {
    const server = findRunningServer(cluster.dir)
    if (server?.isReady) {
      const lease = await takeLease(formatServerUrl(cluster, server.port))
      if (lease) return { lease, port: server.port, wasStarted: isOwnServerRunning() }
    } else if (!server && !isOwnServerRunning()) {
      if (ownServer && !ownServer.mayStartAgain)
        throw new EmbeddedPostgresError(`PostgreSQL does not start: ${findLastError(ownServer)}`)
      if (ownServer) await sleep(RESTART_DELAY_MS)
      ownServer = await startServer(binaries, cluster.dir, settings)
    }
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL in ${cluster.dir} could not be used within ${START_TIMEOUT_MS / 1000} s${ownServer ? `: ${findLastError(ownServer)}` : ''}`,
  )
}

/** Returns the last fatal message of a server, or else its last line of output, which may be empty. */
function findLastError(server: StartingServer): string {
  const lines = server.log.trim().split('\n')
  return (
    lines.findLast((line) => /(?:FATAL|PANIC): /.test(line))?.replace(/^.*?(?:FATAL|PANIC): +/, '') ??
    lines.at(-1) ??
    ''
  )
}

/**
 * The name of the lock that each process holds in shared mode, on a dedicated connection, while it uses the server. If a
 * process can take the lock in exclusive mode, no process uses the server. If a process is killed, its connection closes,
 * which releases the lock.
 */
export const IN_USE_LOCK = 'plainpath embedded server in use'
/** How long a lease waits for a process that is stopping the server, before the caller tries again. */
const LOCK_TIMEOUT_SECONDS = 2

/**
 * Takes a lease. The server keeps running until the lease is disposed of.
 *
 * @returns undefined if the server is stopping, is not running yet, or has no free connection; the caller should try
 *   again
 */
async function takeLease(url: string): Promise<AsyncDisposable | undefined> {
  try {
    return await keepConnected({
      url,
      applicationName: `plainpath lease of process ${process.pid}`,
      async prepare(client) {
        await setLockTimeout(client, LOCK_TIMEOUT_SECONDS)
        await client.query('select pg_advisory_lock_shared($1)', [toLockKey(IN_USE_LOCK)])
        // The process that stops a server holds the exclusive lock until the server closes its connection. So this lock may
        // be granted by a server that is stopping. Such a server rejects new connections, so a successful second connection
        // proves that the server is not stopping.
        await using _check = await connect(url, { applicationName: 'plainpath lease check' })
      },
    })
  } catch (error) {
    if (isUnavailable(error)) return undefined
    const reason = error instanceof Error ? error.message : String(error)
    throw new EmbeddedPostgresError(`PostgreSQL cannot be used: ${reason}`, { cause: error })
  }
}

/**
 * Stops the server with the data directory `dir` unless the server is in use.
 *
 * @returns false if the server is in use; true if it was stopped, was not running, or is being stopped by another
 *   process
 */
async function stopUnlessUsed(dir: string, url: string): Promise<boolean> {
  await using resources = new AsyncDisposableStack()
  try {
    const client = resources.use(await connect(url, { applicationName: 'plainpath server stop' }))
    if (!(await tryLock(client, IN_USE_LOCK))) return false
  } catch (error) {
    if (isUnavailable(error)) return true
    throw error
  }
  await stopServer(dir)
  return true
}
