import { type LimitStore, type Log, memoryLimitStore } from '@plainpath/http'
import { createMailNotifier, mailQueue, scaledWaitingBounds } from '@plainpath/mail'
import { serviceUrls } from '@plainpath/metadata'
import type { Pool } from '@plainpath/postgres'
import { postgresUsedProofs, redisUsedProofs, type UsedProofs } from '../auth/used-proofs.ts'
import type { Config } from '../config.ts'
import { type ContactStore, contactStore } from '../contact/contact-store.ts'
import { createErasureLog } from '../erasure-log.ts'
import { openLimitStore } from '../limits/open-limit-store.ts'
import { openRedis } from '../open-redis.ts'
import { type WaitlistStore, waitlistStore } from '../waitlist/waitlist-store.ts'

export interface Stores {
  /** Shared by all processes through Redis; without Redis, only for this process. */
  readonly limits: LimitStore
  readonly usedProofs: UsedProofs
  readonly waitlist: WaitlistStore
  readonly contact: ContactStore
}

/** Opens the stores without waiting for PostgreSQL or Redis. */
export function openStores(
  config: Config,
  { db, log, now }: { db: Pool; log: Log; now: () => Date },
  opening: AsyncDisposableStack,
): Stores {
  const { redisUrl, sealingKeys, hashKey, staffInbox, contactHoldMs: holdMs } = config
  const mails = mailQueue({ sealingKeys, hashKey, waiting: scaledWaitingBounds(config.limitsFactor) })
  const mailNotifier = opening.use(createMailNotifier({ db, log }))
  const logErasure = createErasureLog(log)
  const urls = serviceUrls(config.origin)
  const redis = redisUrl ? opening.use(openRedis(redisUrl, { log })) : undefined
  return {
    limits: redis ? openLimitStore(redis, { now }) : memoryLimitStore(now),
    usedProofs: redis ? redisUsedProofs(redis) : postgresUsedProofs(db, now),
    waitlist: waitlistStore({ db, sealingKeys, hashKey, mails, mailNotifier, logErasure }),
    contact: contactStore({ db, sealingKeys, hashKey, mails, urls, staffInbox, holdMs, logErasure }),
  }
}
