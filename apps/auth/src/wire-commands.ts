import { holdLock } from '@plainpath/postgres'
import type { Command } from 'commander'
import type { Config } from './config.ts'
import { thisActor } from './keys/init-keys.ts'
import { isLive } from './keys/key-ring.ts'
import { credentialOperations } from './resource-servers/credential-operations.ts'
import {
  addResourceServersCommand,
  type ResourceServersCommandDeps,
} from './resource-servers/resource-servers-command.ts'
import { addStopCommand, type StopCommandDeps } from './tokens/stop-command.ts'
import type { openStores } from './wire-stores.ts'

type Stores = Awaited<ReturnType<typeof openStores>>

interface StoreCommandsDeps {
  io: { print(line: string): void }
  refuse(text: string): Error
  config(): Config
  stores<T>(work: (opened: Stores) => Promise<T>): Promise<T>
}

/** The commands that need several stores at once: the emergency stop, and the credentials of APIs. */
export function addStoreCommands(program: Command, deps: StoreCommandsDeps): void {
  const { io, refuse, config, stores } = deps
  const forStop: StopCommandDeps['stores'] = (work) =>
    stores((opened) =>
      work({
        ...opened,
        by: thisActor(),
        place: opened.redis ? 'Redis' : 'PostgreSQL',
        async instances() {
          const { followers, now } = await opened.keys.view()
          const live = followers.filter((each) => isLive(each, { now, policy: config().keys }))
          return live.map(({ host }) => host)
        },
      }),
    )
  const forCredentials: ResourceServersCommandDeps['operations'] = (work, { exclusive }) =>
    stores(async ({ resourceServerFollowers: followers }) => {
      const { databaseUrl, resourceServersFile: file, keys } = config()
      const operations = credentialOperations({ file, followers, leaseMs: keys.leaseMs })
      if (!exclusive) return await work(operations)
      const lock = await holdLock(databaseUrl, 'plainpath resource servers')
      if (!lock) throw refuse('Somebody else is changing the resource servers.')
      await using _held = lock
      return await work(operations).catch((error: unknown) => {
        const { code, syscall } = error as NodeJS.ErrnoException
        throw code && FILE_CALLS.has(syscall ?? '') ? refuse(`A file cannot be written (${code}).`) : error
      })
    })
  addStopCommand(program, { io, refuse, stores: forStop })
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
