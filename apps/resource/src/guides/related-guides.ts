import type { DatedGuide } from '@plainpath/guides'

/** The most guides that a page recommends. */
const MOST = 4

/**
 * Chooses the guides to read after this one: first those that its text links to, in that order, then those whose text links
 * to it.
 *
 * @param published all guides, by slug
 */
export function relatedGuides(
  { slug, body }: Pick<DatedGuide, 'slug' | 'body'>,
  published: readonly Pick<DatedGuide, 'slug' | 'title' | 'body'>[],
): readonly { readonly slug: string; readonly title: string }[] {
  const bySlug = new Map(published.map((guide) => [guide.slug, guide]))
  const linked = linkedSlugs(body).flatMap((other) => bySlug.get(other) ?? [])
  const linking = published.filter((other) => linkedSlugs(other.body).includes(slug))
  return [...new Set([...linked, ...linking])].filter((other) => other.slug !== slug).slice(0, MOST)
}

const linkedSlugs = (body: string): string[] =>
  Array.from(body.matchAll(/\]\(\/guides\/([a-z0-9-]+)/g), ([, slug = '']) => slug)
