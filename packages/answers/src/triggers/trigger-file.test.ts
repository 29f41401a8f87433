import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { readTriggerFiles } from './trigger-file.ts'

/** Formats a trigger file that is valid. The tests replace parts of it. */
const formatTrigger = (id: string, precedence: number) => `id: ${id}
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

/** Writes files to a temporary folder, and reads the triggers in it. */
function load(files: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'plainpath-triggers-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return readTriggerFiles(pathToFileURL(`${folder}/`))
}

test('readTriggerFiles returns triggers in the order of their precedence, and ignores files that are not YAML', () => {
  const files = { 'a.yaml': formatTrigger('a', 2), 'b.yaml': formatTrigger('b', 1), 'notes.txt': 'x' }
  expect(load(files).map(({ id }) => id)).toEqual(['b', 'a'])
})

test.for([
  ['an id that differs from the name of the file', formatTrigger('b', 1), 'a.yaml: id: '],
  ['an unknown member', `${formatTrigger('a', 1)}author: me\n`, 'a.yaml: : Unrecognized key'],
  ['no patterns', formatTrigger('a', 1).replace(/patterns:[\s\S]*/, 'patterns: []'), 'a.yaml: patterns: '],
  [
    'a pattern without an example',
    formatTrigger('a', 1).replace('[court] }', '[] }'),
    'patterns.0.matches: ',
  ],
  ['a check without a question mark', formatTrigger('a', 1).replace('so?', 'so.'), 'a.yaml: ask: '],
  [
    'further sentences for a pattern that it lacks',
    `${formatTrigger('a', 1)}also: [{ patterns: [two], doNow: [], lines: [] }]\n`,
    'a.yaml: also.0: there is no pattern two',
  ],
  [
    'an invalid regular expression',
    `${formatTrigger('a', 1)}also: [{ patterns: [one], unless: '(', doNow: [], lines: [] }]\n`,
    'a.yaml: also.0.unless: ',
  ],
  ['invalid YAML', `${formatTrigger('a', 1)}\t"x`, 'a.yaml: '],
] as const)('readTriggerFiles rejects a file with %s', ([, text, message]) => {
  expect(() => load({ 'a.yaml': text })).toThrow(message)
})
