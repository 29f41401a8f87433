import { err, type GuideListing, GuideSlug, ok, type Result } from '@plainpath/domain'
import { Problem } from '@plainpath/http'
import { MAX_GUIDES_PER_PAGE, type ServiceUrls } from '@plainpath/metadata'
import { type HashKey, timingSafeEqualBytes } from '@plainpath/sealing'
import type { GuideCatalog } from './guide-catalog.ts'

/** Lists and searches guides, for the routes and the MCP tools. */
export interface GuideLister {
  /**
   * Returns a page of guides.
   *
   * @throws {Problem} `invalid-cursor` for a cursor that this service did not issue
   */
  list(
    catalog: GuideCatalog,
    page?: { cursor?: string | null | undefined; limit?: number | null | undefined },
  ): { guides: GuideListing[]; next: string | null }
  /**
   * Searches guides, best match first. Each result has a snippet and the section that contains it, or no section if it is from
   * the introduction.
   */
  search(catalog: GuideCatalog, text: string, limit: number): GuideListing[]
}

export function createGuideLister(hashKey: HashKey, urls: ServiceUrls): GuideLister {
  const cursors = createGuideCursors(hashKey)
  const addUrls = <G extends { readonly slug: string }>(guide: G) => ({
    ...guide,
    url: urls.guide(guide.slug),
    apiUrl: urls.guideJson(guide.slug),
  })
  return {
    list(catalog, { cursor, limit } = {}) {
      const parsedCursor = cursor == null ? undefined : cursors.read(cursor)
      if (parsedCursor?.ok === false) throw new Problem(parsedCursor.error)
      const page = { limit: limit ?? MAX_GUIDES_PER_PAGE, ...(parsedCursor && { after: parsedCursor.value }) }
      const { guides, next } = catalog.list(page)
      return { guides: guides.map(addUrls), next: next === undefined ? null : cursors.write(next) }
    },
    search: (catalog, text, limit) =>
      catalog.search(text, limit).map(({ guide, snippet, section }) => {
        const { url, ...listing } = addUrls(guide)
        const matchedSection = section && { heading: section.heading, url: `${url}#${section.anchor}` }
        return { ...listing, url, snippet, ...(matchedSection && { section: matchedSection }) }
      }),
  }
}

const MAC_BYTES = 16

/**
 * Creates the functions that write and read cursors of the guide list. A cursor contains the first 16 bytes of an HMAC-SHA-256
 * and the last listed slug, in base64url. The HMAC ensures that clients do not construct cursors themselves.
 */
export function createGuideCursors(hashKey: HashKey) {
  const computeMac = (slug: string) => hashKey.hash('cursor', `guides\n${slug}`).subarray(0, MAC_BYTES)
  const write = (slug: string) => Buffer.concat([computeMac(slug), Buffer.from(slug)]).toString('base64url')
  return {
    write,
    read(cursor: string): Result<string, 'invalid-cursor'> {
      const slug = GuideSlug.safeParse(
        Buffer.from(cursor, 'base64url').subarray(MAC_BYTES).toString('latin1'),
      )
      // Compares the whole text, because `Buffer.from` also accepts other spellings of the same bytes.
      const isAuthentic =
        slug.success && timingSafeEqualBytes(Buffer.from(cursor), Buffer.from(write(slug.data)))
      return isAuthentic ? ok(slug.data) : err('invalid-cursor')
    },
  }
}
