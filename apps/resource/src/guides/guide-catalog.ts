import {
  createGuideIndex,
  type DatedGuide,
  findFreshnessPeriod,
  type GuideIndex,
  type PackagedGuide,
  toDatedGuide,
} from '@plainpath/guides'

/** The published guides and the operators' switches at one moment. */
export interface PublishedGuides extends StoredGuides {
  /** Undefined until the database has been read. */
  readonly switches: AnswerSwitches | undefined
}

/** The parts of answers that operators turned off. */
export interface AnswerSwitches {
  readonly paused: boolean
  /** Section ids: `guide#anchor`, or the slug alone for an introduction. */
  readonly withdrawnSections: readonly string[]
  readonly disabledTriggers: readonly string[]
}

/** The published guides, the successors of retired guides, and the latest publications. */
export interface StoredGuides {
  /** The served version of each guide, with its review. Retired guides are left out. */
  readonly guides: readonly PackagedGuide[]
  /** The slugs of retired guides, each with the slug of its successor. */
  readonly successors: ReadonlyMap<string, string>
  /** The latest publications, newest first. */
  readonly changes: readonly GuideChange[]
  /** The slugs of guides whose stored text differs from this release's text of the same version. */
  readonly alteredSlugs: readonly string[]
}

/** The publication of one version of a guide. */
export interface GuideChange {
  readonly slug: string
  readonly version: number
  readonly title: string
  readonly summary: string
  /** The corrections, additions and removals since the previous published version. */
  readonly history: readonly string[]
  readonly publishedAt: Date
}

/**
 * Describes the publication of a version.
 *
 * @param previousVersion the version that was published before this one; 0 if none was
 */
export function createGuideChange(
  guide: PackagedGuide,
  publishedAt: Date,
  previousVersion: number,
): GuideChange {
  const { slug, version, title, summary } = guide
  const history = guide.history.filter((line) => line.version > previousVersion).map(({ text }) => text)
  return { slug, version, title, summary, history, publishedAt }
}

/**
 * Treats the release's guides as published, except drafts. Used until the database is read, and if nothing was ever published.
 */
export function treatReleaseAsPublished(releaseGuides: readonly PackagedGuide[]): PublishedGuides {
  const guides = releaseGuides.filter(({ status }) => status === 'published')
  const changes = guides
    .map((guide) => createGuideChange(guide, new Date(guide.updated), 0))
    .toSorted((a, b) => b.publishedAt.getTime() - a.publishedAt.getTime())
  return { guides, successors: new Map(), changes, alteredSlugs: [], switches: undefined }
}

/** An immutable catalog of the published guides. It is served from memory, even if every store is unavailable. */
export interface GuideCatalog {
  readonly size: number
  /** The published guides, sorted by slug. */
  readonly guides: readonly PackagedGuide[]
  /** The operators' switches; undefined until the database has been read. */
  readonly switches: AnswerSwitches | undefined
  /** The number of guides that were altered in the store. The release's text is served for them. */
  readonly alteredCount: number
  /** The latest publications, newest first. */
  readonly changes: readonly GuideChange[]
  /** Finds a guide. Returns the same object until another of its sources becomes stale. */
  find(slug: string): DatedGuide | undefined
  /** Returns the slug of a retired guide's successor. */
  findSuccessor(slug: string): string | undefined
  /** Lists guides by slug. If more guides follow, `next` is the last listed slug. */
  list(page?: { after?: string | undefined; limit?: number | undefined }): {
    guides: DatedGuide[]
    next: string | undefined
  }
  /** Searches guides, best match first. Each match has the best-matching part of the guide as plain text. */
  search(text: string, limit: number): GuideMatch[]
  /** For a search without results, suggests words of the guides that resemble the words of `text`. */
  suggestWords(text: string, limit: number): readonly string[]
}

/** Creates a catalog. Each call of its methods determines anew which statements are stale. */
export function createGuideCatalog(published: PublishedGuides, now: () => Date): GuideCatalog {
  const guides = published.guides.toSorted((a, b) => (a.slug < b.slug ? -1 : 1))
  const guidesBySlug = new Map(guides.map((guide) => [guide.slug, guide]))
  let index: GuideIndex | undefined
  const find = (slug: string): DatedGuide | undefined => {
    const guide = guidesBySlug.get(slug)
    return guide && dateGuide(guide, now())
  }
  return {
    size: guides.length,
    guides,
    switches: published.switches,
    alteredCount: published.alteredSlugs.length,
    changes: published.changes,
    find,
    findSuccessor: (slug) => published.successors.get(slug),
    list({ after, limit = guides.length } = {}) {
      const remainingGuides = after === undefined ? guides : guides.filter(({ slug }) => slug > after)
      const page = remainingGuides.slice(0, limit).map((guide) => dateGuide(guide, now()))
      const lastGuide = page.at(-1)
      return { guides: page, next: lastGuide && remainingGuides.length > limit ? lastGuide.slug : undefined }
    },
    search(text, limit) {
      index ??= createGuideIndex(guides)
      return index.search(text, limit).flatMap(({ slug, snippet, section }) => {
        const guide = find(slug)
        return guide ? [{ guide, snippet, section }] : []
      })
    },
    suggestWords(text, limit) {
      index ??= createGuideIndex(guides)
      return index.suggestWords(text, limit)
    },
  }
}

interface GuideMatch {
  readonly guide: DatedGuide
  /** The best-matching part of the guide, as plain text. */
  readonly snippet: string
  /** The section of the snippet; undefined before the first heading. */
  readonly section: { readonly heading: string; readonly anchor: string } | undefined
}

/**
 * Caches one object per guide and freshness state, because responses are prepared once per object. The state does not change
 * from `after` (exclusive) to `until` (inclusive), in milliseconds since 1970.
 */
const datedGuideCache = new WeakMap<
  PackagedGuide,
  { readonly datedGuide: DatedGuide; readonly after: number; readonly until: number }
>()

function dateGuide(guide: PackagedGuide, now: Date): DatedGuide {
  const cached = datedGuideCache.get(guide)
  const time = now.getTime()
  if (cached && cached.after < time && time <= cached.until) return cached.datedGuide
  const datedGuide = toDatedGuide(guide, now)
  datedGuideCache.set(guide, { datedGuide, ...findFreshnessPeriod(guide.sources, now) })
  return datedGuide
}
