import { describe, expect, test } from 'vitest'
import {
  type ClaimQuestionPage,
  type ClosedClaim,
  getClosedClaimTitle,
  renderAlreadyEndedPage,
  renderBrokenEndLinkPage,
  renderClaimCodePage,
  renderClaimQuestionPage,
  renderClosedClaimPage,
  renderEndClaimPage,
  renderEndedClaimPage,
} from './claim-pages.ts'
import { toMarkup } from './html.ts'

const secret = 'A'.repeat(43)
const question: ClaimQuestionPage = {
  secret,
  matchPhrase: 'amber river',
  agent: { name: '"><script>alert(1)</script>', registered: '2026-11-20' },
  codesLeft: 3,
  shown: false,
}
const asked = (change: Partial<ClaimQuestionPage> = {}) =>
  toMarkup(renderClaimQuestionPage({ ...question, ...change }))
const WHYS: readonly ClosedClaim[] = [
  ...(['unknown', 'completed', 'locked', 'declined', 'expired'] as const),
  ...(['superseded', 'failed', 'no-codes-left'] as const),
]

describe('the page behind a mailed link', () => {
  test('says what happens next before each button, works without scripts, and posts to itself', () => {
    const markup = asked()
    expect(markup).not.toContain('<script')
    expect(markup.match(/<form [^>]*action="\/claim" method="post"/g)).toHaveLength(2)
    for (const form of markup.split('<form').slice(1)) {
      expect(form).toContain(`<input name="attempt" type="hidden" value="${secret}">`)
      expect(form.indexOf('What happens next')).toBeGreaterThan(0)
      expect(form.indexOf('What happens next')).toBeLessThan(form.indexOf('<button'))
    }
    expect(markup).toContain('name="answer" value="yes">Yes, my agent shows the same words: show my code<')
    expect(markup).toContain('name="answer" value="no"')
  })

  test('shows the agent’s name escaped, in quotes and as unverified, or that there is none', () => {
    expect(asked()).toContain('“&quot;&gt;&lt;script&gt;')
    expect(asked()).toContain('unverified')
    expect(asked({ agent: { registered: '2026-11-20' } })).toContain('gave us no name')
    expect(asked()).toContain('<time datetime="2026-11-20">November 20, 2026</time>')
  })

  test('names an agent with a verified domain by that alone, and says what was checked', () => {
    const agent = { name: 'Atlas', verifiedDomain: 'xn--e1awd7f.example', registered: '2026-11-20' }
    const end = toMarkup(renderEndClaimPage({ secret, agent, since: '2026-11-20', until: '2026-12-20' }))
    for (const markup of [asked({ agent }), end]) {
      expect(markup).toContain('The agent is at <strong>xn--e1awd7f.example</strong> (domain checked).')
      expect(markup).toContain('We did not check who runs it.')
      expect(markup).not.toMatch(/Atlas|unverified|registered with us/)
    }
  })

  test('does not let a name say what only a verified domain may say', () => {
    const agent = { name: 'agent.example.org (domain che\u200Bcked)', registered: '2026-11-20' }
    expect(asked({ agent })).toContain('“agent.example.org (…)”')
    expect(asked({ agent })).toContain('unverified')
  })

  test('offers a new code where a code was shown before', () => {
    expect(asked({ shown: true })).toContain('name="answer" value="yes">Show a new code<')
    expect(asked({ shown: true })).toContain('A new code replaces it.')
  })

  test('has no button for a code once there are none left', () => {
    expect(asked({ codesLeft: 1, shown: true })).toContain('This is the last code')
    expect(asked({ codesLeft: 0, shown: true })).not.toContain('value="yes"')
    expect(asked({ codesLeft: 0, shown: true })).toContain('value="no"')
  })
})

test('the code is shown in two groups, with the words it belongs to', () => {
  const markup = toMarkup(renderClaimCodePage({ ...question, code: '012345' }))
  expect(markup).toContain('<code id="code">012 345</code>')
  expect(markup).toContain('amber river')
  expect(toMarkup(renderClaimCodePage({ ...question, codesLeft: 0, code: '012345' }))).not.toContain('<form')
})

test('the page that ends an agent’s access says since when it has that, and asks first', () => {
  const markup = toMarkup(
    renderEndClaimPage({ secret, agent: question.agent, since: '2026-11-20', until: '2026-12-20' }),
  )
  expect(markup).toContain(`<input name="end" type="hidden" value="${secret}">`)
  expect(markup).toContain('Since <time datetime="2026-11-20">')
  expect(markup.indexOf('What happens next')).toBeLessThan(markup.indexOf('<button'))
})

test('no page says "please", shouts, or runs on: sentences have at most 26 words', () => {
  const pages = [
    asked(),
    asked({ codesLeft: 0, shown: true }),
    asked({ agent: { verifiedDomain: 'agent.example.org', registered: '2026-11-20' } }),
    toMarkup(renderClaimCodePage({ ...question, code: '012345' })),
    toMarkup(renderEndClaimPage({ secret, agent: question.agent, since: '2026-11-20', until: '2026-12-20' })),
    ...WHYS.map((why) => toMarkup(renderClosedClaimPage(why))),
    ...[renderEndedClaimPage(), renderAlreadyEndedPage(), renderBrokenEndLinkPage()].map(toMarkup),
  ]
  for (const markup of pages) {
    expect(markup).not.toMatch(/please|!</i)
    expect(markup.match(/<h1>/g)).toHaveLength(1)
    const text = markup.replaceAll(/<[^>]*>/g, ' ')
    for (const sentence of text.split(/[.?:]\s/))
      expect(sentence.trim().split(/\s+/).length, sentence).toBeLessThanOrEqual(26)
  }
})

test.for(WHYS)('%s: says what to do next', (why) => {
  const markup = toMarkup(renderClosedClaimPage(why))
  expect(markup).toContain(`<h1>${getClosedClaimTitle(why)}</h1>`)
  expect(markup.match(/<p>/g)?.length).toBeGreaterThanOrEqual(2)
})
