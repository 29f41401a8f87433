import { type LimitStore, type Log, memoryLimitStore } from '@plainpath/http'
import { mailQueue, scaledWaitingBounds, tellMails } from '@plainpath/mail'
import { serviceUrls } from '@plainpath/metadata'
import type { Pool } from '@plainpath/postgres'
import type { Config } from '../config.ts'
import { type ContactStore, contactStore } from '../contact/contact-store.ts'
import { erasureTeller } from '../erasure-log.ts'
import { openLimitStore } from '../limits/open-limit-store.ts'
import { type WaitlistStore, waitlistStore } from '../waitlist/waitlist-store.ts'

export interface Stores {
  /** For all processes where there is a Redis, and for this one where there is none. */
  readonly limits: LimitStore
  readonly waitlist: WaitlistStore
  readonly contact: ContactStore
}

/** Opens them without waiting for PostgreSQL or Redis. */
export function openStores(
  config: Config,
  { db, log, now }: { db: Pool; log: Log; now: () => Date },
  opening: AsyncDisposableStack,
): Stores {
  const { redisUrl, sealingKeys, hashKey, deskAddress, contactHoldMs: holdMs } = config
  const mails = mailQueue({ sealingKeys, hashKey, waiting: scaledWaitingBounds(config.limitsFactor) })
  const mailTeller = opening.use(tellMails({ db, log }))
  const tellErased = erasureTeller(log)
  const urls = serviceUrls(config.origin)
  return {
    limits: redisUrl ? opening.use(openLimitStore(redisUrl, { log, now })) : memoryLimitStore(now),
    waitlist: waitlistStore({ db, sealingKeys, hashKey, mails, mailTeller, tellErased }),
    contact: contactStore({ db, sealingKeys, hashKey, mails, urls, deskAddress, holdMs, tellErased }),
  }
}
