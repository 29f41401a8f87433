import { loadGuides, type PackagedGuide } from '@plainpath/guides'
import { describe, expect, test } from 'vitest'
import { createGuideCatalog, treatReleaseAsPublished } from './guide-catalog.ts'

const [sample] = loadGuides()
if (!sample) throw new Error('there are no guides')
const guide = (slug: string, change: Partial<PackagedGuide> = {}): PackagedGuide => ({
  ...sample,
  slug,
  status: 'published',
  ...change,
})
const now = () => new Date('2026-11-20T12:00:00Z')
const slugsOf = ({ guides }: { guides: readonly { slug: string }[] }) => guides.map(({ slug }) => slug)

describe('the catalog', () => {
  const catalog = createGuideCatalog(
    treatReleaseAsPublished([guide('c'), guide('a'), guide('draft', { status: 'draft' }), guide('b')]),
    now,
  )

  test('holds published guides only', () => {
    expect(catalog.size).toBe(3)
    expect(catalog.find('draft')).toBeUndefined()
    expect(catalog.find('__proto__')).toBeUndefined()
    expect(catalog.find('a')).toMatchObject({ slug: 'a' })
  })

  test('lists by slug, and says whether there is more', () => {
    expect(slugsOf(catalog.list({ limit: 3 }))).toEqual(['a', 'b', 'c'])
    expect(catalog.list({ limit: 3 }).next).toBeUndefined()
    expect(catalog.list({ limit: 2 }).next).toBe('b')
    expect(slugsOf(catalog.list({ after: 'b', limit: 2 }))).toEqual(['c'])
  })

  test('continues after a slug that was removed in the meantime', () => {
    expect(slugsOf(catalog.list({ after: 'aa', limit: 2 }))).toEqual(['b', 'c'])
    expect(slugsOf(catalog.list({ after: 'z', limit: 2 }))).toEqual([])
  })

  test('returns the same object until the guide is stale, so that prepared responses stay valid', () => {
    expect(catalog.find('a')).toBe(catalog.list().guides[0])
  })

  test('returns the successor of a retired guide', () => {
    const retired = createGuideCatalog(
      {
        guides: [guide('a')],
        alteredSlugs: [],
        switches: undefined,
        successors: new Map([['b', 'a']]),
        changes: [],
      },
      now,
    )
    expect([
      retired.findSuccessor('b'),
      retired.findSuccessor('a'),
      retired.findSuccessor('__proto__'),
    ]).toEqual(['a', undefined, undefined])
  })

  test('finds guides by words, those that answer best first', () => {
    const real = createGuideCatalog(treatReleaseAsPublished(loadGuides()), now)
    const [first] = real.search('lost green card', 3)
    expect(first?.guide.slug).toBe('replace-lost-green-card')
    expect(first?.snippet).toMatch(/green card/i)
    expect(real.search('green card', 3)).toHaveLength(3)
    expect(real.search('zzzzzz', 3)).toEqual([])
  })

  test('judges by the time of asking whether a guide is stale', () => {
    let today = new Date('2026-11-20T00:00:00Z')
    const checked = (id: string, day: string) =>
      ({ ...sample.sources[0], id, checked: day, kind: 'contact' }) as PackagedGuide['sources'][number]
    const sources = [checked('old', '2026-08-20'), checked('new', '2026-11-19')]
    const aging = createGuideCatalog(
      treatReleaseAsPublished([guide('a', { sources, body: 'One. [^old]\n\nTwo. [^new]' })]),
      () => today,
    )
    const staleAt = (moment: string) => {
      today = new Date(moment)
      expect(aging.find('a')).toBe(aging.find('a'))
      return aging.find('a')?.staleStatements
    }
    expect(staleAt('2026-11-28T00:00:00Z')).toBe(0)
    expect(staleAt('2026-11-28T00:00:00.001Z')).toBe(1)
    expect(aging.list({ limit: 1 }).guides[0]?.stale).toBe(true)
    expect(staleAt('2027-02-27T00:00:00.001Z')).toBe(2)
    expect(staleAt('2026-11-20T00:00:00Z')).toBe(0)
  })
})
