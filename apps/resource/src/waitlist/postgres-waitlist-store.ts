import { err, ok } from '@plainpath/domain'
import type { Database } from '@plainpath/postgres'
import type { HashKey, SealingKeys } from '@plainpath/sealing'
import { waitlistStatistics } from './waitlist-statistics.ts'
import type { WaitlistStore } from './waitlist-store.ts'

/** Addresses are sealed for their row; they compare by a keyed hash of their canonical form. */
export function postgresWaitlistStore(deps: {
  db: Database
  sealingKeys: SealingKeys
  hashKey: HashKey
}): WaitlistStore {
  const { db, sealingKeys, hashKey } = deps
  return {
    async add(entry) {
      const { rowCount } = await db.query(
        `insert into waitlist_entries
           (id, email_sealed, email_hash, email_hash_key, referral_slug, referred_by, joined_at)
         values ($1, $2, $3, $4, $5, (select id from waitlist_entries where referral_slug = $6), $7)
         on conflict on constraint waitlist_entries_email_hash do nothing`,
        [
          entry.id,
          sealingKeys.seal(entry.email, `waitlist_entries/${entry.id}/email`),
          hashKey.hash('email-index/waitlist', entry.canonicalEmail),
          hashKey.id,
          entry.referralSlug,
          entry.referredBySlug ?? null,
          entry.joinedAt,
        ],
      )
      return rowCount === 1 ? ok(undefined) : err('already-joined')
    },
    statistics: () => waitlistStatistics(db),
  }
}
