import { err, ok, type Result } from '@plainpath/domain'
import { KeptGuide, type PackagedGuide } from '@plainpath/guides'
import type { Database, Pool } from '@plainpath/postgres'
import { z } from 'zod'
import { type KeptState, type PlannedGuide, publishingPlan } from './publishing-plan.ts'
import { GUIDES_CHANNEL } from './read-published-guides.ts'

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
    if (due.size > 0) await tellEverybody(tx)
    return ok(plan)
  })
}

/** One at a time may change what is published; readers do not wait. */
export async function lockGuides(tx: Database): Promise<void> {
  await tx.query('lock table guides in share row exclusive mode')
}

/** Heard when the transaction is kept, and only then. */
export async function tellEverybody(tx: Database): Promise<void> {
  await tx.query('select pg_notify($1, $2)', [GUIDES_CHANNEL, ''])
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
      [...[slug, version, JSON.stringify(guide), now]],
    )
    await tx.query(
      'insert into guides (slug, version) values ($1, $2) on conflict (slug) do update set version = excluded.version',
      [slug, version],
    )
  }
}
