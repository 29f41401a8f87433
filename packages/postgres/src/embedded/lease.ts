import { lockKey, setLockTimeout, tryLock } from '../advisory-lock.ts'
import { connect, disconnect } from '../connection.ts'
import { isUnavailable } from '../database-error.ts'
import { keepConnected } from '../standing-connection.ts'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'
import { stopServer } from './postmaster.ts'

/**
 * Everybody who uses the server holds this lock shared, on a connection of his own. Who can have it alone is the last
 * one out, and keeps it until the server he stops cuts his connection. A killed user's connection dies with him.
 */
export const IN_USE = 'plainpath embedded server in use'
const WAIT_SECONDS = 2

/** A server that is still there, and stays. */
export type Lease = AsyncDisposable

/**
 * Keeps the server running until disposed.
 *
 * @returns undefined when the server is going away, not there yet or full: look again.
 */
export async function takeLease(url: string): Promise<Lease | undefined> {
  try {
    return await keepConnected({
      url,
      applicationName: `plainpath lease of process ${process.pid}`,
      async prepare(client) {
        await setLockTimeout(client, WAIT_SECONDS)
        await client.query('select pg_advisory_lock_shared($1)', [lockKey(IN_USE)])
        // The lock may have come free because a stopping server cut the last one's connection, with ours to follow.
        // Such a server takes no new connection.
        await disconnect(await connect(url, { applicationName: 'plainpath lease check' }))
      },
    })
  } catch (error) {
    if (isUnavailable(error)) return undefined
    const reason = error instanceof Error ? error.message : String(error)
    throw new EmbeddedPostgresError(`cannot use PostgreSQL: ${reason}`, { cause: error })
  }
}

/**
 * Stops the server on `dir` unless somebody uses it.
 *
 * @returns false when somebody does; true also when it did not run, or somebody else is stopping it.
 */
export async function stopUnlessUsed(dir: string, url: string): Promise<boolean> {
  await using last = new AsyncDisposableStack()
  try {
    const client = await connect(url, { applicationName: 'plainpath last one out' })
    last.defer(() => disconnect(client))
    if (!(await tryLock(client, IN_USE))) return false
  } catch (error) {
    if (isUnavailable(error)) return true
    throw error
  }
  await stopServer(dir)
  return true
}
