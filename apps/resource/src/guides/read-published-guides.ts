import { isDeepStrictEqual } from 'node:util'
import { guideAsOf, type PackagedGuide, StoredGuide } from '@plainpath/guides'
import type { Database } from '@plainpath/postgres'
import { z } from 'zod'
import { guideChange, type StoredGuides } from './guide-catalog.ts'

/** The PostgreSQL channel for changes to published guides and switches. */
export const GUIDES_CHANNEL = 'plainpath_guides'

/** Notifies every instance of a change, when and if the transaction commits. */
export async function notifyGuidesChanged(tx: Database): Promise<void> {
  await tx.query('select pg_notify($1, $2)', [GUIDES_CHANNEL, ''])
}

const NEWEST_CHANGES = 50

const Row = z.object({
  slug: z.string(),
  version: z.int(),
  content: StoredGuide,
  publishedAt: z.date(),
  before: z.int(),
  served: z.boolean(),
  successor: z.string().nullable(),
  reviewedOn: z.string().nullable(),
  reviewedBy: z.string().nullable(),
})

/** Joins to each version `v` its latest review, as `r`. */
const LATEST_REVIEW = `left join lateral (
    select reviewed_on, reviewed_by from guide_reviews
    where slug = v.slug and version = v.version order by id desc limit 1
  ) r on true`

const ROWS = `
  select v.slug, v.version, v.content, v.published_at as "publishedAt", v.version = g.version as served,
    (select coalesce(max(version), 0) from guide_versions where slug = v.slug and version < v.version) as before,
    g.successor, r.reviewed_on as "reviewedOn", r.reviewed_by as "reviewedBy"
  from guide_versions v
  join guides g on g.slug = v.slug
  ${LATEST_REVIEW}`

/**
 * Reads the published guides in one statement, so that no reader sees half of a change. For a version that was altered in the store
 * it returns the text of the release.
 *
 * @returns undefined if nothing was ever published
 */
export async function readPublishedGuides(
  db: Database,
  textOfRelease: ReleaseText,
): Promise<StoredGuides | undefined> {
  const { rows } = await db.query(
    `with newest as (select slug, version from guide_versions order by published_at desc, slug limit $1)
    ${ROWS}
    where v.version = g.version or (v.slug, v.version) in (select slug, version from newest)
    order by v.published_at desc, v.slug`,
    [NEWEST_CHANGES],
  )
  const kept = z.array(Row).parse(rows)
  if (kept.length === 0) return undefined
  const versions = kept.map((row) => ({ ...row, content: textOfRelease(row) ?? row.content }))
  return {
    guides: versions.filter(({ served, successor }) => served && successor === null).map(withReview),
    retired: new Map(
      versions.flatMap(({ slug, served, successor }) =>
        served && successor !== null ? [[slug, successor] as const] : [],
      ),
    ),
    changes: versions
      .slice(0, NEWEST_CHANGES)
      .map(({ content, publishedAt, before }) => guideChange(content, publishedAt, before)),
    altered: kept.flatMap((row) => (row.served && textOfRelease(row) ? row.slug : [])),
  }
}

/** Reads a version of a guide that is not retired, even if the version is no longer served. */
export async function readGuideVersion(
  db: Database,
  slug: string,
  version: number,
): Promise<PackagedGuide | undefined> {
  const { rows } = await db.query(`${ROWS} where v.slug = $1 and v.version = $2 and g.successor is null`, [
    slug,
    version,
  ])
  const [row] = z.array(Row).parse(rows)
  return row && withReview(row)
}

/** Reads a mark that changes with every change to published guides and switches. It costs less than reading them. */
export async function readGuidesMark(db: Database): Promise<string> {
  const { rows } = await db.query<{ mark: string | null }>(
    `select coalesce(md5(string_agg(concat_ws(' ', slug, version, successor), ',' order by slug)), '')
      || (select coalesce(max(id), 0) from guide_reviews)
      || (select coalesce(md5(string_agg(concat_ws(' ', kind, target), ',' order by kind, target)), '')
          from answer_switches) as mark from guides`,
  )
  return rows[0]?.mark ?? ''
}

const withReview = ({ content, reviewedOn, reviewedBy }: z.infer<typeof Row>): PackagedGuide =>
  reviewedOn === null ? content : { ...content, reviewed: reviewedOn, reviewedBy }

interface StoredVersion {
  readonly slug: string
  readonly version: number
  readonly content: PackagedGuide
}

/** Returns the text of the release if the store has another text under the same version. */
type ReleaseText = (kept: StoredVersion) => PackagedGuide | undefined

/**
 * Creates the check of stored texts against the release. Only the files of the release were reviewed, so another text under one of
 * their versions is not served. Versions that only the store has, from an earlier or a later release, are served as they are.
 */
export function releaseText(packaged: readonly PackagedGuide[]): ReleaseText {
  const bySlug = new Map(packaged.map((guide) => [guide.slug, guide]))
  return ({ slug, version, content }) => {
    const own = bySlug.get(slug)
    return own?.version === version && !isDeepStrictEqual(own, content) ? own : undefined
  }
}

const ListedRow = z.object({
  content: StoredGuide,
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
    .array(ListedRow)
    .parse(rows)
    .map(({ content, successor, reviewedOn, reviewedBy }) => {
      const { slug, title, version, updated, reviewed, stale } = guideAsOf(content, now)
      return {
        slug,
        title,
        version,
        updated,
        stale,
        successor,
        reviewed: reviewedOn ?? reviewed,
        reviewedBy: reviewedBy ?? content.reviewedBy,
      }
    })
}
