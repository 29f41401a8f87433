import { chown, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { reserveFreePorts } from '@plainpath/http/free-ports'
import { openPool } from '@plainpath/postgres'
import { findDebianPrograms } from '@plainpath/stack/debian-program'
import { type ManagedProcess, startManagedProcess } from '@plainpath/stack/managed-process'
import type { StoreAddresses } from '@plainpath/stack/open-stack-stores'

/** PgBouncer in transaction mode, in front of the databases of both apps. */
export interface Pooler {
  readonly process: ManagedProcess
  /**
   * The store addresses. The database URLs go through the pooler. The `*_SESSION_DATABASE_URL`s bypass it, for work that needs a
   * session of its own.
   */
  readonly addresses: StoreAddresses & Readonly<Record<string, string>>
  /** Runs a command of the pooler's console. */
  runConsoleCommand(command: string): Promise<readonly Record<string, unknown>[]>
}

/** The maximum number of sessions that the pooler opens for each app. Without a pooler, a single instance may open more. */
export const POOL_SIZE = 6
/** The user id and the group id of `nobody`. */
const NOBODY = 65_534
/**
 * The timeouts that the apps send as startup parameters. PgBouncer would refuse such a connection, so it is configured to ignore
 * these parameters, and `startPooler` sets the timeouts on the roles instead.
 */
const ROLE_TIMEOUTS = {
  statement_timeout: '2s',
  lock_timeout: '500ms',
  idle_in_transaction_session_timeout: '5s',
} as const

/** Starts PgBouncer, and sets the timeouts on the apps' roles. The caller must dispose of the process. */
export async function startPooler(stores: StoreAddresses, folder: string): Promise<Pooler> {
  const { pgbouncer } = await findDebianPrograms(['pgbouncer'], process.env['PATH'] ?? '')
  const [port = 0] = await reserveFreePorts(1)
  const urls = [new URL(stores.AUTH_DATABASE_URL), new URL(stores.RESOURCE_DATABASE_URL)] as const
  for (const url of urls) await setRoleTimeouts(url.href)
  const users = urls.map((url) => `"${url.username}" "${decodeURIComponent(url.password)}"\n`).join('')
  const usersFile = path.join(folder, 'pgbouncer-users.txt')
  const settingsFile = path.join(folder, 'pgbouncer.ini')
  const databases = urls.map(({ pathname, hostname, port: serverPort }) => {
    const database = pathname.slice(1)
    return `${database} = host=${hostname} port=${serverPort} dbname=${database}`
  })
  const settings = [
    '[databases]',
    ...databases,
    '[pgbouncer]',
    ...['listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir ='],
    ...['auth_type = scram-sha-256', `auth_file = ${usersFile}`, `stats_users = ${urls[0].username}`],
    `admin_users = ${urls[0].username}`,
    ...['pool_mode = transaction', `default_pool_size = ${POOL_SIZE}`, 'max_client_conn = 200'],
    `ignore_startup_parameters = ${Object.keys(ROLE_TIMEOUTS).join(',')}`,
    // In seconds. An app waits only one second for a connection, so the app gives up first.
    'query_wait_timeout = 2',
    // PgBouncer refuses to run as root.
    ...(process.getuid?.() === 0 ? ['user = nobody'] : []),
  ]
  for (const [file, content] of [
    [usersFile, users],
    [settingsFile, `${settings.join('\n')}\n`],
  ] as const) {
    await writeFile(file, content, { mode: 0o600 })
    if (process.getuid?.() === 0) await chown(file, NOBODY, NOBODY)
  }
  const poolerProcess = await startManagedProcess({
    name: 'pgbouncer',
    command: [pgbouncer, settingsFile],
    env: {},
    logFile: path.join(folder, 'pgbouncer.log'),
    readyLine: 'process up',
  })
  const toPooledUrl = (target: URL) => {
    const url = new URL(target)
    url.port = String(port)
    return url.href
  }
  const consoleUrl = new URL(toPooledUrl(urls[0]))
  consoleUrl.pathname = '/pgbouncer'
  return {
    process: poolerProcess,
    addresses: {
      ...stores,
      AUTH_SESSION_DATABASE_URL: stores.AUTH_DATABASE_URL,
      RESOURCE_SESSION_DATABASE_URL: stores.RESOURCE_DATABASE_URL,
      AUTH_DATABASE_URL: toPooledUrl(urls[0]),
      RESOURCE_DATABASE_URL: toPooledUrl(urls[1]),
    },
    async runConsoleCommand(command) {
      await using pool = openPool(consoleUrl.href, { max: 1, applicationName: 'plainpath rehearsal' })
      return (await pool.query(command)).rows
    },
  }
}

/** Sets the timeouts as defaults of the role in the URL. Any role may change its own defaults. */
async function setRoleTimeouts(url: string): Promise<void> {
  await using pool = openPool(url, { max: 1, applicationName: 'plainpath rehearsal' })
  for (const [name, value] of Object.entries(ROLE_TIMEOUTS))
    await pool.query(`alter role current_user set ${name} = '${value}'`)
}
