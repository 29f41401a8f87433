import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { readTriggerFiles } from './trigger-file.ts'

const trigger = (id: string, precedence: number) => `id: ${id}
title: A title
urgency: high
precedence: ${precedence}
why: A lawyer is needed.
source: { title: A law, url: 'https://www.uscis.gov/' }
ask: Is it so?
doNow: []
mayStillSay: []
patterns:
  - { id: one, slots: [court], matches: [court] }
`

function load(files: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'plainpath-triggers-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return readTriggerFiles(pathToFileURL(`${folder}/`))
}

test('files are read in the order of their precedence, other files are left alone', () => {
  const files = load({ 'a.yaml': trigger('a', 2), 'b.yaml': trigger('b', 1), 'notes.txt': 'x' })
  expect(files.map(({ id }) => id)).toEqual(['b', 'a'])
})

test.for([
  ['another id than its name', trigger('b', 1), 'a.yaml: id: '],
  ['an unknown member', `${trigger('a', 1)}author: me\n`, 'a.yaml: : Unrecognized key'],
  ['no patterns', trigger('a', 1).replace(/patterns:[\s\S]*/, 'patterns: []'), 'a.yaml: patterns: '],
  ['a pattern without an example', trigger('a', 1).replace('[court] }', '[] }'), 'patterns.0.matches: '],
  ['a check that is no question', trigger('a', 1).replace('so?', 'so.'), 'a.yaml: ask: '],
  [
    'sentences for a pattern that it lacks',
    `${trigger('a', 1)}also: [{ patterns: [two], doNow: [], lines: [] }]\n`,
    'a.yaml: also.0: there is no pattern two',
  ],
  [
    'an expression that cannot be read',
    `${trigger('a', 1)}also: [{ patterns: [one], unless: '(', doNow: [], lines: [] }]\n`,
    'a.yaml: also.0.unless: ',
  ],
  ['YAML that is none', `${trigger('a', 1)}\t"x`, 'a.yaml: '],
] as const)('a file is refused for %s', ([, text, mistake]) => {
  expect(() => load({ 'a.yaml': text })).toThrow(mistake)
})
