/*
 * Identifies the token store that a process uses. Instances report their store. A command that uses tokens compares it with its
 * own, because a revocation in another store would have no effect.
 */
import { randomUUID } from 'node:crypto'
import { Refusal } from '@plainpath/commands'
import type { Redis } from 'ioredis'
import { z } from 'zod'

/**
 * The identity of a token store. The same Redis can have several addresses, so `id` identifies it. `address` is for messages, and
 * for recognising a Redis that has lost its id.
 */
export const TokenStoreIdentity = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('postgresql') }),
  z.object({
    kind: z.literal('redis'),
    /** A random id that is stored in Redis itself. A Redis that lost its data gets another id. */
    id: z.string(),
    prefix: z.string(),
    database: z.int(),
    /** The host and the port. */
    address: z.string(),
  }),
])
export type TokenStoreIdentity = Readonly<z.infer<typeof TokenStoreIdentity>>

/** The token store as the settings describe it. The id is missing, because it is stored in Redis. */
export type TokenStoreSettings =
  | { readonly kind: 'postgresql' }
  | { readonly kind: 'redis'; readonly prefix: string; readonly database: number; readonly address: string }

/** Describes the token store in the settings, without user and password. */
export function toTokenStoreSettings(redisUrl: string | undefined, prefix: string): TokenStoreSettings {
  if (redisUrl === undefined) return { kind: 'postgresql' }
  const { hostname, port, pathname } = new URL(redisUrl)
  return {
    kind: 'redis',
    prefix,
    // A URL without a path means database 0.
    database: Number(pathname.slice(1)) || 0,
    address: `${hostname}:${port || 6379}`,
  }
}

const toIdentityKey = (prefix: string) => `${prefix}store`

/** Reads the id of a Redis. If it has none, stores one first. Only instances call this. */
export async function ensureRedisId(redis: Redis, prefix: string): Promise<string> {
  const key = toIdentityKey(prefix)
  await redis.set(key, randomUUID(), 'NX')
  return z.string().parse(await redis.get(key))
}

/**
 * Reads the id of a Redis for a command, which never creates an id.
 *
 * @returns undefined if no instance has stored an id
 * @throws {Refusal} if the Redis is a replica
 */
export async function readRedisId(redis: Redis, prefix: string): Promise<string | undefined> {
  if (/^role:slave\r?$/m.test(await redis.info('replication')))
    throw new Refusal(
      'AUTH_REDIS_URL names a replica of Redis, which takes no changes. Set it to the primary.',
    )
  return (await redis.get(toIdentityKey(prefix))) ?? undefined
}
