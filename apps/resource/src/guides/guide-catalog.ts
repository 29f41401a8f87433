import {
  type DatedGuide,
  freshnessPeriod,
  type GuideIndex,
  guideAsOf,
  guideIndex,
  type PackagedGuide,
} from '@plainpath/guides'

/** The published guides and the switches of operators, at one moment. */
export interface PublishedGuides extends StoredGuides {
  /** Undefined until the database was read. */
  readonly switches: AnswerSwitches | undefined
}

/** The parts of answers that operators turned off. */
export interface AnswerSwitches {
  readonly paused: boolean
  /** Ids of sections: `guide#anchor`; of an introduction, the slug alone. */
  readonly withdrawnSections: readonly string[]
  readonly disabledTriggers: readonly string[]
}

/** The guides as the store has them. */
export interface StoredGuides {
  /** The served version of each guide that is not retired, with its review. */
  readonly guides: readonly PackagedGuide[]
  /** The slugs of retired guides, each with the slug of its successor. */
  readonly retired: ReadonlyMap<string, string>
  /** The newest publications, newest first. */
  readonly changes: readonly GuideChange[]
  /** The slugs of guides whose text in the store differs from this release under the same version. */
  readonly altered: readonly string[]
}

/** The publication of one version of a guide. */
export interface GuideChange {
  readonly slug: string
  readonly version: number
  readonly title: string
  readonly summary: string
  /** Lines on what was corrected, added or removed since the version that was published before. */
  readonly history: readonly string[]
  readonly at: Date
}

/**
 * Describes the publication of a version.
 *
 * @param since the version that was published before it; 0 for none
 */
export function guideChange(guide: PackagedGuide, at: Date, since: number): GuideChange {
  const { slug, version, title, summary } = guide
  const history = guide.history.filter((line) => line.version > since).map(({ text }) => text)
  return { slug, version, title, summary, history, at }
}

/** Treats the guides of the release as published. Used if nothing was ever published, and until the database was first read. */
export function publishedFromRelease(packaged: readonly PackagedGuide[]): PublishedGuides {
  const guides = packaged.filter(({ status }) => status === 'published')
  const changes = guides
    .map((guide) => guideChange(guide, new Date(guide.updated), 0))
    .toSorted((a, b) => b.at.getTime() - a.at.getTime())
  return { guides, retired: new Map(), changes, altered: [], switches: undefined }
}

/** Creates an immutable catalog of the published guides, which is served from memory even if every store is unavailable. */
export function guideCatalog(published: PublishedGuides, now: () => Date) {
  const guides = published.guides.toSorted((a, b) => (a.slug < b.slug ? -1 : 1))
  const bySlug = new Map(guides.map((guide) => [guide.slug, guide]))
  let index: GuideIndex | undefined
  /** Returns the same object for a guide until another of its sources becomes stale. */
  const find = (slug: string): DatedGuide | undefined => {
    const guide = bySlug.get(slug)
    return guide && dateGuide(guide, now())
  }
  return {
    size: guides.length,
    /** By slug. */
    published: guides,
    /** Undefined until the database was read. */
    switches: published.switches,
    /** How many guides were altered in the store. They are served with the text of the release. */
    altered: published.altered.length,
    /** The newest publications, newest first. */
    changes: published.changes,
    find,
    /** Returns the slug of the successor of a retired guide. */
    findSuccessor: (slug: string): string | undefined => published.retired.get(slug),
    /** Lists guides by slug. `next` is the last listed slug if there are more. */
    list({ after, limit = guides.length }: { after?: string | undefined; limit?: number | undefined } = {}) {
      const rest = after === undefined ? guides : guides.filter(({ slug }) => slug > after)
      const page = rest.slice(0, limit).map((guide) => dateGuide(guide, now()))
      const last = page.at(-1)
      return { guides: page, next: last && rest.length > limit ? last.slug : undefined }
    },
    /** Searches guides, best match first, each with the best-matching part of its text as plain text. */
    search(text: string, limit: number): GuideMatch[] {
      index ??= guideIndex(guides)
      return index.search(text, limit).flatMap(({ slug, snippet, section }) => {
        const guide = find(slug)
        return guide ? [{ guide, snippet, section }] : []
      })
    },
    /** Words of the guides that are similar to those of a text that finds nothing. */
    nearWords(text: string, limit: number): readonly string[] {
      index ??= guideIndex(guides)
      return index.near(text, limit)
    },
  }
}

interface GuideMatch {
  readonly guide: DatedGuide
  readonly snippet: string
  /** The section of the snippet; undefined before the first heading. */
  readonly section: { readonly heading: string; readonly anchor: string } | undefined
}

export type GuideCatalog = ReturnType<typeof guideCatalog>

/** Has one object for each state of each guide, so that responses are prepared once for each state. */
const DATED = new WeakMap<
  PackagedGuide,
  { readonly as: DatedGuide; readonly after: number; readonly until: number }
>()

function dateGuide(guide: PackagedGuide, now: Date): DatedGuide {
  const cached = DATED.get(guide)
  const at = now.getTime()
  if (cached && cached.after < at && at <= cached.until) return cached.as
  const as = guideAsOf(guide, now)
  DATED.set(guide, { as, ...freshnessPeriod(guide.sources, now) })
  return as
}
