import { Guide } from '@plainpath/domain'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EXAMPLE_GUIDE } from '../test/example-guide.ts'
import { freshnessPeriod, LIMIT_DAYS } from './freshness.ts'
import { loadGuides } from './load-guides.ts'
import { guideAsOf, KeptGuide, type PackagedGuide } from './packaged-guide.ts'

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
  'a reading of a %s counts for %i days, to the last moment',
  ([kind, days]) => {
    const one = guide('It is so. [^a]', source('a', '2025-01-01', kind))
    const end = Date.parse('2025-01-01') + days * DAY_MS
    expect(guideAsOf(one, new Date(end))).toMatchObject({ stale: false, staleStatements: 0 })
    const late = guideAsOf(one, new Date(end + 1))
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
] as const)('statements %s', ([, body, [statements, staleStatements]]) => {
  const dated = guideAsOf(guide(body, source('old', FIRST_STALE), source('new', LAST_FRESH)), NOW)
  expect(dated).toMatchObject({ statements, staleStatements, stale: staleStatements > 0 })
})

test('links and phone numbers that no source supports are named', () => {
  const body = `Call 1-800-898-7180. [^a]

## What changes often: check here

- The form: [page](https://www.uscis.gov/i-90), or call 1-800-375-5283.
- The form again: [page](https://www.uscis.gov/i-90). See [our guide](/guides/example).`
  expect(guideAsOf(guide(body, source('a', LAST_FRESH)), NOW).notChecked).toEqual([
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
const written = (blocks: readonly { lead: string; sentences: string[]; cited: string[] }[]) =>
  blocks
    .map(({ lead, sentences, cited }) => lead + [...sentences, ...cited.map((id) => `[^${id}]`)].join(' '))
    .join('\n\n')

test('a citation that is taken away never makes anything fresher', () => {
  const days = fc.constantFrom(LAST_FRESH, FIRST_STALE, '2026-06-01')
  fc.assert(
    fc.property(
      fc.array(block, { minLength: 1, maxLength: 6 }),
      fc.tuple(days, days, days),
      fc.nat(),
      (blocks, [a, b, c], pick) => {
        const cited = blocks.flatMap((each, at) => each.cited.map((id) => ({ at, id })))
        fc.pre(cited.length > 0)
        const taken = cited[pick % cited.length]
        const fewer = blocks.map((each, at) =>
          at === taken?.at ? { ...each, cited: each.cited.filter((id) => id !== taken.id) } : each,
        )
        const sources = [source('a', a), source('b', b), source('c', c)]
        const before = guideAsOf(guide(written(blocks), ...sources), NOW)
        const after = guideAsOf(guide(written(fewer), ...sources), NOW)
        expect(after.statements).toBe(before.statements)
        expect(after.staleStatements).toBeGreaterThanOrEqual(before.staleStatements)
        expect(after.notChecked).toEqual(expect.arrayContaining(before.notChecked))
      },
    ),
  )
})

test('what is said of freshness stays for its period, and changes at its ends', () => {
  const one = guide('It is so. [^a] [^b]', source('a', '2026-01-01'), source('b', '2026-02-01', 'statute'))
  const said = (now: number) => guideAsOf(one, new Date(now)).sources.map(({ stale }) => stale)
  const { after, until } = freshnessPeriod(one.sources, NOW)
  expect([after, until].map((end) => new Date(end).toISOString().slice(0, 10))).toEqual([
    '2026-04-11',
    '2027-03-08',
  ])
  expect([after, after + 1, until, until + 1].map(said)).toEqual([
    [false, false],
    [true, false],
    [true, false],
    [true, true],
  ])
})

test('a guide that release 0.1.0 published gets kinds by the hosts of its sources', () => {
  const urls = [
    ['https://uscode.house.gov/view.xhtml?req=x', 'statute'],
    ['https://www.ecfr.gov/current/title-8/section-103.2', 'regulation'],
    ['https://www.uscis.gov/i-90', 'agency-page'],
  ] as const
  const { kind: _, ...plain } = form
  const kept = {
    ...EXAMPLE_GUIDE,
    maxAgeDays: 365,
    sources: urls.map(([url], at) => ({ ...plain, id: `s${at}`, url })),
  }
  const read = KeptGuide.parse(kept)
  expect(read.sources.map(({ kind }) => kind)).toEqual(urls.map(([, kind]) => kind))
  expect(read).not.toHaveProperty('maxAgeDays')
})

test('the guides of this package are guides of the API', () => {
  for (const each of loadGuides()) {
    const dated = guideAsOf(each, new Date())
    expect(Guide.parse(dated)).toMatchObject({ slug: each.slug, body: each.body })
  }
})
