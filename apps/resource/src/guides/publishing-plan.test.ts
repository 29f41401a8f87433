import { loadGuides, type PackagedGuide } from '@plainpath/guides'
import { expect, test } from 'vitest'
import { createPublishingPlan, describeMissingSections, type StoredState } from './publishing-plan.ts'

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
  const storedGuides = new Map(stored ? [['a', stored]] : [])
  const [planned, ...others] = createPublishingPlan([releaseGuide], storedGuides, [])
  expect(planned).toMatchObject({ slug: 'a', step, differs })
  expect(others).toEqual([])
})

// Each row: the case, the guide in the release, the stored guide, and the withdrawn sections that are missing.
test.for([
  ['a new version without two', createGuide({ version: 3 }), createStoredState(), ['a#old', 'a#older']],
  ['a new guide without one', createGuide(), undefined, ['a#old']],
  [
    'a new version without its introduction',
    createGuide({ version: 3, body: '## Fees\n\nText.' }),
    createStoredState(),
    ['a'],
  ],
] as const)('refuses %s of the withdrawn sections', ([, releaseGuide, stored, missingSections]) => {
  const storedGuides = new Map(stored ? [['a', stored]] : [])
  const [planned] = createPublishingPlan([releaseGuide], storedGuides, missingSections)
  expect(planned).toMatchObject({ step: 'withdrawn-section-missing', missingSections })
})

test('says of each missing section what to keep, or which command to run', () => {
  const planned = { slug: 'a', step: 'withdrawn-section-missing', to: 3, differs: [] } as const
  expect(describeMissingSections({ ...planned, missingSections: ['a', 'a#old'] }).split('; ')).toEqual([
    'version 3 lacks the withdrawn section a#intro: keep its introduction, or first run "guides restore a#intro"',
    'version 3 lacks the withdrawn section a#old: keep its heading, or first run "guides restore a#old"',
  ])
})

test.for([
  ['a new version that has it', createGuide({ version: 3 }), 'a#fees', 'change'],
  ['a new version if the section belongs to another guide', createGuide({ version: 3 }), 'ab#old', 'change'],
  ['an unchanged version', createGuide(), 'a#old', 'same'],
  ['an older version', createGuide({ version: 1 }), 'a#old', 'older'],
  [
    'a changed guide whose version was not raised',
    createGuide({ title: 'T' }),
    'a#old',
    'version-not-raised',
  ],
] as const)('a withdrawn section does not change the step for %s', ([, guide, withdrawnSection, step]) => {
  const body = '## Fees\n\nText.'
  const storedGuides = new Map([['a', createStoredState({ body })]])
  const [planned] = createPublishingPlan([{ ...guide, body }], storedGuides, [withdrawnSection])
  expect(planned).toMatchObject({ slug: 'a', step })
  expect(planned).not.toHaveProperty('missingSections')
})

test('includes published guides that are not in the release, and sorts all guides by slug', () => {
  const stored = new Map([
    ['b', createStoredState({ slug: 'b' })],
    ['0', createStoredState({ slug: '0' }, true)],
  ])
  expect(createPublishingPlan([createGuide()], stored, []).map(({ slug, step }) => [slug, step])).toEqual([
    ['0', 'retired'],
    ['a', 'add'],
    ['b', 'not-in-release'],
  ])
})
