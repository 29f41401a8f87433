import { err, ok, type Result } from '@plainpath/domain'
import { loadGuides, type PackagedGuide, StoredGuide } from '@plainpath/guides'
import { type Database, openPool, type Pool } from '@plainpath/postgres'
import { z } from 'zod'
import { readAnswerSwitches } from './answer-switches.ts'
import {
  createPublishingPlan,
  isChange,
  isRefused,
  type PlannedGuide,
  type StoredState,
} from './publishing-plan.ts'
import { notifyGuidesChanged } from './read-published-guides.ts'

const StoredRow = z.object({ content: StoredGuide, isRetired: z.boolean() })

/** Compares the guides of a release with the store, and with what is withdrawn. Changes nothing. */
export async function planPublishing(
  db: Database,
  releaseGuides: readonly PackagedGuide[],
): Promise<readonly PlannedGuide[]> {
  const { withdrawnSections } = await readAnswerSwitches(db)
  return createPublishingPlan(releaseGuides, await readStoredGuides(db), withdrawnSections)
}

/**
 * Publishes the new guides and new versions of a release, all in one transaction. Earlier versions stay in the store. The commit
 * notifies all API processes.
 *
 * @returns the step for each guide; or, as an error, the refused guides
 */
export async function publishGuides(
  pool: Pool,
  releaseGuides: readonly PackagedGuide[],
  now: Date,
): Promise<Result<readonly PlannedGuide[], readonly PlannedGuide[]>> {
  return pool.transaction(async (tx) => {
    await lockGuides(tx)
    const plan = await planPublishing(tx, releaseGuides)
    const refusedGuides = plan.filter(isRefused)
    if (refusedGuides.length > 0) return err(refusedGuides)
    const slugsToPublish = new Set(plan.filter(isChange).map(({ slug }) => slug))
    await insertVersions(
      tx,
      releaseGuides.filter(({ slug }) => slugsToPublish.has(slug)),
      now,
    )
    if (slugsToPublish.size > 0) await notifyGuidesChanged(tx)
    return ok(plan)
  })
}

/**
 * Publishes the guides of this release if none was ever published. Unlike `guides publish`, does not check the guides for
 * mistakes.
 *
 * @returns the number of published guides
 * @throws if a guide is refused, because a section was withdrawn that the guide does not have in this release
 */
export async function publishFirstGuides(databaseUrl: string, now: Date): Promise<number> {
  await using pool = openPool(databaseUrl, { max: 1, applicationName: 'plainpath first guides' })
  const { rowCount } = await pool.query('select from guides limit 1')
  if (rowCount > 0) return 0
  const publication = await publishGuides(pool, loadGuides(), now)
  if (publication.ok) return publication.value.filter(isChange).length
  const slugs = publication.error.map(({ slug }) => slug).join(', ')
  throw new Error(`The guides of this release cannot be published: ${slugs}. To see why, run "guides diff".`)
}

/**
 * Retires a guide permanently. Requests for it, and for guides whose successor it was, are referred to `successor`.
 *
 * @param guide.dryRun if true, only checks whether the guide can be retired
 */
export async function retireGuide(
  pool: Pool,
  guide: { slug: string; successor: string; dryRun?: boolean },
  now: Date,
): Promise<Result<undefined, 'not-published' | 'already-retired' | 'successor-not-published'>> {
  const { slug, successor, dryRun = false } = guide
  return pool.transaction(async (tx) => {
    await lockGuides(tx)
    const { rows } = await tx.query<{ slug: string; isRetired: boolean }>(
      'select slug, retired_at is not null as "isRetired" from guides where slug = any($1)',
      [[slug, successor]],
    )
    const guideRow = rows.find((row) => row.slug === slug)
    const successorRow = rows.find((row) => row.slug === successor)
    if (!guideRow) return err('not-published')
    if (guideRow.isRetired) return err('already-retired')
    if (successor === slug || !successorRow || successorRow.isRetired) return err('successor-not-published')
    if (dryRun) return ok(undefined)
    await tx.query('update guides set retired_at = $2, successor = $3 where slug = $1', [
      slug,
      now,
      successor,
    ])
    await tx.query('update guides set successor = $2 where successor = $1', [slug, successor])
    await notifyGuidesChanged(tx)
    return ok(undefined)
  })
}

/**
 * Records that a named attorney read a version of a guide today (UTC). Each version needs its own review.
 *
 * @param review.version by default the served version
 * @returns the version and the day; or the error `version-dated-in-future` if the version is dated after today
 */
export async function reviewGuide(
  pool: Pool,
  review: { slug: string; by: string; version?: number | undefined },
  now: Date,
): Promise<
  Result<{ version: number; day: string }, 'not-published' | 'no-such-version' | 'version-dated-in-future'>
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
    const { version, updated } = StoredGuide.parse(row['content'])
    if (day < updated) return err('version-dated-in-future')
    await tx.query(
      'insert into guide_reviews (slug, version, reviewed_on, reviewed_by) values ($1, $2, $3, $4)',
      [review.slug, version, day, review.by],
    )
    await notifyGuidesChanged(tx)
    return ok({ version, day })
  })
}

/**
 * Locks the guides, so that only one transaction at a time can change them or withdraw a section of them. Readers do not
 * wait.
 */
export async function lockGuides(tx: Database): Promise<void> {
  await tx.query('lock table guides in share row exclusive mode')
}

async function readStoredGuides(db: Database): Promise<ReadonlyMap<string, StoredState>> {
  const { rows } = await db.query(
    `select v.content, g.retired_at is not null as "isRetired"
    from guides g join guide_versions v on v.slug = g.slug and v.version = g.version`,
  )
  return new Map(
    z
      .array(StoredRow)
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
