import { err, ok, type Result } from '@plainpath/domain'
import { KeptGuide, loadGuides, type PackagedGuide } from '@plainpath/guides'
import { type Database, openPool, type Pool } from '@plainpath/postgres'
import { z } from 'zod'
import { type KeptState, type PlannedGuide, publishingPlan } from './publishing-plan.ts'
import { announceChange } from './read-published-guides.ts'

const KeptRow = z.object({ content: KeptGuide, retired: z.boolean() })

/** What publishing these files would do now. */
export async function planPublishing(
  db: Database,
  packaged: readonly PackagedGuide[],
): Promise<readonly PlannedGuide[]> {
  return publishingPlan(packaged, await keptGuides(db))
}

/**
 * Publishes every guide whose file differs from what is served: all of them in one transaction, or none. Every
 * earlier version is kept. All API processes are told when it is done.
 *
 * @returns what was done to each guide; or, when nothing was, those whose content changed under a published version
 */
export async function publishGuides(
  pool: Pool,
  packaged: readonly PackagedGuide[],
  now: Date,
): Promise<Result<readonly PlannedGuide[], readonly PlannedGuide[]>> {
  return pool.transaction(async (tx) => {
    await lockGuides(tx)
    const plan = await planPublishing(tx, packaged)
    const refused = plan.filter(({ step }) => step === 'version-not-raised')
    if (refused.length > 0) return err(refused)
    const due = new Set(plan.flatMap(({ slug, step }) => (step === 'add' || step === 'change' ? slug : [])))
    await insertVersions(
      tx,
      packaged.filter(({ slug }) => due.has(slug)),
      now,
    )
    if (due.size > 0) await announceChange(tx)
    return ok(plan)
  })
}

/**
 * Publishes the guides of this release if none was ever published.
 *
 * @returns how many were published now
 */
export async function publishFirstGuides(databaseUrl: string, now: Date): Promise<number> {
  await using pool = openPool(databaseUrl, { max: 1, applicationName: 'plainpath first guides' })
  const { rowCount } = await pool.query('select from guides limit 1')
  if (rowCount > 0) return 0
  const published = await publishGuides(pool, loadGuides(), now)
  return published.ok ? published.value.filter(({ step }) => step === 'add').length : 0
}

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
    await announceChange(tx)
    return ok(undefined)
  })
}

/**
 * Records that a named attorney read a version of a guide, the served one unless named, today (UTC). Each version needs a
 * review of its own.
 *
 * @returns the version and the day
 */
export async function reviewGuide(
  pool: Pool,
  review: { slug: string; by: string; version?: number | undefined },
  now: Date,
): Promise<
  Result<{ version: number; day: string }, 'not-published' | 'no-such-version' | 'before-the-text'>
> {
  const day = now.toISOString().slice(0, 10)
  return pool.transaction(async (tx) => {
    await lockGuides(tx)
    const { rows } = await tx.query(
      `select v.content from guides g left join guide_versions v on v.slug = g.slug and v.version = coalesce($2, g.version)
      where g.slug = $1 and g.retired_at is null`,
      [review.slug, review.version ?? null],
    )
    const [row] = rows
    if (!row) return err('not-published')
    if (row['content'] === null) return err('no-such-version')
    const { version, updated } = KeptGuide.parse(row['content'])
    if (day < updated) return err('before-the-text')
    await tx.query(
      'insert into guide_reviews (slug, version, reviewed_on, reviewed_by) values ($1, $2, $3, $4)',
      [review.slug, version, day, review.by],
    )
    await announceChange(tx)
    return ok({ version, day })
  })
}

/** One at a time may change what is published; readers do not wait. */
async function lockGuides(tx: Database): Promise<void> {
  await tx.query('lock table guides in share row exclusive mode')
}

async function keptGuides(db: Database): Promise<ReadonlyMap<string, KeptState>> {
  const { rows } = await db.query(
    `select v.content, g.retired_at is not null as retired
    from guides g join guide_versions v on v.slug = g.slug and v.version = g.version`,
  )
  return new Map(
    z
      .array(KeptRow)
      .parse(rows)
      .map((row) => [row.content.slug, row]),
  )
}

async function insertVersions(tx: Database, guides: readonly PackagedGuide[], now: Date): Promise<void> {
  for (const guide of guides) {
    const { slug, version } = guide
    await tx.query(
      'insert into guide_versions (slug, version, content, published_at) values ($1, $2, $3, $4)',
      [slug, version, JSON.stringify(guide), now],
    )
    await tx.query(
      'insert into guides (slug, version) values ($1, $2) on conflict (slug) do update set version = excluded.version',
      [slug, version],
    )
  }
}
