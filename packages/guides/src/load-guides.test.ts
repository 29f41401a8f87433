import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { withoutAttorneySection } from './guide-body.ts'
import { loadGuides, readGuides } from './load-guides.ts'

const FRONT = `slug: a
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
const file = (front: string, body = 'Text. [^form]') => `---\n${front}\n---\n\n${body}\n`

function load(files: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'plainpath-guides-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return readGuides(pathToFileURL(`${folder}/`))
}

test('files are read by slug, other files are left alone', () => {
  const guides = load({
    'b.md': file(FRONT.replace('slug: a', 'slug: b')),
    'a.md': file(FRONT),
    'notes.txt': 'x',
  })
  expect(guides.map(({ slug, body, updated, reviewedBy }) => ({ slug, body, updated, reviewedBy }))).toEqual([
    { slug: 'a', body: 'Text. [^form]', updated: '2026-06-26', reviewedBy: null },
    { slug: 'b', body: 'Text. [^form]', updated: '2026-06-26', reviewedBy: null },
  ])
})

test.for([
  ['no front matter', 'Text.', 'a.md: does not begin with front matter'],
  ['YAML that is none', file(`${FRONT}\n\ttitle: "x`), 'a.md: front matter: '],
  ['a member twice', file(`${FRONT}\nslug: a`), 'a.md: front matter: Map keys must be unique'],
  [
    'a member it does not know',
    file(`${FRONT}\nauthor: me`),
    'a.md: front matter: Unrecognized key: "author"',
  ],
  ['a member too few', file(FRONT.replace('version: 1\n', '')), 'a.md: version: '],
  ['a status of its own', file(FRONT.replace('status: published', 'status: live')), 'a.md: status: '],
  [
    'a day that is not in the calendar',
    file(FRONT.replace('updated: 2026-06-26', 'updated: 2026-02-30')),
    'a.md: updated: ',
  ],
  [
    'an unknown member of a source',
    file(FRONT.replace('checkedBy: a copy', 'checkedBy: a copy, by: me')),
    'a.md: sources.0: ',
  ],
  ['a source without a kind', file(FRONT.replace('kind: form-instructions, ', '')), 'a.md: sources.0.kind: '],
  ['one limit for all sources', file(`${FRONT}\nmaxAgeDays: 365`), 'a.md: front matter: Unrecognized key'],
  ['a source without a day', file(FRONT.replace('checked: 2026-06-26, ', '')), 'a.md: sources.0.checked: '],
  [
    'two sources of one id',
    file(`${FRONT}\n${FRONT.split('\n').at(-1)}`),
    'a.md: sources.1.id: repeats "form"',
  ],
  [
    'a review without a name',
    file(FRONT.replace('reviewed: null', 'reviewed: 2026-06-26')),
    'a.md: reviewed: ',
  ],
  ['an empty body', file(FRONT, ''), 'a.md: body: is empty'],
  [
    'another slug than its file',
    file(FRONT.replace('slug: a', 'slug: b')),
    'a.md: slug: must be the name of the file',
  ],
] as const)('a file is refused for %s', ([, text, mistake]) => {
  expect(() => load({ 'a.md': text })).toThrow(mistake)
})

test('all mistakes of all files are named at once', () => {
  const files = {
    'a.md': file(FRONT.replace('title: A', 'title: ""').replace('version: 1', 'version: 0')),
    'b.md': 'x',
  }
  expect(() => load(files)).toThrow(/a\.md: title: .*\na\.md: version: .*\nb\.md: does not begin/)
})

test('every file of content/ is loaded as the guide of its name', () => {
  const files = readdirSync(new URL('../content/', import.meta.url)).map((name) => name.replace(/\.md$/, ''))
  expect(loadGuides().map(({ slug }) => slug)).toEqual(files.toSorted())
  expect(files).not.toEqual([])
})

test('a page can leave out the last section to show it in its own way', () => {
  for (const { body } of loadGuides()) {
    expect(withoutAttorneySection(body)).toMatch(/## What changes often: check here\n[^#]+$/)
    expect(body.startsWith(withoutAttorneySection(body))).toBe(true)
  }
})
