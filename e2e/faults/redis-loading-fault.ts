import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { waitUntil } from '@plainpath/stack/managed-process'
import { startRedis } from '@plainpath/stack/start-redis'
import { Redis } from 'ioredis'
import type { FaultCase } from './fault-case.ts'
import { startTokenLoss } from './ledger.ts'

/** The number of keys of the other server. With the delay for each key, Redis loads them in about four seconds. */
const KEY_COUNT = 250
const VALUE_BYTES = 2_000
/** The delay with which Redis loads each key. */
const KEY_LOAD_DELAY_US = 15_000
const PATIENCE_MS = 30_000

/** Creates a fault in which Redis becomes the replica of another server, and takes seconds to load its data. */
export function createRedisLoadingFault(): FaultCase {
  const resources = new AsyncDisposableStack()
  let endTokenLoss: () => Promise<void>
  let master: { port: number; adminUrl: string }
  return {
    name: 'Redis: loads another data set (LOADING)',
    numbers: ['F-15', 'F-16'],
    components: ['redis'],
    // A read is not always refused, since an API may use a cached introspection until its lease expires.
    refusedOperations: ['token', 'revoke'],
    isManual: true,
    async prepare({ stack, redis }) {
      const folder = path.join(path.dirname(stack.redis.logFile), 'another-redis')
      await mkdir(folder, { recursive: true })
      master = resources.use(
        await startRedis({ program: stack.redis.child.spawnfile, port: stack.redis.port + 1, folder }),
      )
      const masterClient = new Redis(master.adminUrl)
      for (let key = 0; key < KEY_COUNT; key += 1)
        await masterClient.set(`other:${key}`, 'x'.repeat(VALUE_BYTES))
      masterClient.disconnect()
      const { username, password } = new URL(master.adminUrl)
      await redis.config('SET', 'masteruser', username)
      await redis.config('SET', 'masterauth', password)
      await redis.config('SET', 'key-load-delay', String(KEY_LOAD_DELAY_US))
      // Redis then replies with LOADING after every KiB that it has loaded, and not only after every 2 MiB.
      await redis.config('SET', 'loading-process-events-interval-bytes', '1024')
      await redis.config('SET', 'repl-diskless-sync-delay', '0')
    },
    async begin({ redis }, ledger) {
      endTokenLoss = startTokenLoss(ledger)
      await redis.replicaof('127.0.0.1', master.port)
    },
    async end({ redis }) {
      await waitUntil(async () => {
        const info = await redis.info()
        return /^loading:0/m.test(info) && /^master_link_status:up/m.test(info)
      }, PATIENCE_MS)
      await redis.replicaof('NO', 'ONE')
      await redis.config('SET', 'key-load-delay', '0')
      // Deletes the keys of the other server.
      await redis.flushall()
      await endTokenLoss()
    },
    async finish() {
      await resources.disposeAsync()
      return []
    },
  }
}
