import type { PackagedGuide } from '@plainpath/guides'

/** All that is published at one moment. */
export interface PublishedGuides {
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
  readonly at: Date
}

/** The guides of a release, for as long as nothing was published or the database did not answer since the start. */
export function asPublished(packaged: readonly PackagedGuide[]): PublishedGuides {
  const guides = packaged.filter(({ status }) => status === 'published')
  const changes = guides
    .map(({ slug, version, title, summary, updated }) => ({
      slug,
      version,
      title,
      summary,
      at: new Date(updated),
    }))
    .toSorted((a, b) => b.at.getTime() - a.at.getTime())
  return { guides, retired: new Map(), changes, altered: [] }
}
