import { Guide, GuideHistoryLine, GuideSource, type SourceKind } from '@plainpath/domain'
import { z } from 'zod'
import { isStale, LIMIT_DAYS, staleStatements } from './freshness.ts'
import { statementsOf, uncheckedContacts } from './statements.ts'

/** A source with the short name by which paragraphs point at it: `[^uscis-n400]`. */
const PackagedSource = z.strictObject({
  id: z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be lower-case words joined by hyphens'),
  ...GuideSource.pick({ title: true, url: true, agency: true, kind: true, checked: true, checkedBy: true })
    .shape,
})

const { slug, title, summary, updated, reviewed, version, language, talkToAnAttorneyWhen } = Guide.shape

/** The YAML at the head of a guide's file. */
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
    /** The attorney who read this version; goes with `reviewed`. */
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

/** A guide as it is kept once it was published: the file's front matter, its body and the disclaimer of that day. */
export const KeptGuide = z.preprocess(
  fromEarlierRelease,
  FrontMatter.safeExtend({ body: z.string().min(1), disclaimer: z.string().min(1) }),
)

/**
 * Guides that release 0.1.0 published have one limit of age for all sources, `maxAgeDays`, and no kinds. The limit goes; the
 * host of a source says whether it is law, and whatever else it is counts as a page of an agency.
 */
function fromEarlierRelease(kept: unknown): unknown {
  const { success, data } = EarlierGuide.safeParse(kept)
  if (!success) return kept
  const { maxAgeDays: _, ...guide } = data
  return { ...guide, sources: data.sources.map((source) => ({ kind: kindByHost(source.url), ...source })) }
}

const EarlierGuide = z.looseObject({
  maxAgeDays: z.int(),
  sources: z.array(z.looseObject({ url: z.url() })),
})

const LAW: Readonly<Record<string, SourceKind>> = {
  'uscode.house.gov': 'statute',
  'www.ecfr.gov': 'regulation',
}

const kindByHost = (url: string): SourceKind => LAW[new URL(url).host] ?? 'agency-page'

/**
 * A guide as its file tells it: no clock has judged yet what is stale (`guideAsOf` does).
 * The body's paragraphs end in markers `[^id]`; `withNumberedSources` turns them into numbers.
 */
export type PackagedGuide = Readonly<z.infer<typeof KeptGuide>>

type PackagedSource = PackagedGuide['sources'][number]
type DatedSource = PackagedSource & Pick<GuideSource, 'limitDays' | 'stale'>

export type DatedGuide = Omit<PackagedGuide, 'sources'> &
  Readonly<Pick<Guide, 'stale' | 'statements' | 'staleStatements' | 'notChecked'>> & {
    readonly sources: readonly DatedSource[]
  }

/** The guide as it is to be served at `now`, with what is stale then. */
export function guideAsOf(guide: PackagedGuide, now: Date): DatedGuide {
  const stale = staleStatements(guide, now).length
  return {
    ...guide,
    sources: guide.sources.map((source) => ({
      ...source,
      limitDays: LIMIT_DAYS[source.kind],
      stale: isStale(source, now),
    })),
    stale: stale > 0,
    statements: statementsOf(guide.body).length,
    staleStatements: stale,
    notChecked: [...uncheckedContacts(guide.body)],
  }
}
