import type { Answer } from '@plainpath/domain'
import { describe, expect, test } from 'vitest'
import { toMarkup } from './html.ts'
import { renderAnsweredPage, renderAskPage } from './index.ts'

const QUESTION = 'A question'
const answer: Answer = {
  outcome: 'out_of_scope',
  passages: [],
  check: [],
  disclaimer: 'This is information, not legal advice.',
  answersVersion: '1',
}
const answered = (change: Partial<Answer>) =>
  toMarkup(
    renderAnsweredPage({
      question: QUESTION,
      facts: {},
      answer: { ...answer, ...change },
      passageHtml: [],
    }).body,
  )

test('the form says before the field that it reads English, what to leave out, and that nothing is kept', () => {
  const markup = toMarkup(renderAskPage())
  const [, hint = ''] = /<p class="facts" id="question-hint">(.*?)<\/p>/.exec(markup) ?? []
  for (const said of ['lang="es">solo en inglés<', 'A-Number', 'We do not keep your question.'])
    expect(hint).toContain(said)
  expect(markup.indexOf('question-hint')).toBeLessThan(markup.indexOf('<textarea'))
})

describe('a question that our guides do not answer', () => {
  test.for([
    { reason: 'other-country', offers: true },
    { reason: 'other-subject', offers: true },
    { reason: 'no-guide', offers: false },
    { reason: 'asks-to-deceive', offers: false },
    { reason: 'not-understood', offers: false },
  ] as const)('may have been meant for immigration, for $reason: $offers', ({ reason, offers }) => {
    const notices = [{ language: 'en', text: 'Our guides cannot answer it.' }]
    const markup = answered({ outOfScope: { reason, notices, links: [], findHelp: [] } })
    expect(markup).toContain('<p lang="en">Our guides cannot answer it.</p>')
    expect(markup.includes('Did you mean U.S. immigration? <a href="#again">Ask again</a>')).toBe(offers)
    expect(markup).toContain('<h2 id="again">')
  })
})

test('shows the passages that answer in full, and those that are near only when somebody opens them', () => {
  const passage = (id: string, answers: boolean) => ({
    id,
    guide: 'guide',
    guideTitle: 'Guide',
    heading: `Heading ${id}`,
    text: '',
    markdown: '',
    url: `http://localhost/guides/guide#${id}`,
    answers,
    sources: [],
  })
  const headings = (...passages: Answer['passages']) =>
    [
      ...answered({ outcome: 'information', passages }).matchAll(
        /(<summary>)?<h\d id="passage-\d">Heading (\w)/g,
      ),
    ].map(([, summary, id]) => (summary ? `closed ${id}` : id))
  expect(headings(passage('a', true), passage('b', false), passage('c', true))).toEqual([
    'a',
    'c',
    'closed b',
  ])
  expect(headings(passage('a', false), passage('b', false))).toEqual(['a', 'closed b'])
  expect(headings(passage('a', true))).toEqual(['a'])
})

test('an urgent hand-off says beside each phone number what to do with it, and says it once', () => {
  const markup = answered({
    outcome: 'hand_off',
    handOff: {
      reasons: [
        {
          trigger: 'detention-ice',
          urgency: 'urgent',
          why: 'A detained person needs an attorney today.',
          matched: ['took', 'ICE took', 'ICE', 'me', 'this morning'],
          because: 'question',
          source: { title: 'Detention', url: 'https://www.ice.gov/detain' },
        },
      ],
      doNow: ['Call 1-888-351-4024 with the A-Number.', 'Do not sign a paper that you do not understand.'],
      findHelp: [
        { title: 'A line of ICE', phone: '1-888-351-4024' },
        { title: 'Free legal help', url: 'https://www.justice.gov/eoir' },
      ],
      contact: { topic: 'attorney', url: 'https://plainpath.example/contact' },
    },
  })
  expect(markup).toContain(
    '<li><a class="phone" href="tel:1-888-351-4024">1-888-351-4024</a><br>A line of ICE<br>Call <span class="form-name">1-888-351-4024</span> with the <span class="form-name">A-Number</span>.</li>',
  )
  expect(markup.match(/with the <span class="form-name">A-Number/g)).toHaveLength(1)
  expect(markup).toContain('<p>You wrote: “ICE took”, “this morning”.</p>')
  expect(markup).toContain('<li>Do not sign a paper that you do not understand.</li>')
})
