import { loadGuides, type PackagedGuide } from '@plainpath/guides'
import { describe, expect, test } from 'vitest'
import { createGuideCatalog, treatReleaseAsPublished } from './guide-catalog.ts'

const [sample] = loadGuides()
if (!sample) throw new Error('there are no guides')
const createGuide = (slug: string, overrides: Partial<PackagedGuide> = {}): PackagedGuide => ({
  ...sample,
  slug,
  status: 'published',
  ...overrides,
})
const now = () => new Date('2026-11-20T12:00:00Z')
const listSlugs = ({ guides }: { guides: readonly { slug: string }[] }) => guides.map(({ slug }) => slug)

describe('a guide catalog', () => {
  const catalog = createGuideCatalog(
    treatReleaseAsPublished([
      createGuide('c'),
      createGuide('a'),
      createGuide('draft', { status: 'draft' }),
      createGuide('b'),
    ]),
    now,
  )

  test('contains only published guides', () => {
    expect(catalog.size).toBe(3)
    expect(catalog.find('draft')).toBeUndefined()
    // A look-up in a plain object would find this name.
    expect(catalog.find('__proto__')).toBeUndefined()
    expect(catalog.find('a')).toMatchObject({ slug: 'a' })
  })

  test('lists guides by slug, and returns the last listed slug if more guides follow', () => {
    expect(listSlugs(catalog.list({ limit: 3 }))).toEqual(['a', 'b', 'c'])
    expect(catalog.list({ limit: 3 }).next).toBeUndefined()
    expect(catalog.list({ limit: 2 }).next).toBe('b')
    expect(listSlugs(catalog.list({ after: 'b', limit: 2 }))).toEqual(['c'])
  })

  test('continues the list after a slug that was removed in the meantime', () => {
    expect(listSlugs(catalog.list({ after: 'aa', limit: 2 }))).toEqual(['b', 'c'])
    expect(listSlugs(catalog.list({ after: 'z', limit: 2 }))).toEqual([])
  })

  test('returns the same object from find and list', () => {
    expect(catalog.find('a')).toBe(catalog.list().guides[0])
  })

  test('returns the successor of a retired guide', () => {
    const catalogWithRetiredGuide = createGuideCatalog(
      {
        guides: [createGuide('a')],
        alteredSlugs: [],
        switches: undefined,
        successors: new Map([['b', 'a']]),
        changes: [],
      },
      now,
    )
    expect([
      catalogWithRetiredGuide.findSuccessor('b'),
      catalogWithRetiredGuide.findSuccessor('a'),
      catalogWithRetiredGuide.findSuccessor('__proto__'),
    ]).toEqual(['a', undefined, undefined])
  })

  test('searches guides, best match first', () => {
    const releaseCatalog = createGuideCatalog(treatReleaseAsPublished(loadGuides()), now)
    const [bestMatch] = releaseCatalog.search('lost green card', 3)
    expect(bestMatch?.guide.slug).toBe('replace-lost-green-card')
    expect(bestMatch?.snippet).toMatch(/green card/i)
    expect(releaseCatalog.search('green card', 3)).toHaveLength(3)
    expect(releaseCatalog.search('zzzzzz', 3)).toEqual([])
  })

  test('determines at each call how many statements of a guide are stale', () => {
    let today = new Date('2026-11-20T00:00:00Z')
    const createSource = (id: string, day: string) =>
      ({ ...sample.sources[0], id, checked: day, kind: 'contact' }) as PackagedGuide['sources'][number]
    // A source of the kind `contact` stays fresh for 100 days after its check.
    const sources = [createSource('old', '2026-08-20'), createSource('new', '2026-11-19')]
    const agingCatalog = createGuideCatalog(
      treatReleaseAsPublished([createGuide('a', { sources, body: 'One. [^old]\n\nTwo. [^new]' })]),
      () => today,
    )
    const countStaleAt = (moment: string) => {
      today = new Date(moment)
      expect(agingCatalog.find('a')).toBe(agingCatalog.find('a'))
      return agingCatalog.find('a')?.staleStatements
    }
    expect(countStaleAt('2026-11-28T00:00:00Z')).toBe(0)
    expect(countStaleAt('2026-11-28T00:00:00.001Z')).toBe(1)
    expect(agingCatalog.list({ limit: 1 }).guides[0]?.stale).toBe(true)
    expect(countStaleAt('2027-02-27T00:00:00.001Z')).toBe(2)
    expect(countStaleAt('2026-11-20T00:00:00Z')).toBe(0)
  })
})
