import { expect, test } from 'vitest'
import { EXAMPLE_GUIDE } from '../test/example-guide.ts'
import { checkGuides, GUIDE_CHECKS, type GuideCheckName } from './check-guides.ts'
import { CHANGES_HEADING, DISCLAIMER } from './guide-body.ts'
import { loadGuides } from './load-guides.ts'
import type { PackagedGuide } from './packaged-guide.ts'

const NOW = new Date('2026-11-20T12:00:00Z')

const body = (from: string | RegExp, to: string) => {
  const changed = EXAMPLE_GUIDE.body.replace(from, to)
  if (changed === EXAMPLE_GUIDE.body) throw new Error(`nothing planted: ${from}`)
  return { body: changed }
}
const saying = (sentence: string) => body('You ask for it on a form.', sentence)
const source = (change: Partial<PackagedGuide['sources'][number]>) => ({
  sources: EXAMPLE_GUIDE.sources.map((form) => ({ ...form, ...change })),
})
const unused = { sources: [...EXAMPLE_GUIDE.sources, ...source({ id: 'other' }).sources] }
const HARD =
  'Naturalization applicants demonstrating continuous residence simultaneously satisfy additional statutory eligibility requirements. [^form] '

const PLANTED: [check: GuideCheckName, why: string, change: Partial<PackagedGuide>][] = [
  ['paragraph-without-source', 'a paragraph', body('on a form. [^form]', 'on a form.')],
  ['paragraph-without-source', 'an item of a list', body('- The form. [^form]', '- The form.')],
  [
    'paragraph-without-source',
    'a marker that is not at the end',
    body('You ask for it on a form. [^form]', 'You ask [^form] for it.'),
  ],
  [
    'marker-inside-text',
    'a source of one sentence only',
    body('You ask for it on a form. [^form]', 'You ask. [^form] You get it. [^form]'),
  ],
  ['unknown-source', 'a marker that no source has', body('on a form. [^form]', 'on a form. [^form] [^frm]')],
  ['unused-source', 'a source that no paragraph names', unused],
  ['unofficial-source', 'another host', source({ url: 'https://usciss.us/i-90' })],
  [
    'unofficial-source',
    'a host that begins like ours',
    source({ url: 'https://www.uscis.gov.example.com/i-90' }),
  ],
  [
    'unofficial-source',
    'a host in place of the user name',
    source({ url: 'https://www.uscis.gov@example.com/' }),
  ],
  ['fee-stated', 'a sum in dollars', saying('You pay $710.')],
  ['fee-stated', 'a sum in words', saying('You pay 1,225 dollars.')],
  ['fee-stated', 'a sum in the summary', { summary: 'It costs USD 5.' }],
  ['date-stated', 'a day', saying('It ended on October 30, 2025.')],
  ['date-stated', 'a day, the other way round', saying('It ended on 30 Oct.')],
  ['date-stated', 'a date of the Visa Bulletin', saying('The date is 22JUL19.')],
  ['date-stated', 'an edition of a form', saying('Use edition 08/21/25.')],
  ['date-stated', 'a year', saying('The rule of 2025 is new.')],
  ['processing-time-stated', 'a length', saying('USCIS takes 8 to 14 months.')],
  ['processing-time-stated', 'a length in words', saying('It usually arrives after two weeks.')],
  ['malformed-link', 'a blank in the address', body('(/guides/example)', '(/guides/an example)')],
  ['malformed-link', 'an open parenthesis', body('(/guides/example)', '(/guides/example')],
  ['malformed-link', 'a bare address', saying('See https://www.uscis.gov/i-90 first.')],
  ['malformed-link', 'no text', saying('See [](https://www.uscis.gov/i-90) first.')],
  ['unofficial-link', 'another host', saying('See [a site](https://myuscis.com/).')],
  ['unofficial-link', 'plain http', saying('See [a site](http://www.uscis.gov/).')],
  ['unofficial-link', 'a script', saying('See [a site](javascript:alert`1`).')],
  ['unknown-guide-linked', 'a guide that is not there', body('/guides/example', '/guides/nowhere')],
  ['unknown-guide-linked', 'another page of ours', body('/guides/example', '/contact')],
  ['unknown-guide-linked', 'another site, by its host alone', body('/guides/example', '//example.com/x')],
  [
    'grade-too-high',
    'long words in long sentences',
    body('## What to do', `${HARD.repeat(3)}\n\n## What to do`),
  ],
  ['other-markup', 'HTML', saying('You <b>ask</b>.')],
  ['other-markup', 'a picture', saying('![A form](https://www.uscis.gov/i-90) is it.')],
  ['other-markup', 'a heading of level 1', body('## What to do', '# What to do')],
  ['other-markup', 'a list in a list', body('- The form.', '  - The form.')],
  ['changes-section-missing', 'no such section', body(CHANGES_HEADING, 'Other things')],
  [
    'changes-section-missing',
    'an item without a link',
    body('[fee schedule](https://www.uscis.gov/g-1055)', 'ask us'),
  ],
  [
    'attorney-section-missing',
    'a section after it',
    body(DISCLAIMER, `## More\n\nMore. [^form]\n\n${DISCLAIMER} [^form]`),
  ],
  [
    'attorney-triggers-differ',
    'a trigger that the body lacks',
    { talkToAnAttorneyWhen: ['You have a hearing.', 'You fear.'] },
  ],
  [
    'attorney-triggers-differ',
    'a trigger that the front matter lacks',
    body('- You have a hearing.', '- You have a hearing.\n- You fear.'),
  ],
  ['attorney-lists-missing', 'one list is not linked', body(/- \[Accredited people\].*\n/, '')],
  ['disclaimer-missing', 'other words at the end', body(DISCLAIMER, 'This is not legal advice.')],
  ['checked-after-updated', 'a source newer than the text', { updated: '2026-06-25' }],
  ['date-after-newest-copy', 'a day that no copy can have', { updated: '2026-11-20' }],
  ['impossible-review', 'a review to come', { reviewed: '2026-11-21', reviewedBy: 'A. Attorney' }],
  ['impossible-review', 'a review of an earlier text', { reviewed: '2026-06-25', reviewedBy: 'A. Attorney' }],
]

test.for(PLANTED)('%s is found: %s', ([check, , change]) => {
  const found = checkGuides([{ ...EXAMPLE_GUIDE, ...change }], NOW)
  expect(found.map((finding) => finding.check)).toContain(check)
})

test('summary-repeated is found, once for a pair, whatever the capitals and signs', () => {
  const twin = { ...EXAMPLE_GUIDE, slug: 'twin', summary: 'how to ask - for a PAPER' }
  expect(checkGuides([EXAMPLE_GUIDE, twin], NOW)).toEqual([
    { slug: 'twin', check: 'summary-repeated', detail: 'the same as example' },
  ])
})

test('each check has a planted mistake', () => {
  const planted = new Set([...PLANTED.map(([check]) => check), 'summary-repeated'])
  expect(planted).toEqual(new Set(Object.keys(GUIDE_CHECKS)))
})

test.for([
  ['a guide without a mistake', {}],
  ['lengths that the law fixes', saying('You were in the US for 30 of 60 months.')],
  ['a telephone number', saying('Call 1-800-898-7180.')],
  ['months without a day', saying('It comes out in January and April. You may 3 times.')],
  ['a review of this text', { reviewed: '2026-11-20', reviewedBy: 'A. Attorney' }],
] satisfies [string, Partial<PackagedGuide>][])('nothing is found in %s', ([, change]) => {
  expect(checkGuides([{ ...EXAMPLE_GUIDE, ...change }], NOW)).toEqual([])
})

test('the guides of this package have no mistake', () => {
  expect(checkGuides(loadGuides(), new Date())).toEqual([])
})
