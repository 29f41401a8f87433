import { expect, test } from 'vitest'
import { EXAMPLE_GUIDE } from '../test/example-guide.ts'
import { checkGuides, GUIDE_CHECKS, type GuideCheckName } from './check-guides.ts'
import { CHANGES_HEADING, DISCLAIMER } from './guide-body.ts'
import { loadGuides } from './load-guides.ts'
import type { PackagedGuide } from './packaged-guide.ts'

const NOW = new Date('2026-11-20T12:00:00Z')

/** Replaces a part of the example's body. @throws {Error} if the body does not have that part, so that no test plants nothing */
const replaceInBody = (from: string | RegExp, to: string) => {
  const body = EXAMPLE_GUIDE.body.replace(from, to)
  if (body === EXAMPLE_GUIDE.body) throw new Error(`nothing planted: ${from}`)
  return { body }
}
const replaceSentence = (sentence: string) => replaceInBody('You ask for it on a form.', sentence)
const changeSource = (change: Partial<PackagedGuide['sources'][number]>) => ({
  sources: EXAMPLE_GUIDE.sources.map((form) => ({ ...form, ...change })),
})
const UNUSED_SOURCE = { sources: [...EXAMPLE_GUIDE.sources, ...changeSource({ id: 'other' }).sources] }
/** A sentence that raises the reading grade of a text. */
const DIFFICULT_SENTENCE =
  'Naturalization applicants demonstrating continuous residence simultaneously satisfy additional statutory eligibility requirements. [^form] '

/** Mistakes, each as a change of a guide without mistakes. */
const PLANTED_MISTAKES: [check: GuideCheckName, mistake: string, change: Partial<PackagedGuide>][] = [
  ['paragraph-without-source', 'a paragraph', replaceInBody('on a form. [^form]', 'on a form.')],
  ['paragraph-without-source', 'an item of a list', replaceInBody('- The form. [^form]', '- The form.')],
  [
    'paragraph-without-source',
    'a marker that is not at the end',
    replaceInBody('You ask for it on a form. [^form]', 'You ask [^form] for it.'),
  ],
  [
    'marker-inside-text',
    'a source of one sentence only',
    replaceInBody('You ask for it on a form. [^form]', 'You ask. [^form] You get it. [^form]'),
  ],
  [
    'unknown-source',
    'a marker that no source has',
    replaceInBody('on a form. [^form]', 'on a form. [^form] [^frm]'),
  ],
  ['unused-source', 'a source that no paragraph names', UNUSED_SOURCE],
  ['unofficial-source', 'another host', changeSource({ url: 'https://usciss.us/i-90' })],
  [
    'unofficial-source',
    'a host that begins like an official one',
    changeSource({ url: 'https://www.uscis.gov.example.com/i-90' }),
  ],
  [
    'unofficial-source',
    'an official host as the user name',
    changeSource({ url: 'https://www.uscis.gov@example.com/' }),
  ],
  ['fee-stated', 'a sum in dollars', replaceSentence('You pay $710.')],
  ['fee-stated', 'a sum in words', replaceSentence('You pay 1,225 dollars.')],
  ['fee-stated', 'a sum in the summary', { summary: 'It costs USD 5.' }],
  ['date-stated', 'a day', replaceSentence('It ended on October 30, 2025.')],
  ['date-stated', 'a day before the month', replaceSentence('It ended on 30 Oct.')],
  ['date-stated', 'a date of the Visa Bulletin', replaceSentence('The date is 22JUL19.')],
  ['date-stated', 'an edition of a form', replaceSentence('Use edition 08/21/25.')],
  ['date-stated', 'a year', replaceSentence('The rule of 2025 is new.')],
  ['processing-time-stated', 'a duration', replaceSentence('USCIS takes 8 to 14 months.')],
  ['processing-time-stated', 'a duration in words', replaceSentence('It usually arrives after two weeks.')],
  ['malformed-link', 'a blank in the address', replaceInBody('(/guides/example)', '(/guides/an example)')],
  ['malformed-link', 'an open parenthesis', replaceInBody('(/guides/example)', '(/guides/example')],
  ['malformed-link', 'a bare address', replaceSentence('See https://www.uscis.gov/i-90 first.')],
  ['malformed-link', 'no text', replaceSentence('See [](https://www.uscis.gov/i-90) first.')],
  ['unofficial-link', 'another host', replaceSentence('See [a site](https://myuscis.com/).')],
  ['unofficial-link', 'plain http', replaceSentence('See [a site](http://www.uscis.gov/).')],
  ['unofficial-link', 'a script', replaceSentence('See [a site](javascript:alert`1`).')],
  ['unknown-guide-linked', 'an unknown guide', replaceInBody('/guides/example', '/guides/nowhere')],
  ['unknown-guide-linked', 'another page of ours', replaceInBody('/guides/example', '/contact')],
  [
    'unknown-guide-linked',
    'another site, without a scheme',
    replaceInBody('/guides/example', '//example.com/x'),
  ],
  [
    'grade-too-high',
    'long words in long sentences',
    replaceInBody('## What to do', `${DIFFICULT_SENTENCE.repeat(3)}\n\n## What to do`),
  ],
  ['other-markup', 'HTML', replaceSentence('You <b>ask</b>.')],
  ['other-markup', 'a picture', replaceSentence('![A form](https://www.uscis.gov/i-90) is it.')],
  ['other-markup', 'a heading of level 1', replaceInBody('## What to do', '# What to do')],
  ['other-markup', 'a list in a list', replaceInBody('- The form.', '  - The form.')],
  ['changes-section-missing', 'no such section', replaceInBody(CHANGES_HEADING, 'Other things')],
  [
    'changes-section-missing',
    'an item without a link',
    replaceInBody('[fee schedule](https://www.uscis.gov/g-1055)', 'ask us'),
  ],
  [
    'attorney-section-missing',
    'a section after it',
    replaceInBody(DISCLAIMER, `## More\n\nMore. [^form]\n\n${DISCLAIMER} [^form]`),
  ],
  [
    'attorney-triggers-differ',
    'an item that the body lacks',
    { talkToAnAttorneyWhen: ['You have a hearing.', 'You fear.'] },
  ],
  [
    'attorney-triggers-differ',
    'an item that the front matter lacks',
    replaceInBody('- You have a hearing.', '- You have a hearing.\n- You fear.'),
  ],
  [
    'attorney-lists-missing',
    'one list is not linked',
    replaceInBody(/- \[Accredited representatives\].*\n/, ''),
  ],
  ['disclaimer-missing', 'other words at the end', replaceInBody(DISCLAIMER, 'This is not legal advice.')],
  ['checked-after-updated', 'a source newer than the text', { updated: '2026-06-25' }],
  ['date-after-newest-copy', 'a day that no copy can have', { updated: '2026-11-20' }],
  ['impossible-review', 'a review in the future', { reviewed: '2026-11-21', reviewedBy: 'A. Attorney' }],
  ['impossible-review', 'a review before an update', { reviewed: '2026-06-25', reviewedBy: 'A. Attorney' }],
]

test.for(PLANTED_MISTAKES)('checkGuides finds %s: %s', ([check, , change]) => {
  const findings = checkGuides([{ ...EXAMPLE_GUIDE, ...change }], NOW)
  expect(findings.map((finding) => finding.check)).toContain(check)
})

test('checkGuides finds summary-repeated once for a pair of guides, and ignores case and punctuation', () => {
  const twin = { ...EXAMPLE_GUIDE, slug: 'twin', summary: 'how to request - a DOCUMENT' }
  expect(checkGuides([EXAMPLE_GUIDE, twin], NOW)).toEqual([
    { slug: 'twin', check: 'summary-repeated', detail: 'the same as example' },
  ])
})

test('these tests plant a mistake for each check', () => {
  const testedChecks = new Set([...PLANTED_MISTAKES.map(([check]) => check), 'summary-repeated'])
  expect(testedChecks).toEqual(new Set(Object.keys(GUIDE_CHECKS)))
})

test.for([
  ['a guide without a mistake', {}],
  ['durations without a word for processing', replaceSentence('You were in the US for 30 of 60 months.')],
  ['a telephone number', replaceSentence('Call 1-800-898-7180.')],
  ['months without a day', replaceSentence('It comes out in January and April. You may 3 times.')],
  ['a review after the last update', { reviewed: '2026-11-20', reviewedBy: 'A. Attorney' }],
] satisfies [string, Partial<PackagedGuide>][])('checkGuides finds nothing in %s', ([, change]) => {
  expect(checkGuides([{ ...EXAMPLE_GUIDE, ...change }], NOW)).toEqual([])
})

test('checkGuides finds nothing in the guides of this package', () => {
  expect(checkGuides(loadGuides(), new Date())).toEqual([])
})
