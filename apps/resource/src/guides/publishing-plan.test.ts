import { loadGuides, type PackagedGuide } from '@plainpath/guides'
import { expect, test } from 'vitest'
import { createPublishingPlan, type StoredState } from './publishing-plan.ts'

const [sample] = loadGuides()
if (!sample) throw new Error('there are no guides')
const guide = (change: Partial<PackagedGuide> = {}): PackagedGuide => ({
  ...sample,
  slug: 'a',
  version: 2,
  ...change,
})
const kept = (change: Partial<PackagedGuide> = {}, retired = false): StoredState => ({
  content: guide(change),
  retired,
})

test.for([
  ['a new guide', guide(), undefined, 'add', []],
  ['a draft', guide({ status: 'draft' }), undefined, 'draft', []],
  ['the same', guide(), kept(), 'same', []],
  ['a new version', guide({ version: 3, title: 'T' }), kept(), 'change', ['title', 'version']],
  ['an older version', guide({ version: 1, title: 'T' }), kept(), 'older', ['title', 'version']],
  ['another content under one version', guide({ body: 'B' }), kept(), 'version-not-raised', ['body']],
  [
    'a draft of a published guide',
    guide({ status: 'draft', version: 3 }),
    kept(),
    'draft',
    ['status', 'version'],
  ],
  ['a retired guide', guide({ version: 3 }), kept({}, true), 'retired', ['version']],
] as const)('%s', ([, file, state, step, differs]) => {
  const [planned, ...others] = createPublishingPlan([file], new Map(state ? [['a', state]] : []))
  expect(planned).toMatchObject({ slug: 'a', step, differs })
  expect(others).toEqual([])
})

test('keeps published guides that have no file in the release, sorted by slug with the others', () => {
  const state = new Map([
    ['b', kept({ slug: 'b' })],
    ['0', kept({ slug: '0' }, true)],
  ])
  expect(createPublishingPlan([guide()], state).map(({ slug, step }) => [slug, step])).toEqual([
    ['0', 'retired'],
    ['a', 'add'],
    ['b', 'not-in-release'],
  ])
})
