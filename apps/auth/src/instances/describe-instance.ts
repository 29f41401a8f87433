import { API_VERSION } from '@plainpath/metadata'
import type { Sealer } from '@plainpath/sealing'
import type { InstanceDescription } from '../keys/key-follower-store.ts'
import type { Stores } from '../stores.ts'
import { ensureRedisId, toTokenStoreSettings } from '../tokens/token-store-identity.ts'

/**
 * Creates the function that describes this instance in each of its reports. The function reads the Redis id each time, since a
 * Redis that lost its data gets a new id. While Redis is unavailable, it returns the last id.
 *
 * @throws if Redis is unavailable when this function is called
 */
export async function createInstanceDescriber(
  settings: {
    readonly origin: string
    readonly redisUrl: string | undefined
    readonly sealer: Pick<Sealer, 'keyIds'>
  },
  { redis, redisPrefix }: Pick<Stores, 'redis' | 'redisPrefix'>,
): Promise<() => Promise<InstanceDescription>> {
  const { origin, redisUrl, sealer } = settings
  const tokenStoreSettings = toTokenStoreSettings(redisUrl, redisPrefix)
  const commonMembers = { release: API_VERSION, origin, kekIds: [...sealer.keyIds] }
  if (!redis || tokenStoreSettings.kind === 'postgresql')
    return async () => ({ ...commonMembers, tokenStore: { kind: 'postgresql' } })
  let redisId = await ensureRedisId(redis, redisPrefix)
  return async () => {
    redisId = await ensureRedisId(redis, redisPrefix).catch(() => redisId)
    return { ...commonMembers, tokenStore: { ...tokenStoreSettings, id: redisId } }
  }
}
