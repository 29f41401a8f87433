import {
  type DatedGuide,
  freshUntil,
  type GuideIndex,
  guideAsOf,
  guideIndex,
  type PackagedGuide,
} from '@plainpath/guides'
import type { GuideChange, PublishedGuides } from './published-guides.ts'

interface GuidePage {
  readonly guides: readonly DatedGuide[]
  /** The slug to go on after, if there are more. */
  readonly next?: string
}

interface FoundGuide {
  readonly guide: DatedGuide
  /** The part of the text that answers best, as plain text. */
  readonly snippet: string
}

/** What is published at one moment, in memory: it is answered whatever else is down, and never changes. */
export interface GuideCatalog {
  readonly size: number
  /** How many were altered in the store, and are served as the release has them. */
  readonly altered: number
  /** The newest publications, newest first. */
  readonly changes: readonly GuideChange[]
  /** By slug. The same guide is the same object in every answer, until it is stale. */
  list(page?: { after?: string | undefined; limit?: number | undefined }): GuidePage
  find(slug: string): DatedGuide | undefined
  /** The slug of what to read instead of a retired guide. */
  successorOf(slug: string): string | undefined
  /** Best first. */
  search(text: string, limit: number): readonly FoundGuide[]
}

export function guideCatalog(published: PublishedGuides, now: () => Date): GuideCatalog {
  const guides = published.guides.toSorted((a, b) => (a.slug < b.slug ? -1 : 1))
  const bySlug = new Map(guides.map((guide) => [guide.slug, guide]))
  let index: GuideIndex | undefined
  const find = (slug: string) => {
    const guide = bySlug.get(slug)
    return guide && dated(guide, now())
  }
  return {
    size: guides.length,
    altered: published.altered.length,
    changes: published.changes,
    find,
    successorOf: (slug) => published.retired.get(slug),
    list({ after, limit = guides.length } = {}) {
      const rest = after === undefined ? guides : guides.filter(({ slug }) => slug > after)
      const shown = rest.slice(0, limit).map((guide) => dated(guide, now()))
      const last = shown.at(-1)
      return { guides: shown, ...(last && rest.length > limit && { next: last.slug }) }
    },
    search(text, limit) {
      index ??= guideIndex(guides)
      return index.search(text, limit).flatMap(({ slug, snippet }) => {
        const guide = find(slug)
        return guide ? [{ guide, snippet }] : []
      })
    },
  }
}

/** The one object for each state of each guide, so that what is prepared from it is prepared once. */
const DATED = new WeakMap<PackagedGuide, { readonly as: DatedGuide; readonly until: number }>()

function dated(guide: PackagedGuide, now: Date): DatedGuide {
  const known = DATED.get(guide)
  if (known && known.as.stale === now.getTime() > known.until) return known.as
  const as = guideAsOf(guide, now)
  DATED.set(guide, { as, until: freshUntil(guide) })
  return as
}
