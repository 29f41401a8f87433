import type { Log, Metrics } from '@plainpath/http'
import type { Config } from '../config.ts'
import {
  type FollowedResourceServers,
  followResourceServers,
} from '../resource-servers/follow-resource-servers.ts'
import type { ResourceServerFollowers } from '../resource-servers/resource-server-followers.ts'
import { fingerprint } from '../resource-servers/resource-servers.ts'
import { readResourceServers } from '../resource-servers/resource-servers-file.ts'

const READ_MS = 1_000

/** The resource servers as their file says, and what `/ready` says of it. */
export async function wireResourceServers(
  config: Config,
  deps: { resourceServerFollowers: ResourceServerFollowers; metrics: Pick<Metrics, 'gauge'>; log: Log },
): Promise<FollowedResourceServers & { status(): Record<string, unknown> }> {
  const readable = deps.metrics.gauge(
    'resource_servers_readable',
    '1 when AUTH_RESOURCE_SERVERS_FILE could be read the last time',
  )
  const followed = await followResourceServers({
    first: config.resourceServers,
    read: () => readResourceServers(config.resourceServersFile),
    followers: deps.resourceServerFollowers,
    readMs: Math.min(READ_MS, config.keys.pollMs),
    reportMs: config.keys.pollMs,
    log: deps.log,
    onRead: (could) => readable(could ? 1 : 0),
  })
  return {
    ...followed,
    status: () => ({
      secrets: Object.fromEntries(
        followed.current().map(({ client_id: id, secrets }) => [id, secrets.map(fingerprint)]),
      ),
      ...(followed.problem() !== undefined && { problem: followed.problem() }),
    }),
    [Symbol.asyncDispose]: () => followed[Symbol.asyncDispose](),
  }
}
