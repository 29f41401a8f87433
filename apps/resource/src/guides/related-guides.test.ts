import { describe, expect, test } from 'vitest'
import { chooseRelatedGuides } from './related-guides.ts'

const createGuide = (slug: string, body = '') => ({ slug, title: slug.toUpperCase(), body })
const formatLink = (slug: string) => `See [${slug}](/guides/${slug}).`
const listRelatedSlugs = (slug: string, guides: ReturnType<typeof createGuide>[]) =>
  chooseRelatedGuides(guides.find((guide) => guide.slug === slug) ?? createGuide(slug), guides).map(
    (guide) => guide.slug,
  )

describe('chooseRelatedGuides', () => {
  test('chooses the guides that this guide links to, in the order of its links, and then the guides that link to this guide', () => {
    const guides = [
      createGuide('a', formatLink('d') + formatLink('b')),
      createGuide('b'),
      createGuide('c', formatLink('a')),
      createGuide('d'),
      createGuide('e'),
    ]
    expect(listRelatedSlugs('a', guides)).toEqual(['d', 'b', 'c'])
  })

  test('chooses at most four guides, each once, never the guide itself or an unpublished guide, and none if there are no links', () => {
    const guides = ['b', 'c', 'd', 'e', 'f'].map((slug) => createGuide(slug, formatLink('a')))
    const a = createGuide('a', formatLink('a') + formatLink('gone') + formatLink('b') + formatLink('b'))
    expect(listRelatedSlugs('a', [a, ...guides])).toEqual(['b', 'c', 'd', 'e'])
    expect(listRelatedSlugs('a', [createGuide('a')])).toEqual([])
  })

  test('recognises a link to a section', () => {
    expect(listRelatedSlugs('a', [createGuide('a', '[x](/guides/b#part)'), createGuide('b')])).toEqual(['b'])
  })
})
