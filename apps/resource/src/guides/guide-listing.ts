import type { GuideListing } from '@plainpath/domain'
import { Problem } from '@plainpath/http'
import { MOST_GUIDES, type ServiceUrls } from '@plainpath/metadata'
import type { GuideCatalog } from './guide-catalog.ts'
import type { GuideCursors } from './guide-cursor.ts'

interface GuideListingPage {
  readonly guides: GuideListing[]
  /** The cursor of the next page. */
  readonly next: string | null
}

export interface GuideLister {
  /** @throws {Problem} `invalid-cursor` for one that was not made here */
  page(
    catalog: GuideCatalog,
    asked?: { cursor?: string | null | undefined; limit?: number | null | undefined },
  ): GuideListingPage
  /** Best first, each with a snippet. */
  search(catalog: GuideCatalog, text: string, limit: number): GuideListing[]
}

/** Lists guides as programs are answered, by the routes and by the tools alike. */
export function guideLister({ cursors, urls }: { cursors: GuideCursors; urls: ServiceUrls }): GuideLister {
  const listed = <G extends { readonly slug: string }>(guide: G) => ({
    ...guide,
    url: urls.guide(guide.slug),
  })
  return {
    page(catalog, { cursor, limit } = {}) {
      const after = cursor == null ? undefined : cursors.read(cursor)
      if (after?.ok === false) throw new Problem(after.error)
      const page = { limit: limit ?? MOST_GUIDES, ...(after && { after: after.value }) }
      const { guides, next } = catalog.list(page)
      return { guides: guides.map(listed), next: next === undefined ? null : cursors.write(next) }
    },
    search: (catalog, text, limit) =>
      catalog.search(text, limit).map(({ guide, snippet }) => ({ ...listed(guide), snippet })),
  }
}
