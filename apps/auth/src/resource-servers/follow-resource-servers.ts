import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { isDeepStrictEqual } from 'node:util'
import { type Log, type Metrics, runRepeatedly } from '@plainpath/http'
import type { ResourceServerFollowers } from './resource-server-followers.ts'
import { fingerprint, type ResourceServer, type VerifiedServer } from './resource-servers.ts'
import { readResourceServers } from './resource-servers-file.ts'

export interface FollowedResourceServers extends AsyncDisposable {
  current(): readonly ResourceServer[]
  /** Records that a valid credential was presented. */
  used(verified: VerifiedServer): void
  /** The accepted secrets by fingerprint, and what is wrong with the file if it cannot be loaded. */
  status(): Record<string, unknown>
}

const READ_MS = 1_000

interface FollowDeps {
  /** What the file held at the start. */
  readonly first: readonly ResourceServer[]
  readonly file: string
  readonly followers: Pick<ResourceServerFollowers, 'report' | 'forget'>
  /** How often this instance reports what it accepts, besides at each change. The file is read at least as often. */
  readonly reportMs: number
  readonly metrics: Pick<Metrics, 'gauge'>
  readonly log: Log
}

/**
 * Keeps the content of AUTH_RESOURCE_SERVERS_FILE current by polling: file-change notifications miss many ways in which
 * a mounted file is replaced. Invalid content is logged and otherwise ignored, since one faulty file must not lock out
 * every API. Reports to the database which secrets this instance accepts and when each was last presented, so that an
 * operator knows when a secret can be removed.
 */
export async function followResourceServers({
  first,
  file,
  followers,
  reportMs,
  metrics,
  log,
}: FollowDeps): Promise<FollowedResourceServers> {
  const readable = metrics.gauge(
    'resource_servers_readable',
    '1 when AUTH_RESOURCE_SERVERS_FILE could be read the last time',
  )
  const instance = { instanceId: randomUUID(), host: `${hostname()}:${process.pid}` }
  const uses = new Map<string, number>()
  let servers = first
  let problem: string | undefined
  let reportedAt = Number.NEGATIVE_INFINITY

  /** @returns true when there is something to report */
  async function readOnce(): Promise<boolean> {
    const before = { servers, problem }
    try {
      const found = await readResourceServers(file)
      problem = undefined
      if (before.problem !== undefined) log.info('the file of resource servers can be read again')
      if (!isDeepStrictEqual(found, servers)) {
        servers = found
        log.info('loaded the file of resource servers', { secrets: found.map(describeSecrets) })
      }
    } catch (error) {
      problem = (error as NodeJS.ErrnoException).code ?? 'its content is not valid'
      if (problem !== before.problem)
        log.error('the file of resource servers cannot be loaded: its last valid content stays in use', {
          reason: problem,
        })
    }
    readable(problem === undefined ? 1 : 0)
    return servers !== before.servers || problem !== before.problem
  }

  async function report(): Promise<void> {
    const now = performance.now()
    reportedAt = now
    const secrets = servers.flatMap(({ client_id: clientId, secrets: digests }) =>
      digests.map((digest) => {
        const usedAt = uses.get(useKey(clientId, fingerprint(digest)))
        return {
          clientId,
          fingerprint: fingerprint(digest),
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
    const isNews = await readOnce()
    if (isNews || performance.now() >= reportedAt + reportMs) await report()
  }

  // Reported before this instance takes requests: a command that changes a secret must wait for it.
  await follow()
  const following = runRepeatedly(follow)
  following.start(Math.min(READ_MS, reportMs))
  return {
    current: () => servers,
    used: ({ server, digest }) =>
      void uses.set(useKey(server.client_id, fingerprint(digest)), performance.now()),
    status: () => ({
      secrets: Object.fromEntries(
        servers.map(({ client_id: id, secrets }) => [id, secrets.map(fingerprint)]),
      ),
      ...(problem !== undefined && { problem }),
    }),
    async [Symbol.asyncDispose]() {
      await following[Symbol.asyncDispose]()
      await followers
        .forget(instance.instanceId)
        .catch((error: unknown) => log.warn('this instance could not be removed from the list', { error }))
    },
  }
}

const useKey = (clientId: string, print: string) => `${clientId} ${print}`
const describeSecrets = ({ client_id: id, secrets }: ResourceServer) =>
  `${id}: ${secrets.map(fingerprint).join(', ')}`
