import { err, type GuideListing, GuideSlug, ok, type Result } from '@plainpath/domain'
import { Problem } from '@plainpath/http'
import { MOST_GUIDES, type ServiceUrls } from '@plainpath/metadata'
import { equalBytes, type HashKey } from '@plainpath/sealing'
import type { GuideCatalog } from './guide-catalog.ts'

/** Lists guides as programs are answered, by the routes and by the tools alike. */
export function guideLister(hashKey: HashKey, urls: ServiceUrls) {
  const cursors = guideCursors(hashKey)
  const listed = <G extends { readonly slug: string }>(guide: G) => ({
    ...guide,
    url: urls.guide(guide.slug),
    apiUrl: urls.guideJson(guide.slug),
  })
  return {
    /** @throws {Problem} `invalid-cursor` for one that was not made here */
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
    /** Best first, each with a snippet and the section that it is of. */
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
 * Cursors name a place in the list of guides. They are opaque and authenticated, so that nobody builds on what is inside:
 * base64url of 16 bytes of HMAC-SHA-256 and the slug to go on after.
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
      const made = slug.success && equalBytes(Buffer.from(cursor), Buffer.from(write(slug.data)))
      return made ? ok(slug.data) : err('invalid-cursor')
    },
  }
}
