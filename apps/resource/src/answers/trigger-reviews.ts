import type { Database } from '@plainpath/postgres'
import { z } from 'zod'

const TriggerReviewRow = z.object({
  /** The id of the trigger. */
  trigger: z.string(),
  /** The reviewed version, as `computeTriggerVersion` computes it. */
  version: z.string(),
  /** The day of the review in UTC, `YYYY-MM-DD`. */
  day: z.string(),
  /** The name of the attorney. */
  by: z.string(),
})

/** The review of one version of a trigger by a named attorney. */
export type TriggerReview = Readonly<z.infer<typeof TriggerReviewRow>>

export async function recordTriggerReview(db: Database, review: TriggerReview): Promise<void> {
  const { trigger, version, day, by } = review
  await db.query(
    'insert into trigger_reviews (trigger_id, version, reviewed_on, reviewed_by) values ($1, $2, $3, $4)',
    [trigger, version, day, by],
  )
}

/** Lists the newest review of each trigger version. */
export async function listTriggerReviews(db: Database): Promise<TriggerReview[]> {
  const { rows } = await db.query(
    `select distinct on (trigger_id, version) trigger_id as trigger, version,
      to_char(reviewed_on, 'YYYY-MM-DD') as day, reviewed_by as by
    from trigger_reviews order by trigger_id, version, id desc`,
  )
  return z.array(TriggerReviewRow).parse(rows)
}
