import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from '@plainpath/commands'
import { API_VERSION } from '@plainpath/metadata'
import { findDatabaseMistake } from '@plainpath/postgres'
import type { Sealer } from '@plainpath/sealing'
import { isLive } from '../keys/key-ring.ts'
import type { KeySettings } from '../keys/key-settings.ts'
import { UnreadableKey } from '../keys/key-store.ts'
import { MIGRATIONS, type Stores } from '../stores.ts'
import { readRedisId, toTokenStoreSettings } from '../tokens/token-store-identity.ts'
import { type CommandTarget, findMismatch } from './find-mismatch.ts'

interface StoreSettings {
  readonly origin: string
  readonly redisUrl: string | undefined
  readonly sealer: Pick<Sealer, 'newestKeyId'>
  readonly keys: KeySettings
}

const RETRY_MS = 250
/** The extra time, beyond the report interval, for an instance to detect that Redis lost its data. */
const EXTRA_WAIT_MS = 2_000

/**
 * Refuses a command whose stores, origin or keys differ from those of the running instances.
 *
 * @param stores the stores that were opened for the command
 * @param options.usesTokens true if the command also uses the token store
 * @param options.encrypts true if the command stores encrypted data
 * @throws {Refusal} with a message that says what to set
 */
export async function requireSameStores(
  { origin, redisUrl, sealer, keys }: StoreSettings,
  stores: Pick<Stores, 'db' | 'redis' | 'redisPrefix' | 'keys' | 'keyFollowers'>,
  { usesTokens, encrypts }: { readonly usesTokens: boolean; readonly encrypts: boolean },
): Promise<void> {
  const { db, redis, redisPrefix } = stores
  const readRunningInstances = async () => {
    const view = await stores.keys.view()
    return view.followers.filter((instance) => isLive(instance, { now: view.now, policy: keys }))
  }
  const databaseMistake = await findDatabaseMistake(db, {
    app: 'auth',
    variable: 'AUTH_DATABASE_URL',
    folder: MIGRATIONS,
    isReleaseRunning: async () =>
      (await readRunningInstances()).some(({ release }) => release === API_VERSION),
  })
  if (databaseMistake !== undefined) throw new Refusal(`${databaseMistake} Nothing was changed.`)
  const kekId = encrypts ? sealer.newestKeyId : undefined
  // If Redis lost its data, a running instance assigns it a new id. The command waits for that.
  const deadline = performance.now() + keys.pollMs + EXTRA_WAIT_MS
  for (;;) {
    const redisId = redis && (await readRedisId(redis, redisPrefix))
    const tokens = usesTokens ? { settings: toTokenStoreSettings(redisUrl, redisPrefix), redisId } : undefined
    const target: CommandTarget = { origin, tokens, kekId }
    const runningInstances = await readRunningInstances()
    const mismatch = findMismatch(target, runningInstances, await stores.keyFollowers.findLastTokenStore())
    if (mismatch === undefined) break
    const isAwaitingRedisId = redis !== undefined && redisId === undefined && runningInstances.length > 0
    if (!isAwaitingRedisId || performance.now() > deadline)
      throw new Refusal(`${mismatch} Nothing was changed.`)
    await sleep(RETRY_MS)
  }
  if (encrypts && (await stores.keys.inspect()).some((key) => key instanceof UnreadableKey))
    throw new Refusal(
      'The keys in AUTH_KEK_FILE cannot decrypt a signing key. Set AUTH_KEK_FILE to the file that the running instances use. If that file is lost, see docs/runbooks/lost-key-encryption-key.md. Nothing was changed.',
    )
}
