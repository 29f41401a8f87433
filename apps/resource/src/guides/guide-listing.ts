import { err, type GuideListing, GuideSlug, ok, type Result } from '@plainpath/domain'
import { Problem } from '@plainpath/http'
import { MOST_GUIDES, type ServiceUrls } from '@plainpath/metadata'
import { equalBytes, type HashKey } from '@plainpath/sealing'
import type { GuideCatalog } from './guide-catalog.ts'

/** Creates the functions with which routes and tools list and search guides. */
export function guideLister(hashKey: HashKey, urls: ServiceUrls) {
  const cursors = guideCursors(hashKey)
  const listed = <G extends { readonly slug: string }>(guide: G) => ({
    ...guide,
    url: urls.guide(guide.slug),
    apiUrl: urls.guideJson(guide.slug),
  })
  return {
    /** Returns a page of guides. @throws {Problem} `invalid-cursor` for a cursor that this service did not issue */
    page(
      catalog: GuideCatalog,
      { cursor, limit }: { cursor?: string | null | undefined; limit?: number | null | undefined } = {},
    ): { guides: GuideListing[]; next: string | null } {
      const after = cursor == null ? undefined : cursors.read(cursor)
      if (after?.ok === false) throw new Problem(after.error)
      const page = { limit: limit ?? MOST_GUIDES, ...(after && { after: after.value }) }
      const { guides, next } = catalog.list(page)
      return { guides: guides.map(listed), next: next === undefined ? null : cursors.write(next) }
    },
    /** Searches guides, best match first, each with a snippet and its section. */
    search: (catalog: GuideCatalog, text: string, limit: number): GuideListing[] =>
      catalog.search(text, limit).map(({ guide, snippet, section }) => {
        const { url, ...listing } = listed(guide)
        const matched = section && { heading: section.heading, url: `${url}#${section.anchor}` }
        return { ...listing, url, snippet, ...(matched && { section: matched }) }
      }),
  }
}

export type GuideLister = ReturnType<typeof guideLister>

const MAC_BYTES = 16

/**
 * Creates the functions that write and read cursors of the list of guides. A cursor is base64url of 16 bytes of HMAC-SHA-256 and
 * the last listed slug. It is authenticated, so that no client comes to depend on its content.
 */
export function guideCursors(hashKey: HashKey) {
  const mac = (slug: string) => hashKey.hash('cursor', `guides\n${slug}`).subarray(0, MAC_BYTES)
  const write = (slug: string) => Buffer.concat([mac(slug), Buffer.from(slug)]).toString('base64url')
  return {
    write,
    read(cursor: string): Result<string, 'invalid-cursor'> {
      const slug = GuideSlug.safeParse(
        Buffer.from(cursor, 'base64url').subarray(MAC_BYTES).toString('latin1'),
      )
      const isAuthentic = slug.success && equalBytes(Buffer.from(cursor), Buffer.from(write(slug.data)))
      return isAuthentic ? ok(slug.data) : err('invalid-cursor')
    },
  }
}
