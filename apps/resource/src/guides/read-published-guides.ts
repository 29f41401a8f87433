import { isDeepStrictEqual } from 'node:util'
import { type PackagedGuide, StoredGuide, toDatedGuide } from '@plainpath/guides'
import type { Database } from '@plainpath/postgres'
import { z } from 'zod'
import { createGuideChange, type StoredGuides } from './guide-catalog.ts'

/** The NOTIFY channel for changes to published guides and to the operators' switches. */
export const GUIDES_CHANNEL = 'plainpath_guides'

/** Notifies every instance of a change when the transaction commits. */
export async function notifyGuidesChanged(tx: Database): Promise<void> {
  await tx.query('select pg_notify($1, $2)', [GUIDES_CHANNEL, ''])
}

/** The number of publications to list as changes. */
const MAX_CHANGES = 50

const PublishedVersionRow = z.object({
  slug: z.string(),
  version: z.int(),
  content: StoredGuide,
  publishedAt: z.date(),
  /** The version that was published before this one; 0 if none was. */
  previousVersion: z.int(),
  isServed: z.boolean(),
  successor: z.string().nullable(),
  reviewedOn: z.string().nullable(),
  reviewedBy: z.string().nullable(),
})

/** SQL that joins the latest review of each version `v` as `r`. */
const JOIN_LATEST_REVIEW = `left join lateral (
    select reviewed_on, reviewed_by from guide_reviews
    where slug = v.slug and version = v.version order by id desc limit 1
  ) r on true`

const SELECT_VERSIONS = `
  select v.slug, v.version, v.content, v.published_at as "publishedAt", v.version = g.version as "isServed",
    (select coalesce(max(version), 0) from guide_versions where slug = v.slug and version < v.version) as "previousVersion",
    g.successor, r.reviewed_on as "reviewedOn", r.reviewed_by as "reviewedBy"
  from guide_versions v
  join guides g on g.slug = v.slug
  ${JOIN_LATEST_REVIEW}`

/**
 * Reads the published guides, in one statement for a consistent view. For a version that was altered in the store, returns the
 * release's text.
 *
 * @returns undefined if nothing was ever published
 */
export async function readPublishedGuides(
  db: Database,
  findReleaseText: FindReleaseText,
): Promise<StoredGuides | undefined> {
  const { rows } = await db.query(
    `with newest as (select slug, version from guide_versions order by published_at desc, slug limit $1)
    ${SELECT_VERSIONS}
    where v.version = g.version or (v.slug, v.version) in (select slug, version from newest)
    order by v.published_at desc, v.slug`,
    [MAX_CHANGES],
  )
  const storedVersions = z.array(PublishedVersionRow).parse(rows)
  if (storedVersions.length === 0) return undefined
  const versions = storedVersions.map((row) => ({ ...row, content: findReleaseText(row) ?? row.content }))
  return {
    guides: versions.filter(({ isServed, successor }) => isServed && successor === null).map(addReview),
    successors: new Map(
      versions.flatMap(({ slug, isServed, successor }) =>
        isServed && successor !== null ? [[slug, successor] as const] : [],
      ),
    ),
    changes: versions
      .slice(0, MAX_CHANGES)
      .map(({ content, publishedAt, previousVersion }) =>
        createGuideChange(content, publishedAt, previousVersion),
      ),
    alteredSlugs: storedVersions.flatMap((row) => (row.isServed && findReleaseText(row) ? row.slug : [])),
  }
}

/** Reads any published version of a guide, unless the guide is retired. */
export async function readGuideVersion(
  db: Database,
  slug: string,
  version: number,
): Promise<PackagedGuide | undefined> {
  const { rows } = await db.query(
    `${SELECT_VERSIONS} where v.slug = $1 and v.version = $2 and g.successor is null`,
    [slug, version],
  )
  const [row] = z.array(PublishedVersionRow).parse(rows)
  return row && addReview(row)
}

/** Reads a value that changes with published guides, reviews and switches. Polling it costs less than reading the guides. */
export async function readGuidesFingerprint(db: Database): Promise<string> {
  const { rows } = await db.query<{ fingerprint: string | null }>(
    `select coalesce(md5(string_agg(concat_ws(' ', slug, version, successor), ',' order by slug)), '')
      || (select coalesce(max(id), 0) from guide_reviews)
      || (select coalesce(md5(string_agg(concat_ws(' ', kind, target), ',' order by kind, target)), '')
          from answer_switches) as fingerprint from guides`,
  )
  return rows[0]?.fingerprint ?? ''
}

const addReview = ({
  content,
  reviewedOn,
  reviewedBy,
}: z.infer<typeof PublishedVersionRow>): PackagedGuide =>
  reviewedOn === null ? content : { ...content, reviewed: reviewedOn, reviewedBy }

interface StoredVersion {
  readonly slug: string
  readonly version: number
  readonly content: PackagedGuide
}

/** Returns this release's text of a guide version if the stored text differs from it; otherwise undefined. */
type FindReleaseText = (stored: StoredVersion) => PackagedGuide | undefined

/**
 * Creates the function that compares stored texts with the release. Only the texts in the release's files were reviewed, so a
 * different text under the same version is not served. Versions of an earlier or later release are served as they are stored.
 */
export function createReleaseTextFinder(releaseGuides: readonly PackagedGuide[]): FindReleaseText {
  const guidesBySlug = new Map(releaseGuides.map((guide) => [guide.slug, guide]))
  return ({ slug, version, content }) => {
    const packagedGuide = guidesBySlug.get(slug)
    return packagedGuide?.version === version && !isDeepStrictEqual(packagedGuide, content)
      ? packagedGuide
      : undefined
  }
}

const ListedGuideRow = z.object({
  content: StoredGuide,
  successor: z.string().nullable(),
  reviewedOn: z.string().nullable(),
  reviewedBy: z.string().nullable(),
})

/** A guide as operators see it in a list. */
export interface ListedGuide {
  readonly slug: string
  readonly title: string
  readonly version: number
  /** The text follows its sources as of this day, `YYYY-MM-DD`. */
  readonly updated: string
  readonly stale: boolean
  /** The successor's slug; null unless the guide is retired. */
  readonly successor: string | null
  /** The day of the newest review of this version, `YYYY-MM-DD`; null without a review. */
  readonly reviewed: string | null
  readonly reviewedBy: string | null
}

/** Lists every guide that was ever published, by slug. */
export async function listGuides(db: Database, now: Date): Promise<ListedGuide[]> {
  const { rows } = await db.query(
    `select v.content, g.successor, r.reviewed_on as "reviewedOn", r.reviewed_by as "reviewedBy"
    from guides g
    join guide_versions v on v.slug = g.slug and v.version = g.version
    ${JOIN_LATEST_REVIEW}
    order by g.slug`,
  )
  return z
    .array(ListedGuideRow)
    .parse(rows)
    .map(({ content, successor, reviewedOn, reviewedBy }) => {
      const { slug, title, version, updated, reviewed, stale } = toDatedGuide(content, now)
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
