import { holdLock } from '@plainpath/postgres'
import type { Command } from 'commander'
import { secretsOf } from '../agents/agent-secret.ts'
import { endAgent } from '../agents/end-agent.ts'
import { endSecret } from '../agents/rotate-secret.ts'
import { thisActor } from '../audit-chain.ts'
import type { Config } from '../config.ts'
import type { AuthEvents } from '../events.ts'
import { isLive } from '../keys/key-ring.ts'
import { addReplayCommand, type ReplayCommandDeps } from '../replay/replay-command.ts'
import { credentialOperations } from '../resource-servers/credential-operations.ts'
import {
  addResourceServersCommand,
  type ResourceServersCommandDeps,
} from '../resource-servers/resource-servers-command.ts'
import type { Stores } from '../stores.ts'
import { addStopCommand, type StopCommandDeps } from '../tokens/stop-command.ts'

interface StoreCommandsDeps {
  io: { print(line: string): void }
  refuse(text: string): Error
  config(): Config
  stores<T>(work: (opened: Stores) => Promise<T>): Promise<T>
  events: AuthEvents
  now: () => Date
}

/** The commands that need several stores at once: the emergency stop, the credentials of APIs, what a restore is followed by. */
export function addStoreCommands(program: Command, deps: StoreCommandsDeps): void {
  const { io, refuse, config, stores, events, now } = deps
  const forStop: StopCommandDeps['stores'] = (work) =>
    stores((opened) =>
      work({
        ...opened,
        by: thisActor(),
        place: opened.redis ? 'Redis' : 'PostgreSQL',
        async instances() {
          const { followers, now: at } = await opened.keys.view()
          const live = followers.filter((each) => isLive(each, { now: at, policy: config().keys }))
          return live.map(({ host }) => host)
        },
      }),
    )
  const forCredentials: ResourceServersCommandDeps['operations'] = (
    work,
    { exclusive, serversFile, timeoutMs },
  ) =>
    stores(async ({ resourceServerFollowers: followers }) => {
      const { databaseUrl, resourceServersFile: served, keys } = config()
      const operations = credentialOperations({
        served,
        copy: serversFile,
        followers,
        leaseMs: keys.leaseMs,
        timeoutMs,
        onWritten: (done, clientId, fingerprint) =>
          void events.emit(`api-secret-${done}`, {
            resource_server: clientId,
            fingerprint,
            ...(serversFile !== undefined && { copy: true }),
          }),
      })
      if (!exclusive) return await work(operations)
      const lock = await holdLock(databaseUrl, 'plainpath resource servers')
      if (!lock) throw refuse('Somebody else is changing the resource servers.')
      await using _held = lock
      return await work(operations).catch((error: unknown) => {
        const { code, syscall } = error as NodeJS.ErrnoException
        throw code && FILE_CALLS.has(syscall ?? '') ? refuse(`A file cannot be written (${code}).`) : error
      })
    })
  const ending: ReplayCommandDeps['ending'] = (work) =>
    stores((opened) =>
      work({
        endAgent: (id, status) => endAgent(opened, id, status),
        secretIds: async (id) => (await secretsOf(opened.db, id)).map((secret) => secret.id),
        endClaim: (id) => opened.claims.end(id, 'operator', now()),
        endSecret: (id, secretId) => endSecret(opened, { id, secretId }, now()),
      }),
    )
  addStopCommand(program, { io, refuse, stores: forStop })
  addReplayCommand(program, { io, refuse, ending })
  addResourceServersCommand(program, { io, refuse, operations: forCredentials })
}

const FILE_CALLS: ReadonlySet<string> = new Set([
  'open',
  'rename',
  'write',
  'fsync',
  'chown',
  'fchown',
  'chmod',
])
