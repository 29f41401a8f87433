import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { isDeepStrictEqual } from 'node:util'
import { createRepeatedWork, type Log, type Metrics } from '@plainpath/http'
import type { ResourceServerFollowerStore } from './resource-server-follower-store.ts'
import { type ResourceServer, toFingerprint, type VerifiedServer } from './resource-servers.ts'
import { readResourceServers } from './resource-servers-file.ts'

export interface FollowedResourceServers extends AsyncDisposable {
  /** Returns the content of the file that was loaded last. */
  getServers(): readonly ResourceServer[]
  /** Records the use of a valid credential. */
  recordUse(verified: VerifiedServer): void
  /** Returns the fingerprints of the accepted secrets by resource server, and the error if the file cannot be loaded. */
  getStatus(): Record<string, unknown>
}

/** The longest interval at which the file is read. */
const READ_INTERVAL_MS = 1_000

interface FollowDeps {
  /** The content of the file at startup. */
  readonly initialServers: readonly ResourceServer[]
  readonly file: string
  readonly followers: Pick<ResourceServerFollowerStore, 'report' | 'remove'>
  /** The interval at which this instance reports the secrets that it accepts. It also reports each change immediately. */
  readonly reportIntervalMs: number
  readonly metrics: Pick<Metrics, 'createGauge'>
  readonly log: Log
}

/**
 * Keeps this instance's copy of AUTH_RESOURCE_SERVERS_FILE current. The file is polled, because notifications of changes are
 * unreliable for mounted files. Invalid content is logged and otherwise ignored, since one faulty file must not lock out every
 * API. Reports to the database which secrets this instance accepts and when each was last presented, so an operator knows when a
 * secret can be removed.
 */
export async function followResourceServers({
  initialServers,
  file,
  followers,
  reportIntervalMs,
  metrics,
  log,
}: FollowDeps): Promise<FollowedResourceServers> {
  const setReadable = metrics.createGauge(
    'resource_servers_readable',
    '1 when AUTH_RESOURCE_SERVERS_FILE could be read the last time',
  )
  const instance = { instanceId: randomUUID(), host: `${hostname()}:${process.pid}` }
  /** When each secret was last presented, in milliseconds of the monotonic process clock, by `toUseKey`. */
  const lastUses = new Map<string, number>()
  let servers = initialServers
  /** Why the file could not be loaded the last time: an error code such as `ENOENT`, or a phrase. */
  let problem: string | undefined
  let reportedAt = Number.NEGATIVE_INFINITY

  /**
   * Reads the file once.
   *
   * @returns true if there is a change to report
   */
  async function readOnce(): Promise<boolean> {
    const previousState = { servers, problem }
    try {
      const loadedServers = await readResourceServers(file)
      problem = undefined
      if (previousState.problem !== undefined) log.info('the file of resource servers can be read again')
      if (!isDeepStrictEqual(loadedServers, servers)) {
        servers = loadedServers
        log.info('loaded the file of resource servers', { secrets: loadedServers.map(formatFingerprints) })
      }
    } catch (error) {
      problem = (error as NodeJS.ErrnoException).code ?? 'its content is not valid'
      if (problem !== previousState.problem)
        log.error('the file of resource servers cannot be loaded: its last valid content stays in use', {
          reason: problem,
        })
    }
    setReadable(problem === undefined ? 1 : 0)
    return servers !== previousState.servers || problem !== previousState.problem
  }

  async function report(): Promise<void> {
    const now = performance.now()
    reportedAt = now
    const secrets = servers.flatMap(({ client_id: clientId, secrets: digests }) =>
      digests.map((digest) => {
        const usedAt = lastUses.get(toUseKey(clientId, toFingerprint(digest)))
        return {
          clientId,
          fingerprint: toFingerprint(digest),
          ...(usedAt !== undefined && { usedMsAgo: Math.round(now - usedAt) }),
        }
      }),
    )
    await followers
      .report({ ...instance, secrets, problem })
      .catch((error: unknown) =>
        log.warn('this instance could not report which secrets it accepts', { error }),
      )
  }

  async function follow(): Promise<void> {
    const hasChanged = await readOnce()
    if (hasChanged || performance.now() >= reportedAt + reportIntervalMs) await report()
  }

  // Reports before the instance accepts requests: a command that changes a secret waits only for instances that have reported.
  await follow()
  const polling = createRepeatedWork(follow)
  polling.start(Math.min(READ_INTERVAL_MS, reportIntervalMs))
  return {
    getServers: () => servers,
    recordUse: ({ server, digest }) =>
      void lastUses.set(toUseKey(server.client_id, toFingerprint(digest)), performance.now()),
    getStatus: () => ({
      secrets: Object.fromEntries(
        servers.map(({ client_id: id, secrets }) => [id, secrets.map(toFingerprint)]),
      ),
      ...(problem !== undefined && { problem }),
    }),
    async [Symbol.asyncDispose]() {
      await polling[Symbol.asyncDispose]()
      // Otherwise, a secret that was used just now would seem unused, and an operator could remove it.
      await report()
      await followers
        .remove(instance.instanceId)
        .catch((error: unknown) =>
          log.warn('this instance could not be removed from the list of instances', { error }),
        )
    },
  }
}

const toUseKey = (clientId: string, fingerprint: string) => `${clientId} ${fingerprint}`
const formatFingerprints = ({ client_id: id, secrets }: ResourceServer) =>
  `${id}: ${secrets.map(toFingerprint).join(', ')}`
