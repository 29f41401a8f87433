import { Guide } from '@plainpath/domain'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EXAMPLE_GUIDE } from '../test/example-guide.ts'
import { LIMIT_DAYS } from './freshness.ts'
import { loadGuides } from './load-guides.ts'
import { type PackagedGuide, StoredGuide, toDatedGuide } from './packaged-guide.ts'

type Source = PackagedGuide['sources'][number]

const DAY_MS = 86_400_000
const [exampleSource] = EXAMPLE_GUIDE.sources as [Source]
const createSource = (id: string, checked: string, kind: Source['kind'] = 'contact'): Source => ({
  ...exampleSource,
  id,
  checked,
  kind,
})
const createGuide = (body: string, ...sources: Source[]): PackagedGuide => ({
  ...EXAMPLE_GUIDE,
  body,
  sources,
})
const NOW = new Date('2026-06-30T00:00:00Z')
/** Contacts stay fresh for 100 days: at `NOW`, one checked on `FRESH_DAY` is still fresh, and one checked on `STALE_DAY` is not. */
const [FRESH_DAY, STALE_DAY] = ['2026-03-22', '2026-03-21']

test.for(Object.entries(LIMIT_DAYS) as [Source['kind'], number][])(
  'a source of the kind %s is fresh for exactly %i days after its check date, and stale a millisecond later',
  ([kind, days]) => {
    const guide = createGuide('It is so. [^a]', createSource('a', '2025-01-01', kind))
    const freshUntil = Date.parse('2025-01-01') + days * DAY_MS
    expect(toDatedGuide(guide, new Date(freshUntil))).toMatchObject({ stale: false, staleStatements: 0 })
    const staleGuide = toDatedGuide(guide, new Date(freshUntil + 1))
    expect(staleGuide).toMatchObject({ stale: true, staleStatements: 1 })
    expect(staleGuide.sources[0]).toMatchObject({ kind, limitDays: days, stale: true })
  },
)

test.for([
  ['in a text with one stale source', 'It is so. [^old]', [1, 1]],
  ['in a text with a stale and a fresh source', 'It is so. [^old] [^new]', [1, 0]],
  ['one for each sentence of a paragraph', 'It is so. It is not. [^old]\n\nYes. [^new]', [3, 2]],
  ['one for each item of a list', 'Look:\n\n- It is so. It is not. [^old]\n- Yes. [^new]', [2, 1]],
  ['in a text without any source', 'It is so.', [1, 1]],
  ['none in a section that states no facts', '## What changes often: check here\n\n- It is so.', [0, 0]],
] as const)(
  'toDatedGuide counts the statements, and the stale ones among them: %s',
  ([, body, [statements, staleStatements]]) => {
    const guide = createGuide(body, createSource('old', STALE_DAY), createSource('new', FRESH_DAY))
    const expected = { statements, staleStatements, stale: staleStatements > 0 }
    expect(toDatedGuide(guide, NOW)).toMatchObject(expected)
  },
)

test('toDatedGuide lists external links and phone numbers in blocks without a source, each once', () => {
  const body = `Call 1-800-898-7180. [^a]

## What changes often: check here

- The form: [page](https://www.uscis.gov/i-90), or call 1-800-375-5283.
- The form again: [page](https://www.uscis.gov/i-90). See [our guide](/guides/example).`
  expect(toDatedGuide(createGuide(body, createSource('a', FRESH_DAY)), NOW).notChecked).toEqual([
    'https://www.uscis.gov/i-90',
    '1-800-375-5283',
  ])
})

const arbitraryBlock = fc.record({
  lead: fc.constantFrom('', '- ', '1. '),
  sentences: fc.array(fc.constantFrom('It is so.', 'Ask.', 'Do these:', 'Call 1-800-898-7180.'), {
    minLength: 1,
    maxLength: 3,
  }),
  cited: fc.subarray(['a', 'b', 'c']),
})
/** Formats blocks as the body of a guide, in which the markers of a block follow its sentences. */
const formatBlocks = (blocks: readonly { lead: string; sentences: string[]; cited: string[] }[]) =>
  blocks
    .map(({ lead, sentences, cited }) => lead + [...sentences, ...cited.map((id) => `[^${id}]`)].join(' '))
    .join('\n\n')

test('removing a citation never makes a guide fresher', () => {
  const days = fc.constantFrom(FRESH_DAY, STALE_DAY, '2026-06-01')
  fc.assert(
    fc.property(
      fc.array(arbitraryBlock, { minLength: 1, maxLength: 6 }),
      fc.tuple(days, days, days),
      fc.nat(),
      (blocks, [dayA, dayB, dayC], randomNumber) => {
        // The random number selects the citation to remove.
        const citations = blocks.flatMap(({ cited }, index) => cited.map((id) => ({ index, id })))
        fc.pre(citations.length > 0)
        const removed = citations[randomNumber % citations.length]
        const changedBlocks = blocks.map((block, index) =>
          index === removed?.index
            ? { ...block, cited: block.cited.filter((id) => id !== removed.id) }
            : block,
        )
        const sources = [createSource('a', dayA), createSource('b', dayB), createSource('c', dayC)]
        const before = toDatedGuide(createGuide(formatBlocks(blocks), ...sources), NOW)
        const after = toDatedGuide(createGuide(formatBlocks(changedBlocks), ...sources), NOW)
        expect(after.statements).toBe(before.statements)
        expect(after.staleStatements).toBeGreaterThanOrEqual(before.staleStatements)
        expect(after.notChecked).toEqual(expect.arrayContaining(before.notChecked))
      },
    ),
  )
})

test('for a guide that release 0.1.0 published, StoredGuide derives the kind of each source from its host', () => {
  const urls = [
    ['https://uscode.house.gov/view.xhtml?req=x', 'statute'],
    ['https://www.ecfr.gov/current/title-8/section-103.2', 'regulation'],
    ['https://www.uscis.gov/i-90', 'agency-page'],
  ] as const
  const { kind: _, ...sourceWithoutKind } = exampleSource
  const stored = {
    ...EXAMPLE_GUIDE,
    maxAgeDays: 365,
    sources: urls.map(([url], index) => ({ ...sourceWithoutKind, id: `s${index}`, url })),
  }
  const parsed = StoredGuide.parse(stored)
  expect(parsed.sources.map(({ kind }) => kind)).toEqual(urls.map(([, kind]) => kind))
  expect(parsed).not.toHaveProperty('maxAgeDays')
})

test('each guide of this package, with the members that the API adds, matches the schema of the API', () => {
  for (const guide of loadGuides()) {
    const datedGuide = toDatedGuide(guide, new Date())
    const servedGuide = {
      ...datedGuide,
      url: `https://plainpath.example/guides/${guide.slug}`,
      sources: datedGuide.sources.map((source) => ({ ...source, copyFrom: source.checked })),
    }
    expect(Guide.parse(servedGuide)).toMatchObject({ slug: guide.slug, body: guide.body })
  }
})
