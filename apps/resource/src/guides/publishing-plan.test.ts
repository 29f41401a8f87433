import { loadGuides, type PackagedGuide } from '@plainpath/guides'
import { expect, test } from 'vitest'
import { createPublishingPlan, type StoredState } from './publishing-plan.ts'

const [sample] = loadGuides()
if (!sample) throw new Error('there are no guides')
const newGuide = (change: Partial<PackagedGuide> = {}): PackagedGuide => ({
  ...sample,
  slug: 'a',
  version: 2,
  ...change,
})
const newStoredState = (change: Partial<PackagedGuide> = {}, isRetired = false): StoredState => ({
  content: newGuide(change),
  isRetired,
})

test.for([
  ['a new guide', newGuide(), undefined, 'add', []],
  ['a draft', newGuide({ status: 'draft' }), undefined, 'draft', []],
  ['an unchanged guide', newGuide(), newStoredState(), 'same', []],
  ['a new version', newGuide({ version: 3, title: 'T' }), newStoredState(), 'change', ['title', 'version']],
  ['an older version', newGuide({ version: 1, title: 'T' }), newStoredState(), 'older', ['title', 'version']],
  [
    'changed content under the same version',
    newGuide({ body: 'B' }),
    newStoredState(),
    'version-not-raised',
    ['body'],
  ],
  [
    'a draft of a published guide',
    newGuide({ status: 'draft', version: 3 }),
    newStoredState(),
    'draft',
    ['status', 'version'],
  ],
  ['a retired guide', newGuide({ version: 3 }), newStoredState({}, true), 'retired', ['version']],
] as const)('plans the step for %s', ([, releaseGuide, stored, step, differs]) => {
  const [planned, ...others] = createPublishingPlan([releaseGuide], new Map(stored ? [['a', stored]] : []))
  expect(planned).toMatchObject({ slug: 'a', step, differs })
  expect(others).toEqual([])
})

test('includes published guides that are not in the release, and sorts all guides by slug', () => {
  const stored = new Map([
    ['b', newStoredState({ slug: 'b' })],
    ['0', newStoredState({ slug: '0' }, true)],
  ])
  expect(createPublishingPlan([newGuide()], stored).map(({ slug, step }) => [slug, step])).toEqual([
    ['0', 'retired'],
    ['a', 'add'],
    ['b', 'not-in-release'],
  ])
})
