import type { DatedGuide } from '@plainpath/guides'

const MAX_RELATED_GUIDES = 4

/**
 * Chooses at most four guides to read next: first the guides to which this guide links, in the order of the links, and then the
 * guides that link to this guide.
 *
 * @param published all published guides, sorted by slug
 */
export function chooseRelatedGuides(
  { slug, body }: Pick<DatedGuide, 'slug' | 'body'>,
  published: readonly Pick<DatedGuide, 'slug' | 'title' | 'body'>[],
): readonly { readonly slug: string; readonly title: string }[] {
  const guidesBySlug = new Map(published.map((guide) => [guide.slug, guide]))
  const linkedGuides = findLinkedSlugs(body).flatMap((linkedSlug) => guidesBySlug.get(linkedSlug) ?? [])
  const linkingGuides = published.filter((other) => findLinkedSlugs(other.body).includes(slug))
  return [...new Set([...linkedGuides, ...linkingGuides])]
    .filter((other) => other.slug !== slug)
    .slice(0, MAX_RELATED_GUIDES)
}

const findLinkedSlugs = (body: string): string[] =>
  Array.from(body.matchAll(/\]\(\/guides\/([a-z0-9-]+)/g), ([, slug = '']) => slug)
