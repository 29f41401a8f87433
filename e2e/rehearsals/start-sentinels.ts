import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { reserveFreePorts } from '@plainpath/http/free-ports'
import { type ManagedProcess, startManagedProcess, waitUntil } from '@plainpath/stack/managed-process'
import type { RunningRedis } from '@plainpath/stack/start-redis'
import { Redis } from 'ioredis'

/** A Redis that Sentinel may make the primary. */
interface RedisServer {
  readonly port: number
  readonly process: ManagedProcess
}

/** Two Redis servers, one of them the primary, and three Sentinels. */
export interface Sentinels extends AsyncDisposable {
  /** Returns the current primary: the first server, until the Sentinels switch. */
  getPrimary(): RedisServer
  getReplica(): RedisServer
  /** Makes Sentinel switch to the replica, as an operator does before maintenance. */
  failOver(): Promise<void>
  /** Waits until Sentinel has replaced this primary with the other server. */
  waitForSwitch(oldPrimary: RedisServer): Promise<void>
  /** Waits until the other server replicates the primary again. */
  waitForReplication(): Promise<void>
}

/** After this time without a reply, a Sentinel counts the primary as down. */
export const DOWN_AFTER_MS = 2_000
/** The name under which the Sentinels monitor the primary. */
const PRIMARY_NAME = 'plainpath'
const SENTINEL_COUNT = 3
const QUORUM = 2
/** The maximum time for the Sentinels, or the replica, to reach an expected state. */
const PATIENCE_MS = 60_000

/**
 * Starts a replica of `redis`, and the Sentinels.
 *
 * @param options.onSwitch moves the address of Redis to the new primary. It is called when the Sentinels have switched
 */
export async function startSentinels(
  redis: RunningRedis,
  { folder, onSwitch }: { folder: string; onSwitch: (port: number) => Promise<void> },
): Promise<Sentinels> {
  await using opening = new AsyncDisposableStack()
  const { username, password } = new URL(redis.adminUrl)
  const [replicaPort = 0, ...sentinelPorts] = await reserveFreePorts(1 + SENTINEL_COUNT)
  const connect = (port: number, user = { username, password }) => {
    const connection = new Redis({ ...user, port, maxRetriesPerRequest: 20, retryStrategy: () => 100 })
    // Servers are down at times. Without a listener, ioredis prints each failed attempt to connect.
    connection.on('error', () => {})
    opening.defer(() => connection.disconnect())
    return connection
  }
  const aclFile = path.join(folder, `redis-${replicaPort}.acl`)
  await copyFile(path.join(folder, `redis-${redis.port}.acl`), aclFile)
  const replicaFolder = path.join(folder, 'replica')
  await mkdir(replicaFolder)
  const replicaProcess = opening.use(
    await startManagedProcess({
      name: 'redis-replica',
      command: [
        redis.child.spawnfile,
        ...['--port', String(replicaPort), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
        ...['--maxmemory', '256mb', '--maxmemory-policy', 'noeviction', '--aclfile', aclFile],
        ...['--dir', replicaFolder, '--replicaof', `127.0.0.1 ${redis.port}`],
      ],
      env: {},
      logFile: path.join(folder, 'redis-replica.log'),
      readyLine: 'Ready to accept connections',
    }),
  )
  const servers: readonly [RedisServer, RedisServer] = [
    { port: redis.port, process: redis },
    { port: replicaPort, process: replicaProcess },
  ]
  const connections = new Map(servers.map(({ port }) => [port, connect(port)]))
  const getConnection = (port: number) => connections.get(port) ?? connect(port)
  /** Applies settings that a new or restarted server lacks. In production, its configuration file has all but the last. */
  const configure = async () => {
    for (const { port } of servers) {
      await getConnection(port).config('SET', 'masteruser', username)
      await getConnection(port).config('SET', 'masterauth', password)
      // Otherwise a primary changes its replication ID an hour after its last replica has disconnected, which invalidates all tokens.
      await getConnection(port).config('SET', 'repl-backlog-ttl', '0')
      // By default, a primary waits five seconds for more replicas before it sends its data.
      await getConnection(port).config('SET', 'repl-diskless-sync-delay', '0')
    }
  }
  await configure()
  const isReplicating = async (primary: RedisServer) =>
    /^connected_slaves:1/m.test(await getConnection(primary.port).info('replication')) &&
    /state=online/.test(await getConnection(primary.port).info('replication'))
  await waitUntilOrThrow(() => isReplicating(servers[0]), 'the replica does not replicate')

  for (const port of sentinelPorts) {
    const file = path.join(folder, `sentinel-${port}.conf`)
    const settings = [
      ...[`port ${port}`, 'bind 127.0.0.1', `dir ${folder}`],
      `sentinel monitor ${PRIMARY_NAME} 127.0.0.1 ${redis.port} ${QUORUM}`,
      `sentinel auth-user ${PRIMARY_NAME} ${username}`,
      `sentinel auth-pass ${PRIMARY_NAME} ${password}`,
      `sentinel down-after-milliseconds ${PRIMARY_NAME} ${DOWN_AFTER_MS}`,
      `sentinel failover-timeout ${PRIMARY_NAME} 10000`,
      '',
    ]
    await writeFile(file, settings.join('\n'), { mode: 0o600 })
    opening.use(
      await startManagedProcess({
        name: `sentinel-${port}`,
        command: [redis.child.spawnfile, file, '--sentinel'],
        env: {},
        logFile: path.join(folder, `sentinel-${port}.log`),
        readyLine: '+monitor master',
      }),
    )
  }
  const [sentinelPort = 0] = sentinelPorts
  // The Sentinels have no users or passwords of their own.
  const NO_CREDENTIALS = { username: '', password: '' }
  const sentinel = connect(sentinelPort, NO_CREDENTIALS)
  await waitUntilOrThrow(() => hasDiscoveredOthers(sentinel), 'the Sentinels do not know each other')

  let primary = servers[0]
  const getReplica = () => (primary === servers[0] ? servers[1] : servers[0])
  const events = connect(sentinelPort, NO_CREDENTIALS)
  await events.subscribe('+switch-master')
  let lastSwitch = Promise.resolve()
  events.on('message', (_channel: string, message: string) => {
    // The message is `<name> <old host> <old port> <new host> <new port>`.
    const port = Number(message.split(' ')[4])
    const newPrimary = servers.find((server) => server.port === port)
    if (!newPrimary) return
    lastSwitch = onSwitch(port).then(() => {
      primary = newPrimary
    })
  })
  const resources = opening.move()
  return {
    getPrimary: () => primary,
    getReplica,
    async failOver() {
      await sentinel.call('SENTINEL', 'FAILOVER', PRIMARY_NAME)
    },
    async waitForSwitch(oldPrimary) {
      await waitUntilOrThrow(() => primary !== oldPrimary, 'Sentinel did not switch')
      await lastSwitch
    },
    async waitForReplication() {
      await configure()
      await waitUntilOrThrow(() => isReplicating(primary), 'the other server does not replicate')
      await waitUntilOrThrow(() => hasDiscoveredOthers(sentinel), 'the Sentinels do not know the replica')
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** Returns whether a Sentinel has discovered the other Sentinels and the replica, and the primary is up. Discovery takes up to ten seconds. */
async function hasDiscoveredOthers(sentinel: Redis): Promise<boolean> {
  const fields = (await sentinel.call('SENTINEL', 'MASTER', PRIMARY_NAME)) as string[]
  const readField = (name: string) => fields[fields.indexOf(name) + 1]
  return (
    readField('num-other-sentinels') === String(SENTINEL_COUNT - 1) &&
    readField('num-slaves') === '1' &&
    readField('flags') === 'master'
  )
}

/** Polls a condition for up to a minute. @throws {Error} with the message `failure` if the condition never holds */
async function waitUntilOrThrow(condition: () => boolean | Promise<boolean>, failure: string): Promise<void> {
  if (!(await waitUntil(condition, PATIENCE_MS))) throw new Error(failure)
}
