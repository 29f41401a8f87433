import { Guide } from '@plainpath/domain'
import { expect, test } from 'vitest'
import { EXAMPLE_GUIDE } from '../test/example-guide.ts'
import { loadGuides } from './load-guides.ts'
import { guideAsOf } from './packaged-guide.ts'

const [form] = EXAMPLE_GUIDE.sources
const checked = (...days: string[]) => ({
  ...EXAMPLE_GUIDE,
  maxAgeDays: 10,
  sources: days.map((day) => ({ ...form!, checked: day })),
})

test.for([
  ['on the last day that is allowed', checked('2026-06-20'), false],
  ['one day later', checked('2026-06-19'), true],
  ['when only one of its sources is old', checked('2026-06-30', '2026-06-19'), true],
] as const)('a guide %s', ([, guide, stale]) => {
  expect(guideAsOf(guide, new Date('2026-06-30T00:00:00Z')).stale).toBe(stale)
})

test('the guides of this package are guides of the API', () => {
  for (const guide of loadGuides()) {
    const dated: Guide = guideAsOf(guide, new Date())
    expect(Guide.parse(dated)).toMatchObject({ slug: guide.slug, body: guide.body })
  }
})
