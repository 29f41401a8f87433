import { Guide, GuideHistoryLine, GuideSource, type SourceKind } from '@plainpath/domain'
import { z } from 'zod'
import { isStale, LIMIT_DAYS, listStaleStatements } from './freshness.ts'
import { findUncheckedContacts, listStatements } from './statements.ts'

/** A source with the id that paragraphs cite, such as `[^uscis-n400]`. */
const PackagedSource = z.strictObject({
  id: z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be lower-case words joined by hyphens'),
  ...GuideSource.pick({ title: true, url: true, agency: true, kind: true, checked: true, checkedBy: true })
    .shape,
})

const { slug, title, summary, updated, reviewed, version, language, talkToAnAttorneyWhen } = Guide.shape

/** The YAML at the beginning of a guide file. */
export const FrontMatter = z
  .strictObject({
    slug,
    title,
    summary,
    audience: z.string().min(1).max(300),
    language,
    status: z.enum(['draft', 'published']),
    version,
    updated,
    reviewed,
    /** The attorney who reviewed this version. Set together with `reviewed`. */
    reviewedBy: z.string().min(1).nullable().default(null),
    talkToAnAttorneyWhen,
    sources: z.array(PackagedSource).min(1),
    /** Newest first. */
    history: z.array(z.strictObject(GuideHistoryLine.shape)).default([]),
  })
  .refine((front) => (front.reviewed === null) === (front.reviewedBy === null), {
    path: ['reviewed'],
    message: 'a review needs both its day and the name of who made it',
  })
  .superRefine(({ sources }, context) => {
    for (const [index, { id }] of sources.entries()) {
      if (sources.findIndex((source) => source.id === id) === index) continue
      context.addIssue({ code: 'custom', path: ['sources', index, 'id'], message: `repeats "${id}"` })
    }
  })

/** A published guide as stored: front matter, body, and the disclaimer at the time of publication. */
export const StoredGuide = z.preprocess(
  convertEarlierGuide,
  FrontMatter.safeExtend({ body: z.string().min(1), disclaimer: z.string().min(1) }),
)

/**
 * Converts a guide that release 0.1.0 published. Such a guide has one age limit for all sources, `maxAgeDays`, which is dropped.
 * Its sources have no kind, so the kind is derived from the host: statute, regulation, or else agency page.
 */
function convertEarlierGuide(stored: unknown): unknown {
  const { success, data } = EarlierGuide.safeParse(stored)
  if (!success) return stored
  const { maxAgeDays: _, ...guide } = data
  return { ...guide, sources: data.sources.map((source) => ({ kind: classifyHost(source.url), ...source })) }
}

const EarlierGuide = z.looseObject({
  maxAgeDays: z.int(),
  sources: z.array(z.looseObject({ url: z.url() })),
})

const LAW_HOST_KINDS: Readonly<Record<string, SourceKind>> = {
  'uscode.house.gov': 'statute',
  'www.ecfr.gov': 'regulation',
}

const classifyHost = (url: string): SourceKind => LAW_HOST_KINDS[new URL(url).host] ?? 'agency-page'

/**
 * A guide as its file states it. `toDatedGuide` adds the members that depend on the current day. `numberSources` replaces the
 * source markers (`[^id]`) with numbers.
 */
export type PackagedGuide = Readonly<z.infer<typeof StoredGuide>>

type PackagedSource = PackagedGuide['sources'][number]
type DatedSource = PackagedSource & Pick<GuideSource, 'limitDays' | 'stale'>

export type DatedGuide = Omit<PackagedGuide, 'sources'> &
  Readonly<Pick<Guide, 'stale' | 'statements' | 'staleStatements' | 'notChecked'>> & {
    readonly sources: readonly DatedSource[]
  }

/** Adds the freshness of the guide's sources and statements at `now`. */
export function toDatedGuide(guide: PackagedGuide, now: Date): DatedGuide {
  const staleCount = listStaleStatements(guide, now).length
  return {
    ...guide,
    sources: guide.sources.map((source) => ({
      ...source,
      limitDays: LIMIT_DAYS[source.kind],
      stale: isStale(source, now),
    })),
    stale: staleCount > 0,
    statements: listStatements(guide.body).length,
    staleStatements: staleCount,
    notChecked: [...findUncheckedContacts(guide.body)],
  }
}
