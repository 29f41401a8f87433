import { describe, expect, test } from 'vitest'
import { chooseRelatedGuides } from './related-guides.ts'

const newGuide = (slug: string, body = '') => ({ slug, title: slug.toUpperCase(), body })
const formatLink = (slug: string) => `See [${slug}](/guides/${slug}).`
const listRelatedSlugs = (slug: string, guides: ReturnType<typeof newGuide>[]) =>
  chooseRelatedGuides(guides.find((guide) => guide.slug === slug) ?? newGuide(slug), guides).map(
    (guide) => guide.slug,
  )

describe('chooseRelatedGuides', () => {
  test('chooses first the guides to which the text links, in the order of its links, and then the guides that link to it', () => {
    const guides = [
      newGuide('a', formatLink('d') + formatLink('b')),
      newGuide('b'),
      newGuide('c', formatLink('a')),
      newGuide('d'),
      newGuide('e'),
    ]
    expect(listRelatedSlugs('a', guides)).toEqual(['d', 'b', 'c'])
  })

  test('chooses at most four guides, each once, but neither the guide itself nor unpublished guides', () => {
    const guides = ['b', 'c', 'd', 'e', 'f'].map((slug) => newGuide(slug, formatLink('a')))
    const a = newGuide('a', formatLink('a') + formatLink('gone') + formatLink('b') + formatLink('b'))
    expect(listRelatedSlugs('a', [a, ...guides])).toEqual(['b', 'c', 'd', 'e'])
    expect(listRelatedSlugs('a', [newGuide('a')])).toEqual([])
  })

  test('recognises a link to a section', () => {
    expect(listRelatedSlugs('a', [newGuide('a', '[x](/guides/b#part)'), newGuide('b')])).toEqual(['b'])
  })
})
