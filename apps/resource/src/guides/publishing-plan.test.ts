import { loadGuides, type PackagedGuide } from '@plainpath/guides'
import { expect, test } from 'vitest'
import { createPublishingPlan, type StoredState } from './publishing-plan.ts'

const [sample] = loadGuides()
if (!sample) throw new Error('there are no guides')
const createGuide = (overrides: Partial<PackagedGuide> = {}): PackagedGuide => ({
  ...sample,
  slug: 'a',
  version: 2,
  ...overrides,
})
const createStoredState = (overrides: Partial<PackagedGuide> = {}, isRetired = false): StoredState => ({
  content: createGuide(overrides),
  isRetired,
})

// Each row: the case, the guide in the release, the stored guide, the planned step, and the members that differ.
test.for([
  ['a new guide', createGuide(), undefined, 'add', []],
  ['a draft', createGuide({ status: 'draft' }), undefined, 'draft', []],
  ['an unchanged guide', createGuide(), createStoredState(), 'same', []],
  [
    'a new version',
    createGuide({ version: 3, title: 'T' }),
    createStoredState(),
    'change',
    ['title', 'version'],
  ],
  [
    'an older version',
    createGuide({ version: 1, title: 'T' }),
    createStoredState(),
    'older',
    ['title', 'version'],
  ],
  [
    'changed content under the same version',
    createGuide({ body: 'B' }),
    createStoredState(),
    'version-not-raised',
    ['body'],
  ],
  [
    'a draft of a published guide',
    createGuide({ status: 'draft', version: 3 }),
    createStoredState(),
    'draft',
    ['status', 'version'],
  ],
  ['a retired guide', createGuide({ version: 3 }), createStoredState({}, true), 'retired', ['version']],
] as const)('plans the step for %s', ([, releaseGuide, stored, step, differs]) => {
  const [planned, ...others] = createPublishingPlan([releaseGuide], new Map(stored ? [['a', stored]] : []))
  expect(planned).toMatchObject({ slug: 'a', step, differs })
  expect(others).toEqual([])
})

test('includes published guides that are not in the release, and sorts all guides by slug', () => {
  const stored = new Map([
    ['b', createStoredState({ slug: 'b' })],
    ['0', createStoredState({ slug: '0' }, true)],
  ])
  expect(createPublishingPlan([createGuide()], stored).map(({ slug, step }) => [slug, step])).toEqual([
    ['0', 'retired'],
    ['a', 'add'],
    ['b', 'not-in-release'],
  ])
})
