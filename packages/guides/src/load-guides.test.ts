import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { removeAttorneySection } from './guide-body.ts'
import { loadGuides, readGuides } from './load-guides.ts'

/** The front matter of a valid guide file, `a.md`. The tests replace parts of it. */
const FRONT_MATTER = `slug: a
title: A
summary: About a.
audience: Anyone.
language: en
status: published
version: 1
updated: 2026-06-26
reviewed: null
talkToAnAttorneyWhen: [You have a hearing.]
sources:
  - { id: form, title: Form, url: 'https://www.uscis.gov/i-90', agency: USCIS, kind: form-instructions, checked: 2026-06-26, checkedBy: a copy }`
const formatFile = (front: string, body = 'Text. [^form]') => `---\n${front}\n---\n\n${body}\n`

/** Writes files to a temporary folder, and reads the guides in it. */
function readGuidesFromFiles(files: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'plainpath-guides-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return readGuides(pathToFileURL(`${folder}/`))
}

test('readGuides reads guides, sorted by slug, and ignores other files', () => {
  const guides = readGuidesFromFiles({
    'b.md': formatFile(FRONT_MATTER.replace('slug: a', 'slug: b')),
    'a.md': formatFile(FRONT_MATTER),
    'notes.txt': 'x',
  })
  expect(guides.map(({ slug, body, updated, reviewedBy }) => ({ slug, body, updated, reviewedBy }))).toEqual([
    { slug: 'a', body: 'Text. [^form]', updated: '2026-06-26', reviewedBy: null },
    { slug: 'b', body: 'Text. [^form]', updated: '2026-06-26', reviewedBy: null },
  ])
})

test.for([
  ['no front matter', 'Text.', 'a.md: does not begin with front matter'],
  ['invalid YAML', formatFile(`${FRONT_MATTER}\n\ttitle: "x`), 'a.md: front matter: '],
  ['a member twice', formatFile(`${FRONT_MATTER}\nslug: a`), 'a.md: front matter: Map keys must be unique'],
  [
    'an unknown member',
    formatFile(`${FRONT_MATTER}\nauthor: me`),
    'a.md: front matter: Unrecognized key: "author"',
  ],
  ['a missing member', formatFile(FRONT_MATTER.replace('version: 1\n', '')), 'a.md: version: '],
  [
    'an unknown status',
    formatFile(FRONT_MATTER.replace('status: published', 'status: live')),
    'a.md: status: ',
  ],
  [
    'a date that is not in the calendar',
    formatFile(FRONT_MATTER.replace('updated: 2026-06-26', 'updated: 2026-02-30')),
    'a.md: updated: ',
  ],
  [
    'an unknown member of a source',
    formatFile(FRONT_MATTER.replace('checkedBy: a copy', 'checkedBy: a copy, by: me')),
    'a.md: sources.0: ',
  ],
  [
    'a source without a kind',
    formatFile(FRONT_MATTER.replace('kind: form-instructions, ', '')),
    'a.md: sources.0.kind: ',
  ],
  [
    'one age limit for all sources',
    formatFile(`${FRONT_MATTER}\nmaxAgeDays: 365`),
    'a.md: front matter: Unrecognized key',
  ],
  [
    'a source without a check date',
    formatFile(FRONT_MATTER.replace('checked: 2026-06-26, ', '')),
    'a.md: sources.0.checked: ',
  ],
  [
    'two sources with the same id',
    formatFile(`${FRONT_MATTER}\n${FRONT_MATTER.split('\n').at(-1)}`),
    'a.md: sources.1.id: repeats "form"',
  ],
  [
    'a review without a name',
    formatFile(FRONT_MATTER.replace('reviewed: null', 'reviewed: 2026-06-26')),
    'a.md: reviewed: ',
  ],
  ['an empty body', formatFile(FRONT_MATTER, ''), 'a.md: body: is empty'],
  [
    'a slug that is not the name of the file',
    formatFile(FRONT_MATTER.replace('slug: a', 'slug: b')),
    'a.md: slug: must be the name of the file',
  ],
] as const)('readGuides rejects a file with %s', ([, text, mistake]) => {
  expect(() => readGuidesFromFiles({ 'a.md': text })).toThrow(mistake)
})

test('readGuides reports the mistakes of all files in one error', () => {
  const files = {
    'a.md': formatFile(FRONT_MATTER.replace('title: A', 'title: ""').replace('version: 1', 'version: 0')),
    'b.md': 'x',
  }
  expect(() => readGuidesFromFiles(files)).toThrow(
    /a\.md: title: .*\na\.md: version: .*\nb\.md: does not begin/,
  )
})

test('loadGuides loads every file of content/, sorted by slug', () => {
  const files = readdirSync(new URL('../content/', import.meta.url)).map((name) => name.replace(/\.md$/, ''))
  expect(loadGuides().map(({ slug }) => slug)).toEqual(files.toSorted())
  expect(files).not.toEqual([])
})

test('removeAttorneySection only cuts off the end of a body, so that the changes section is the last one', () => {
  for (const { body } of loadGuides()) {
    expect(removeAttorneySection(body)).toMatch(/## What changes often: check here\n[^#]+$/)
    expect(body.startsWith(removeAttorneySection(body))).toBe(true)
  }
})
