import { describe, expect, test } from 'vitest'
import { chooseRelatedGuides } from './related-guides.ts'

const guide = (slug: string, body = '') => ({ slug, title: slug.toUpperCase(), body })
const link = (slug: string) => `See [${slug}](/guides/${slug}).`
const related = (of: string, guides: ReturnType<typeof guide>[]) =>
  chooseRelatedGuides(guides.find(({ slug }) => slug === of) ?? guide(of), guides).map(({ slug }) => slug)

describe('related guides', () => {
  test('are those that the text links to, in its order, then those that link here', () => {
    const guides = [
      guide('a', link('d') + link('b')),
      guide('b'),
      guide('c', link('a')),
      guide('d'),
      guide('e'),
    ]
    expect(related('a', guides)).toEqual(['d', 'b', 'c'])
  })

  test('are at most four, each once, without the guide itself and unpublished ones', () => {
    const guides = ['b', 'c', 'd', 'e', 'f'].map((slug) => guide(slug, link('a')))
    const a = guide('a', link('a') + link('gone') + link('b') + link('b'))
    expect(related('a', [a, ...guides])).toEqual(['b', 'c', 'd', 'e'])
    expect(related('a', [guide('a')])).toEqual([])
  })

  test('are found by a link to a section', () => {
    expect(related('a', [guide('a', '[x](/guides/b#part)'), guide('b')])).toEqual(['b'])
  })
})
