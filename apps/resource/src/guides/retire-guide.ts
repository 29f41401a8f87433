import { err, ok, type Result } from '@plainpath/domain'
import type { Pool } from '@plainpath/postgres'
import { lockGuides, tellEverybody } from './publish-guides.ts'

/**
 * Takes a guide out of service for good; who asks for it is sent to `successor`. So is who asks for a guide that it
 * succeeded.
 */
export async function retireGuide(
  pool: Pool,
  guide: { slug: string; successor: string },
  now: Date,
): Promise<Result<undefined, 'not-published' | 'already-retired' | 'successor-not-published'>> {
  const { slug, successor } = guide
  return pool.transaction(async (tx) => {
    await lockGuides(tx)
    const { rows } = await tx.query<{ slug: string; retired: boolean }>(
      'select slug, retired_at is not null as retired from guides where slug = any($1)',
      [[slug, successor]],
    )
    const state = (name: string) => rows.find((row) => row.slug === name)
    const known = state(slug)
    if (!known) return err('not-published')
    if (known.retired) return err('already-retired')
    if (successor === slug || state(successor)?.retired !== false) return err('successor-not-published')
    await tx.query('update guides set retired_at = $2, successor = $3 where slug = $1', [
      slug,
      now,
      successor,
    ])
    await tx.query('update guides set successor = $2 where successor = $1', [slug, successor])
    await tellEverybody(tx)
    return ok(undefined)
  })
}
