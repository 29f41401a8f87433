import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { readGuides } from './load-guides.ts'
import { parseReadings, planRecheck, type Reading, writeRecheck } from './recheck.ts'

const NOW = new Date('2026-11-20T12:00:00Z')
/** A guide file. Its paragraph and its list item cite the source `law`; the list item also cites `page`. */
const FILE = `---
slug: a
title: A
summary: About a.
audience: Anyone.
language: en
status: published
version: 3
updated: 2026-06-26
reviewed: null
talkToAnAttorneyWhen: [You have a hearing.]
sources:
  - id: law
    title: The law
    url: https://www.ecfr.gov/current/title-8/section-103.2
    agency: The agency
    kind: regulation
    checked: 2022-01-01
    checkedBy: an old copy
  - id: page
    title: The page
    url: https://www.uscis.gov/i-90
    agency: USCIS
    kind: agency-page
    checked: 2026-06-26
    checkedBy: a copy
---

You have **ten** days. Count each day. [^law]

- Send [the form](https://www.uscis.gov/i-90). [^law] [^page]
`
/** Creates a reading that updates the source `law`: its copy is newer and official, and supports the text. */
const createReading = (overrides: Partial<Reading> = {}): Reading => ({
  guide: 'a',
  source: 'law',
  url: 'https://www.ecfr.gov/current/title-8/section-103.2',
  newest_copy_date: '2026-08-03',
  how_dated: 'current through 2026-08-03, captured 2026-08-05',
  checked_by: 'a copy: current through that day',
  verdicts: [
    { sentence_starts: 'You have ten days.', verdict: 'supported', quote: 'within ten days' },
    { sentence_starts: 'Send the form.', verdict: 'supported', quote: 'on the form' },
  ],
  ...overrides,
})

/** Creates a content folder with one guide file, `a.md`, which `read` returns. */
function createFolder(text: string) {
  const path = mkdtempSync(join(tmpdir(), 'plainpath-recheck-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  writeFileSync(join(path, 'a.md'), text)
  return { folder: pathToFileURL(`${path}/`), read: () => readFileSync(join(path, 'a.md'), 'utf8') }
}

test('writeRecheck writes `checked` and `checkedBy` of the source, the next version and `updated`, and changes no other line', () => {
  const { folder, read } = createFolder(FILE)
  const plan = planRecheck(readGuides(folder), [createReading()], NOW)
  expect(plan).toMatchObject({ changes: [{ before: { checked: '2022-01-01' } }], skipped: [] })
  expect(writeRecheck(plan, folder)).toEqual(['a'])
  expect(read()).toBe(
    FILE.replace('version: 3', 'version: 4')
      .replace('updated: 2026-06-26', 'updated: 2026-08-03')
      .replace('2022-01-01', '2026-08-03')
      .replace('checkedBy: an old copy', 'checkedBy: "a copy: current through that day"'),
  )
  expect(readGuides(folder)[0]?.sources[0]).toMatchObject({ checkedBy: 'a copy: current through that day' })
  // The source now has the date of the copy, so the same reading is no longer newer.
  expect(planRecheck(readGuides(folder), [createReading()], NOW).changes).toEqual([])
})

test.for([
  ['an unknown source', { source: 'nothing' }, 'no such source'],
  ['an unknown guide', { guide: 'nothing' }, 'no such source'],
  [
    'a copy that is not newer',
    { source: 'page', newest_copy_date: '2026-06-26', how_dated: '' },
    'not newer',
  ],
  ['a copy with a future date', { newest_copy_date: '2026-11-21', how_dated: '' }, 'yet to come'],
  ['two dates, one of them not newer', { how_dated: 'published 2021-12-31' }, 'the copy of 2021-12-31'],
  // The host looks like the official `uscis.gov`.
  ['a copy from an unofficial host', { url: 'https://usciss.us/i-90' }, 'no official address'],
  ['an item without a verdict', { verdicts: createReading().verdicts.slice(0, 1) }, 'Send the form.'],
  [
    'a paragraph that the copy supports only in part',
    {
      verdicts: [
        ...createReading().verdicts,
        { sentence_starts: 'Count each day.', verdict: 'changed', quote: '' },
      ],
    },
    'not found in the copy: You have ten days.',
  ],
  [
    'a paragraph that the copy contradicts',
    { verdicts: createReading().verdicts.map((verdict) => ({ ...verdict, verdict: 'changed' })) },
    'not found in the copy: You have ten days.',
  ],
] satisfies [string, Partial<Reading>, string][])(
  'planRecheck skips a reading with %s, and says why',
  ([, change, reason]) => {
    const { folder } = createFolder(FILE)
    const plan = planRecheck(readGuides(folder), [createReading(change)], NOW)
    expect(plan.changes).toEqual([])
    expect(plan.skipped[0]?.why).toContain(reason)
  },
)

test('parseReadings parses all readings, or reports the mistakes of all lines', () => {
  const line = JSON.stringify({ ...createReading(), more: 'for people' })
  const readings = [createReading(), createReading()]
  expect(parseReadings(`${line}\n\n${line}\n`)).toMatchObject({ ok: true, value: readings })
  expect(parseReadings(`${line}\n{\n{"guide": "a"}`)).toMatchObject({
    ok: false,
    error: [expect.stringMatching(/^line 2: /), expect.stringMatching(/^line 3: .*source/s)],
  })
})
