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
const renderAnswered = (overrides: Partial<Answer>) =>
  toMarkup(
    renderAnsweredPage({
      question: QUESTION,
      facts: {},
      answer: { ...answer, ...overrides },
      passageHtml: [],
    }).body,
  )

test('a hint before the field says to ask in English, what to leave out, and that nothing is kept', () => {
  const markup = toMarkup(renderAskPage())
  const [, hint = ''] = /<p class="facts" id="question-hint">(.*?)<\/p>/.exec(markup) ?? []
  for (const text of ['lang="es">solo en inglés<', 'A-Number', 'We do not keep your question.'])
    expect(hint).toContain(text)
  expect(markup.indexOf('question-hint')).toBeLessThan(markup.indexOf('<textarea'))
})

describe('a question that our guides do not answer', () => {
  test.for([
    { reason: 'other-country', isOffered: true },
    { reason: 'other-subject', isOffered: true },
    { reason: 'no-guide', isOffered: false },
    { reason: 'asks-to-deceive', isOffered: false },
    { reason: 'not-understood', isOffered: false },
  ] as const)('with the reason $reason gets an offer to ask again: $isOffered', (example) => {
    const { reason, isOffered } = example
    const notices = [{ language: 'en', text: 'Our guides cannot answer it.' }]
    const markup = renderAnswered({ outOfScope: { reason, notices, links: [], findHelp: [] } })
    expect(markup).toContain('<p lang="en">Our guides cannot answer it.</p>')
    const hasOffer = markup.includes('Did you mean U.S. immigration? <a href="#again">Ask again</a>')
    expect(hasOffer).toBe(isOffered)
    expect(markup).toContain('<h2 id="again">')
  })
})

test('the answer page shows the first passage and those that answer in full, and collapses the others', () => {
  const createPassage = (id: string, answers: boolean) => ({
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
  const listHeadings = (...passages: Answer['passages']) => {
    const markup = renderAnswered({ outcome: 'information', passages })
    const headings = markup.matchAll(/(<summary>)?<h\d id="passage-\d">Heading (\w)/g)
    return Array.from(headings, ([, summary, id]) => (summary ? `collapsed ${id}` : id))
  }
  const [a, b, c] = [createPassage('a', true), createPassage('b', false), createPassage('c', true)]
  expect(listHeadings(a, b, c)).toEqual(['a', 'c', 'collapsed b'])
  expect(listHeadings(createPassage('a', false), b)).toEqual(['a', 'collapsed b'])
  expect(listHeadings(a)).toEqual(['a'])
})

test('an urgent hand-off has the step about a phone number once, below that number', () => {
  const markup = renderAnswered({
    outcome: 'hand_off',
    handOff: {
      reasons: [
        {
          trigger: 'detention-ice',
          urgency: 'urgent',
          why: 'A detained person needs an attorney today.',
          // The page quotes only matches of at least three characters that are not a part of another match.
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
