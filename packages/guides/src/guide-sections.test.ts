import { describe, expect, test } from 'vitest'
import { ATTORNEY_HEADING } from './guide-body.ts'
import { listGuideSections, toHeadingAnchor } from './guide-sections.ts'
import { loadGuides } from './load-guides.ts'
import { loadSectionAsks } from './section-asks.ts'

describe('sections of a guide', () => {
  test.each([
    ['When to ask for a new card', 'when-to-ask-for-a-new-card'],
    ['Will the person find out?', 'will-the-person-find-out'],
    ['What changes often: check here', 'what-changes-often-check-here'],
    ['If your green card case is open (Form I-485)', 'if-your-green-card-case-is-open-form-i-485'],
    ['If it says "delivered", but no card came', 'if-it-says-delivered-but-no-card-came'],
  ])('toHeadingAnchor turns "%s" into %s', (heading, anchor) => {
    expect(toHeadingAnchor(heading)).toBe(anchor)
  })

  test('listGuideSections puts text before the first heading into an introduction, and numbers repeated keys', () => {
    const body =
      'First. [^a]\n\n## Steps\n\n1. See [the **form**](https://www.uscis.gov/i-90). [^a]\n\n## Steps\n\nLast.'
    expect(listGuideSections({ slug: 'a-guide', title: 'A guide', body })).toEqual([
      {
        guide: 'a-guide',
        key: 'intro',
        id: 'a-guide',
        heading: 'A guide',
        markdown: 'First. [^a]',
        start: 0,
        text: 'First.',
      },
      {
        guide: 'a-guide',
        key: 'steps',
        id: 'a-guide#steps',
        heading: 'Steps',
        markdown: '1. See [the **form**](https://www.uscis.gov/i-90). [^a]',
        start: body.indexOf('1. See'),
        text: 'See the form.',
      },
      {
        guide: 'a-guide',
        key: 'steps-1',
        id: 'a-guide#steps-1',
        heading: 'Steps',
        markdown: 'Last.',
        start: body.indexOf('Last.'),
        text: 'Last.',
      },
    ])
  })

  test('listGuideSections omits the attorney section', () => {
    const headings = loadGuides().flatMap((guide) => listGuideSections(guide).map(({ heading }) => heading))
    expect(headings).not.toContain(ATTORNEY_HEADING)
  })
})

// Questions in people's words that lead to a section: `asks` are those that it answers, and `near` those that it does not.
describe('asks', () => {
  const asks = new Map(loadSectionAsks().map((file) => [file.guide, file]))

  test.each(loadGuides().map((guide) => [guide.slug, guide] as const))(
    'of %s are for exactly its sections',
    (slug, guide) => {
      const keys = listGuideSections(guide).map(({ key }) => key)
      expect(Object.keys(asks.get(slug)?.sections ?? {}).toSorted()).toEqual(keys.toSorted())
    },
  )

  test('are in one file for each guide, in the order of the guides', () => {
    expect([...asks.keys()]).toEqual(loadGuides().map(({ slug }) => slug))
  })

  test('are all different', () => {
    const allAsks = [...asks.values()].flatMap((file) =>
      Object.values(file.sections).flatMap((section) => [...section.asks, ...section.near]),
    )
    expect(allAsks.filter((ask, index) => allAsks.indexOf(ask) !== index)).toEqual([])
  })
})
