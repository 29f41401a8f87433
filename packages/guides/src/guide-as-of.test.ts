import { Guide } from '@plainpath/domain'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EXAMPLE_GUIDE } from '../test/example-guide.ts'
import { findFreshnessPeriod, LIMIT_DAYS } from './freshness.ts'
import { loadGuides } from './load-guides.ts'
import { type PackagedGuide, StoredGuide, toDatedGuide } from './packaged-guide.ts'

type Source = PackagedGuide['sources'][number]

const DAY_MS = 86_400_000
const [form] = EXAMPLE_GUIDE.sources as [Source]
const source = (id: string, checked: string, kind: Source['kind'] = 'contact'): Source => ({
  ...form,
  id,
  checked,
  kind,
})
const guide = (body: string, ...sources: Source[]): PackagedGuide => ({ ...EXAMPLE_GUIDE, body, sources })
const NOW = new Date('2026-06-30T00:00:00Z')
const [LAST_FRESH, FIRST_STALE] = ['2026-03-22', '2026-03-21']

test.for(Object.entries(LIMIT_DAYS) as [Source['kind'], number][])(
  'counts a reading of a %s for %i days, up to and including the last millisecond',
  ([kind, days]) => {
    const cited = guide('It is so. [^a]', source('a', '2025-01-01', kind))
    const end = Date.parse('2025-01-01') + days * DAY_MS
    expect(toDatedGuide(cited, new Date(end))).toMatchObject({ stale: false, staleStatements: 0 })
    const late = toDatedGuide(cited, new Date(end + 1))
    expect(late).toMatchObject({ stale: true, staleStatements: 1 })
    expect(late.sources[0]).toMatchObject({ kind, limitDays: days, stale: true })
  },
)

test.for([
  ['with one stale source', 'It is so. [^old]', [1, 1]],
  ['with a fresh source beside it', 'It is so. [^old] [^new]', [1, 0]],
  ['of a paragraph: one for each sentence', 'It is so. It is not. [^old]\n\nYes. [^new]', [3, 2]],
  ['of a list: one for each item', 'Look:\n\n- It is so. It is not. [^old]\n- Yes. [^new]', [2, 1]],
  ['without any source', 'It is so.', [1, 1]],
  ['in the sections that state no facts', '## What changes often: check here\n\n- It is so.', [0, 0]],
] as const)('counts statements and stale statements %s', ([, body, [statements, staleStatements]]) => {
  const dated = toDatedGuide(guide(body, source('old', FIRST_STALE), source('new', LAST_FRESH)), NOW)
  expect(dated).toMatchObject({ statements, staleStatements, stale: staleStatements > 0 })
})

test('lists links and phone numbers that no source supports', () => {
  const body = `Call 1-800-898-7180. [^a]

## What changes often: check here

- The form: [page](https://www.uscis.gov/i-90), or call 1-800-375-5283.
- The form again: [page](https://www.uscis.gov/i-90). See [our guide](/guides/example).`
  expect(toDatedGuide(guide(body, source('a', LAST_FRESH)), NOW).notChecked).toEqual([
    'https://www.uscis.gov/i-90',
    '1-800-375-5283',
  ])
})

const block = fc.record({
  lead: fc.constantFrom('', '- ', '1. '),
  sentences: fc.array(fc.constantFrom('It is so.', 'Ask.', 'Do these:', 'Call 1-800-898-7180.'), {
    minLength: 1,
    maxLength: 3,
  }),
  cited: fc.subarray(['a', 'b', 'c']),
})
const formatBlocks = (blocks: readonly { lead: string; sentences: string[]; cited: string[] }[]) =>
  blocks
    .map(({ lead, sentences, cited }) => lead + [...sentences, ...cited.map((id) => `[^${id}]`)].join(' '))
    .join('\n\n')

test('never makes a guide fresher when a citation is removed', () => {
  const days = fc.constantFrom(LAST_FRESH, FIRST_STALE, '2026-06-01')
  fc.assert(
    fc.property(
      fc.array(block, { minLength: 1, maxLength: 6 }),
      fc.tuple(days, days, days),
      fc.nat(),
      (blocks, [a, b, c], pick) => {
        const cited = blocks.flatMap((each, at) => each.cited.map((id) => ({ at, id })))
        fc.pre(cited.length > 0)
        const removed = cited[pick % cited.length]
        const fewer = blocks.map((each, at) =>
          at === removed?.at ? { ...each, cited: each.cited.filter((id) => id !== removed.id) } : each,
        )
        const sources = [source('a', a), source('b', b), source('c', c)]
        const before = toDatedGuide(guide(formatBlocks(blocks), ...sources), NOW)
        const after = toDatedGuide(guide(formatBlocks(fewer), ...sources), NOW)
        expect(after.statements).toBe(before.statements)
        expect(after.staleStatements).toBeGreaterThanOrEqual(before.staleStatements)
        expect(after.notChecked).toEqual(expect.arrayContaining(before.notChecked))
      },
    ),
  )
})

test('returns the period in which no source becomes stale', () => {
  const cited = guide('It is so. [^a] [^b]', source('a', '2026-01-01'), source('b', '2026-02-01', 'statute'))
  const readStale = (now: number) => toDatedGuide(cited, new Date(now)).sources.map(({ stale }) => stale)
  const { after, until } = findFreshnessPeriod(cited.sources, NOW)
  expect([after, until].map((end) => new Date(end).toISOString().slice(0, 10))).toEqual([
    '2026-04-11',
    '2027-03-08',
  ])
  expect([after, after + 1, until, until + 1].map(readStale)).toEqual([
    [false, false],
    [true, false],
    [true, false],
    [true, true],
  ])
})

test('derives the kinds of sources from their hosts in a guide that release 0.1.0 published', () => {
  const urls = [
    ['https://uscode.house.gov/view.xhtml?req=x', 'statute'],
    ['https://www.ecfr.gov/current/title-8/section-103.2', 'regulation'],
    ['https://www.uscis.gov/i-90', 'agency-page'],
  ] as const
  const { kind: _, ...plain } = form
  const stored = {
    ...EXAMPLE_GUIDE,
    maxAgeDays: 365,
    sources: urls.map(([url], at) => ({ ...plain, id: `s${at}`, url })),
  }
  const read = StoredGuide.parse(stored)
  expect(read.sources.map(({ kind }) => kind)).toEqual(urls.map(([, kind]) => kind))
  expect(read).not.toHaveProperty('maxAgeDays')
})

test('turns each guide of this package into a valid guide of the API', () => {
  for (const each of loadGuides()) {
    const dated = toDatedGuide(each, new Date())
    // The API adds these members.
    const served = {
      ...dated,
      url: `https://plainpath.example/guides/${each.slug}`,
      sources: dated.sources.map((from) => ({ ...from, copyFrom: from.checked })),
    }
    expect(Guide.parse(served)).toMatchObject({ slug: each.slug, body: each.body })
  }
})
