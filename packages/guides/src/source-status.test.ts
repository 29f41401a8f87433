import { expect, test } from 'vitest'
import { EXAMPLE_GUIDE } from '../test/example-guide.ts'
import { describeStatus, summarizeFreshness } from './source-status.ts'

const [form] = EXAMPLE_GUIDE.sources
const phone = { ...form!, id: 'phone', kind: 'contact', url: 'https://www.usa.gov/', agency: 'GSA' } as const
/** Two guides. Of their sources, only the contact of the guide `one` is stale on 2026-06-30. */
const guides = [
  {
    ...EXAMPLE_GUIDE,
    slug: 'one',
    body: 'Call. [^phone]\n\nSend it. [^form]\n\nNobody read this.',
    sources: [form!, { ...phone, checked: '2026-01-01' }],
  },
  { ...EXAMPLE_GUIDE, slug: 'two', body: 'Send it. [^form]', sources: [form!] },
]
const summarizeAt = (time: string) => summarizeFreshness(guides, new Date(time))

test('summarizeFreshness lists guides with the stale sources of their stale statements', () => {
  expect(summarizeAt('2026-06-30').guides).toEqual([
    { slug: 'one', statements: 3, staleStatements: 2, why: ['phone (2026-01-01)', 'no source'] },
    { slug: 'two', statements: 1, staleStatements: 0, why: [] },
  ])
})

test('summarizeFreshness lists sources by check date, oldest first, each once for all guides with the same date', () => {
  const { sources } = summarizeAt('2026-06-30')
  expect(
    sources.map(({ checked, guides: slugs, owner, freshUntil }) => [checked, slugs, owner, freshUntil]),
  ).toEqual([
    // A contact stays fresh for 100 days, and form instructions for 200.
    ['2026-01-01', ['one'], 'support desk', '2026-04-11'],
    ['2026-06-26', ['one', 'two'], 'content editor', '2027-01-12'],
  ])
})

// A source is due for a new check 30 days before it becomes stale.
test.for([
  ['2026-03-12T00:00:00Z', 'fresh'],
  ['2026-03-12T00:00:00.001Z', 'due'],
  ['2026-04-11T00:00:00Z', 'due'],
  ['2026-04-11T00:00:00.001Z', 'stale'],
] as const)('at %s, the state of a source that is fresh until April 11 is %s', ([time, state]) => {
  expect(summarizeAt(time).sources[0]?.state).toBe(state)
})

test('describeStatus describes stale sources by agency and kind, then guides and sources', () => {
  const text = describeStatus(summarizeAt('2026-06-30'))
  expect(text).toMatch(/^2 of 4 statements are stale, in 1 of 2 guides\.\n/)
  expect(text).toMatch(/^1 {6}0 {4}1 {3}contact {2}support desk {2}GSA$/m)
  expect(text).toMatch(/^one {4}3 {11}2 {6}phone \(2026-01-01\), no source$/m)
  expect(text).toMatch(/^2026-01-01 {2}2026-04-11 {3}stale {2}contact .* one$/m)
})
