import {
  type DatedGuide,
  freshnessPeriod,
  type GuideIndex,
  guideAsOf,
  guideIndex,
  type PackagedGuide,
} from '@plainpath/guides'

/** All that is published at one moment. */
export interface PublishedGuides extends GuidesOfStore {
  /** What operators turned off; undefined until the database was read. */
  readonly switches: AnswerSwitches | undefined
}

/** What operators turned off. */
export interface AnswerSwitches {
  readonly paused: boolean
  /** Ids of sections: `guide#anchor`; of an introduction, the slug alone. */
  readonly withdrawnSections: readonly string[]
  readonly disabledTriggers: readonly string[]
}

/** The guides as they were published. */
export interface GuidesOfStore {
  /** The version that is served of each guide that is not retired, with its review. */
  readonly guides: readonly PackagedGuide[]
  /** The slugs of retired guides, and what to read instead. */
  readonly retired: ReadonlyMap<string, string>
  /** The newest publications, newest first. */
  readonly changes: readonly GuideChange[]
  /** The slugs of those whose text in the store is not that of this release under the same version. */
  readonly altered: readonly string[]
}

/** One version of one guide was published. */
export interface GuideChange {
  readonly slug: string
  readonly version: number
  readonly title: string
  readonly summary: string
  /** What was corrected, added or removed since the version before it that was published. */
  readonly history: readonly string[]
  readonly at: Date
}

/**
 * A version of a guide as a change that was published at a moment.
 *
 * @param since the version that was published before it; 0 for none
 */
export function guideChange(guide: PackagedGuide, at: Date, since: number): GuideChange {
  const { slug, version, title, summary } = guide
  const history = guide.history.filter((line) => line.version > since).map(({ text }) => text)
  return { slug, version, title, summary, history, at }
}

/** The guides of a release, for as long as nothing was published or the database did not answer since the start. */
export function asPublished(packaged: readonly PackagedGuide[]): PublishedGuides {
  const guides = packaged.filter(({ status }) => status === 'published')
  const changes = guides
    .map((guide) => guideChange(guide, new Date(guide.updated), 0))
    .toSorted((a, b) => b.at.getTime() - a.at.getTime())
  return { guides, retired: new Map(), changes, altered: [], switches: undefined }
}

/** What is published at one moment, in memory: it is answered whatever else is down, and never changes. */
export function guideCatalog(published: PublishedGuides, now: () => Date) {
  const guides = published.guides.toSorted((a, b) => (a.slug < b.slug ? -1 : 1))
  const bySlug = new Map(guides.map((guide) => [guide.slug, guide]))
  let index: GuideIndex | undefined
  /** The same guide is the same object in every answer, until another of its sources becomes stale. */
  const find = (slug: string): DatedGuide | undefined => {
    const guide = bySlug.get(slug)
    return guide && dated(guide, now())
  }
  return {
    size: guides.length,
    /** By slug. */
    published: guides,
    /** What operators turned off; undefined until the database was read. */
    switches: published.switches,
    /** How many were altered in the store, and are served as the release has them. */
    altered: published.altered.length,
    /** The newest publications, newest first. */
    changes: published.changes,
    find,
    /** The slug of what to read instead of a retired guide. */
    successorOf: (slug: string): string | undefined => published.retired.get(slug),
    /** By slug, with the slug to go on after, if there are more. */
    list({ after, limit = guides.length }: { after?: string | undefined; limit?: number | undefined } = {}) {
      const rest = after === undefined ? guides : guides.filter(({ slug }) => slug > after)
      const shown = rest.slice(0, limit).map((guide) => dated(guide, now()))
      const last = shown.at(-1)
      return { guides: shown, next: last && rest.length > limit ? last.slug : undefined }
    },
    /** Best first, each with the part of its text that answers best, as plain text. */
    search(text: string, limit: number): GuideMatch[] {
      index ??= guideIndex(guides)
      return index.search(text, limit).flatMap(({ slug, snippet, section }) => {
        const guide = find(slug)
        return guide ? [{ guide, snippet, section }] : []
      })
    },
  }
}

interface GuideMatch {
  readonly guide: DatedGuide
  readonly snippet: string
  /** The section that the snippet is of; none if it stands before the first heading. */
  readonly section: { readonly heading: string; readonly anchor: string } | undefined
}

export type GuideCatalog = ReturnType<typeof guideCatalog>

/** The one object for each state of each guide, so that what is prepared from it is prepared once. */
const DATED = new WeakMap<
  PackagedGuide,
  { readonly as: DatedGuide; readonly after: number; readonly until: number }
>()

function dated(guide: PackagedGuide, now: Date): DatedGuide {
  const known = DATED.get(guide)
  const at = now.getTime()
  if (known && known.after < at && at <= known.until) return known.as
  const as = guideAsOf(guide, now)
  DATED.set(guide, { as, ...freshnessPeriod(guide.sources, now) })
  return as
}
