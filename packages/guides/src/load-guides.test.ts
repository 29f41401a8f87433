import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { removeAttorneySection } from './guide-body.ts'
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
const guideFile = (front: string, body = 'Text. [^form]') => `---\n${front}\n---\n\n${body}\n`

function loadFolder(files: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'plainpath-guides-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return readGuides(pathToFileURL(`${folder}/`))
}

test('reads guides by slug, and ignores other files', () => {
  const guides = loadFolder({
    'b.md': guideFile(FRONT.replace('slug: a', 'slug: b')),
    'a.md': guideFile(FRONT),
    'notes.txt': 'x',
  })
  expect(guides.map(({ slug, body, updated, reviewedBy }) => ({ slug, body, updated, reviewedBy }))).toEqual([
    { slug: 'a', body: 'Text. [^form]', updated: '2026-06-26', reviewedBy: null },
    { slug: 'b', body: 'Text. [^form]', updated: '2026-06-26', reviewedBy: null },
  ])
})

test.for([
  ['no front matter', 'Text.', 'a.md: does not begin with front matter'],
  ['invalid YAML', guideFile(`${FRONT}\n\ttitle: "x`), 'a.md: front matter: '],
  ['a member twice', guideFile(`${FRONT}\nslug: a`), 'a.md: front matter: Map keys must be unique'],
  ['an unknown member', guideFile(`${FRONT}\nauthor: me`), 'a.md: front matter: Unrecognized key: "author"'],
  ['a missing member', guideFile(FRONT.replace('version: 1\n', '')), 'a.md: version: '],
  ['an unknown status', guideFile(FRONT.replace('status: published', 'status: live')), 'a.md: status: '],
  [
    'a day that is not in the calendar',
    guideFile(FRONT.replace('updated: 2026-06-26', 'updated: 2026-02-30')),
    'a.md: updated: ',
  ],
  [
    'an unknown member of a source',
    guideFile(FRONT.replace('checkedBy: a copy', 'checkedBy: a copy, by: me')),
    'a.md: sources.0: ',
  ],
  [
    'a source without a kind',
    guideFile(FRONT.replace('kind: form-instructions, ', '')),
    'a.md: sources.0.kind: ',
  ],
  [
    'one limit for all sources',
    guideFile(`${FRONT}\nmaxAgeDays: 365`),
    'a.md: front matter: Unrecognized key',
  ],
  [
    'a source without a day',
    guideFile(FRONT.replace('checked: 2026-06-26, ', '')),
    'a.md: sources.0.checked: ',
  ],
  [
    'two sources of one id',
    guideFile(`${FRONT}\n${FRONT.split('\n').at(-1)}`),
    'a.md: sources.1.id: repeats "form"',
  ],
  [
    'a review without a name',
    guideFile(FRONT.replace('reviewed: null', 'reviewed: 2026-06-26')),
    'a.md: reviewed: ',
  ],
  ['an empty body', guideFile(FRONT, ''), 'a.md: body: is empty'],
  [
    'a slug that is not the name of the file',
    guideFile(FRONT.replace('slug: a', 'slug: b')),
    'a.md: slug: must be the name of the file',
  ],
] as const)('rejects a file with %s', ([, text, mistake]) => {
  expect(() => loadFolder({ 'a.md': text })).toThrow(mistake)
})

test('reports all mistakes of all files at once', () => {
  const files = {
    'a.md': guideFile(FRONT.replace('title: A', 'title: ""').replace('version: 1', 'version: 0')),
    'b.md': 'x',
  }
  expect(() => loadFolder(files)).toThrow(/a\.md: title: .*\na\.md: version: .*\nb\.md: does not begin/)
})

test('loads every file of content/ as the guide with its name', () => {
  const files = readdirSync(new URL('../content/', import.meta.url)).map((name) => name.replace(/\.md$/, ''))
  expect(loadGuides().map(({ slug }) => slug)).toEqual(files.toSorted())
  expect(files).not.toEqual([])
})

test('removes the last section for a page that renders it differently', () => {
  for (const { body } of loadGuides()) {
    expect(removeAttorneySection(body)).toMatch(/## What changes often: check here\n[^#]+$/)
    expect(body.startsWith(removeAttorneySection(body))).toBe(true)
  }
})
