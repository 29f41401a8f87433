import { guideAsOf, KeptGuide } from '@plainpath/guides'
import type { Database } from '@plainpath/postgres'
import { z } from 'zod'
import { LATEST_REVIEW } from './read-published-guides.ts'

const Row = z.object({
  content: KeptGuide,
  successor: z.string().nullable(),
  reviewedOn: z.string().nullable(),
  reviewedBy: z.string().nullable(),
})

/** Every guide that was ever published, by slug, for who runs the service. */
export async function listGuides(db: Database, now: Date) {
  const { rows } = await db.query(
    `select v.content, g.successor, r.reviewed_on as "reviewedOn", r.reviewed_by as "reviewedBy"
    from guides g
    join guide_versions v on v.slug = g.slug and v.version = g.version
    ${LATEST_REVIEW}
    order by g.slug`,
  )
  return z
    .array(Row)
    .parse(rows)
    .map(({ content, successor, reviewedOn, reviewedBy }) => {
      const { slug, title, version, updated, reviewed, stale } = guideAsOf(content, now)
      return {
        ...{ slug, title, version, updated, stale, successor },
        reviewed: reviewedOn ?? reviewed,
        reviewedBy: reviewedBy ?? content.reviewedBy,
      }
    })
}
