import {
  createMemoryLimitStore,
  createPrefetchingLimitStore,
  createRedisLimitStore,
  type LimitStore,
  type Log,
} from '@plainpath/http'
import { createMailNotifier, createMailQueue, scaleWaitingMailBounds } from '@plainpath/mail'
import { createServiceUrls } from '@plainpath/metadata'
import type { Pool } from '@plainpath/postgres'
import { createPostgresUsedProofs, createRedisUsedProofs, type UsedProofs } from '../auth/used-proofs.ts'
import type { Config } from '../config.ts'
import { type ContactStore, createContactStore } from '../contact/contact-store.ts'
import { createErasureLogger } from '../erasure-log.ts'
import { openRedis } from '../open-redis.ts'
import { createWaitlistStore, type WaitlistStore } from '../waitlist/waitlist-store.ts'

export interface Stores {
  /** All processes share these limits through Redis. Without Redis, each process counts by itself. */
  readonly limits: LimitStore
  readonly usedProofs: UsedProofs
  readonly waitlist: WaitlistStore
  readonly contact: ContactStore
}

/** Opens the stores without waiting for PostgreSQL or Redis. */
export function openStores(
  config: Config,
  { db, log, now }: { db: Pool; log: Log; now: () => Date },
  cleanup: AsyncDisposableStack,
): Stores {
  const { redisUrl, sealer, hashKey, staffInbox, contactHoldMs: holdMs } = config
  const mails = createMailQueue({
    sealer,
    hashKey,
    waiting: scaleWaitingMailBounds(config.limitsFactor),
  })
  const mailNotifier = cleanup.use(createMailNotifier({ db, log }))
  const logErasure = createErasureLogger(log)
  const urls = createServiceUrls(config.origin)
  const redis = redisUrl ? cleanup.use(openRedis(redisUrl, { log })) : undefined
  return {
    limits: redis
      ? createPrefetchingLimitStore(createRedisLimitStore(redis, 'resource:'), now)
      : createMemoryLimitStore(now),
    usedProofs: redis ? createRedisUsedProofs(redis) : createPostgresUsedProofs(db, now),
    waitlist: createWaitlistStore({ db, sealer, hashKey, mails, mailNotifier, logErasure }),
    contact: createContactStore({ db, sealer, hashKey, mails, urls, staffInbox, holdMs, logErasure }),
  }
}
