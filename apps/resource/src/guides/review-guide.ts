import { err, ok, type Result } from '@plainpath/domain'
import { KeptGuide } from '@plainpath/guides'
import type { Pool } from '@plainpath/postgres'
import { lockGuides, tellEverybody } from './publish-guides.ts'

/**
 * Records that a named attorney read the version of a guide that is served, today (UTC). A later version has no
 * review until it gets its own.
 *
 * @returns the version and the day
 */
export async function reviewGuide(
  pool: Pool,
  review: { slug: string; by: string },
  now: Date,
): Promise<Result<{ version: number; day: string }, 'not-published' | 'before-the-text'>> {
  const day = now.toISOString().slice(0, 10)
  return pool.transaction(async (tx) => {
    await lockGuides(tx)
    const { rows } = await tx.query(
      `select v.content from guides g join guide_versions v on v.slug = g.slug and v.version = g.version
      where g.slug = $1 and g.retired_at is null`,
      [review.slug],
    )
    const [row] = rows
    if (!row) return err('not-published')
    const { version, updated } = KeptGuide.parse(row['content'])
    if (day < updated) return err('before-the-text')
    await tx.query(
      'insert into guide_reviews (slug, version, reviewed_on, reviewed_by) values ($1, $2, $3, $4)',
      [review.slug, version, day, review.by],
    )
    await tellEverybody(tx)
    return ok({ version, day })
  })
}
