import { holdLock } from '@plainpath/postgres'
import type { Command } from 'commander'
import { secretsOf } from '../agents/postgres-agent-secrets.ts'
import { endSecret } from '../agents/rotate-secret.ts'
import { thisActor } from '../audit-chain.ts'
import { endClaim } from '../claims/end-claim.ts'
import type { Config } from '../config.ts'
import { isLive } from '../keys/key-ring.ts'
import { addReplayCommand, type ReplayCommandDeps } from '../replay/replay-command.ts'
import { credentialOperations } from '../resource-servers/credential-operations.ts'
import {
  addResourceServersCommand,
  type ResourceServersCommandDeps,
} from '../resource-servers/resource-servers-command.ts'
import type { TellSecurityEvent } from '../security-events.ts'
import { addStopCommand, type StopCommandDeps } from '../tokens/stop-command.ts'
import type { openStores } from './wire-stores.ts'

type Stores = Awaited<ReturnType<typeof openStores>>

interface StoreCommandsDeps {
  io: { print(line: string): void }
  refuse(text: string): Error
  config(): Config
  stores<T>(work: (opened: Stores) => Promise<T>): Promise<T>
  tell: TellSecurityEvent
  now: () => Date
}

/** The commands that need several stores at once: the emergency stop, the credentials of APIs, what a restore is followed by. */
export function addStoreCommands(program: Command, deps: StoreCommandsDeps): void {
  const { io, refuse, config, stores, tell, now } = deps
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
          tell(`api-secret-${done}`, {
            ...{ resource_server: clientId, fingerprint },
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
    stores((opened) => {
      const { claims, secrets, endAgent, tokens, agents, db } = opened
      const { raiseGeneration } = tokens
      const announceEnd = (id: string) => opened.announceEnd({ kind: 'client', id })
      const endClaimBy = endClaim({ claims, now })
      return work({
        endAgent,
        secretIds: async (id) => (await secretsOf(db, id)).map((secret) => secret.id),
        endClaim: (id) => endClaimBy(id, 'operator'),
        endSecret: endSecret({ secrets, raiseGeneration, announceEnd, forget: agents.forget, now }),
      })
    })
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
