import { expect, test } from 'vitest'
import { EXAMPLE_GUIDE } from '../test/example-guide.ts'
import { WITHDRAWN_NOTICE } from './guide-body.ts'
import { noteFreshness } from './note-freshness.ts'
import { toDatedGuide } from './packaged-guide.ts'

const [form] = EXAMPLE_GUIDE.sources
const sources = [
  { ...form!, id: 'old', checked: '2020-01-01' },
  { ...form!, id: 'older', checked: '2019-01-01' },
  { ...form!, id: 'new', checked: '2026-06-26' },
]
/**
 * Adds notes on 30 June 2026, when `old` and `older` are stale and `new` is fresh. A note names the dates of the stale sources.
 */
const addNotes = (body: string) =>
  noteFreshness(toDatedGuide({ ...EXAMPLE_GUIDE, sources, body }, new Date('2026-06-30')), {
    stale: (staleSources) => `(${staleSources.map(({ checked }) => checked).join(', ') || 'never'})`,
    unchecked: 'Nobody checked these.',
  })

test.for([
  ['a stale paragraph', 'It is so. [^old] [^older]', 'It is so. [^old] [^older] (2020-01-01, 2019-01-01)'],
  [
    'a paragraph of several lines',
    'It is\nso. [^old]\n\nYes. [^new]',
    'It is\nso. [^old] (2020-01-01)\n\nYes. [^new]',
  ],
  [
    'a stale item',
    'Look:\n\n- One. [^old]\n- Two. [^new]',
    'Look:\n\n- One. [^old] (2020-01-01)\n- Two. [^new]',
  ],
  ['a statement without a source', 'It is so.', 'It is so. (never)'],
  [
    'nothing, where a section is withdrawn',
    `## Fees\n\n${WITHDRAWN_NOTICE}`,
    `## Fees\n\n${WITHDRAWN_NOTICE}`,
  ],
  ['nothing, where one source is fresh', 'It is so. [^old] [^new]', 'It is so. [^old] [^new]'],
] as const)('noteFreshness adds a note after %s', ([, body, expected]) =>
  expect(addNotes(body)).toBe(expected),
)

test('noteFreshness adds one note for links and phone numbers without a source, after the last in their section', () => {
  const body = `Open [it](https://www.uscis.gov/i-90). [^new]

## What changes often: check here

- [One](https://www.uscis.gov/i-90)
- Call 1-800-375-5283.

End.

## When to talk to an attorney

- You have [a hearing](/guides/example).`
  expect(addNotes(body)).toBe(body.replace('5283.', '5283.\n\nNobody checked these.'))
})
