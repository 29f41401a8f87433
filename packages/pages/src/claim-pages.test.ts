import { describe, expect, test } from 'vitest'
import {
  type ClaimQuestionPage,
  type ClosedClaim,
  getClosedVerificationTitle,
  renderClosedVerificationPage,
  renderVerificationCodePage,
  renderVerificationQuestionPage,
} from './claim-pages.ts'
import {
  renderAlreadyRevokedPage,
  renderBrokenRevokeLinkPage,
  renderRevokeAccessPage,
  renderRevokedAccessPage,
} from './end-access-pages.ts'
import { toMarkup } from './html.ts'

/** Has the length of a real secret of a link: 32 bytes in base64url. */
const secret = 'A'.repeat(43)
const question: ClaimQuestionPage = {
  secret,
  matchPhrase: 'amber river',
  agent: { name: '"><script>alert(1)</script>', registered: '2026-11-20' },
  codesLeft: 3,
  wasCodeShown: false,
}
const renderQuestion = (overrides: Partial<ClaimQuestionPage> = {}) =>
  toMarkup(renderVerificationQuestionPage({ ...question, ...overrides }))
const REASONS: readonly ClosedClaim[] = [
  'unknown',
  'completed',
  'locked',
  'declined',
  'expired',
  'superseded',
  'failed',
  'no-codes-left',
]

describe('the page behind a mailed link', () => {
  test('says what happens next before each button, has no script, and posts to itself', () => {
    const markup = renderQuestion()
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

  test('shows the agent’s name escaped, in quotes and as unverified, or says that there is none', () => {
    expect(renderQuestion()).toContain('“&quot;&gt;&lt;script&gt;')
    expect(renderQuestion()).toContain('unverified')
    expect(renderQuestion({ agent: { registered: '2026-11-20' } })).toContain('gave us no name')
    expect(renderQuestion()).toContain('<time datetime="2026-11-20">November 20, 2026</time>')
  })

  test('names an agent with a verified domain only by the domain, and says what was not checked', () => {
    const agent = { name: 'Atlas', verifiedDomain: 'xn--e1awd7f.example', registered: '2026-11-20' }
    const endPage = toMarkup(
      renderRevokeAccessPage({ secret, agent, since: '2026-11-20', until: '2026-12-20' }),
    )
    for (const markup of [renderQuestion({ agent }), endPage]) {
      expect(markup).toContain('The agent is at <strong>xn--e1awd7f.example</strong> (domain checked).')
      expect(markup).toContain('We did not check who runs it.')
      expect(markup).not.toMatch(/Atlas|unverified|registered with us/)
    }
  })

  test('replaces the words "domain checked" in an unverified name', () => {
    const agent = { name: 'agent.example.org (domain che\u200Bcked)', registered: '2026-11-20' }
    expect(renderQuestion({ agent })).toContain('“agent.example.org (…)”')
    expect(renderQuestion({ agent })).toContain('unverified')
  })

  test('offers a new code if a code was shown before', () => {
    expect(renderQuestion({ wasCodeShown: true })).toContain('name="answer" value="yes">Show a new code<')
    expect(renderQuestion({ wasCodeShown: true })).toContain('A new code replaces it.')
  })

  test('announces the last code, and after that code has no button for another', () => {
    expect(renderQuestion({ codesLeft: 1, wasCodeShown: true })).toContain('This is the last code')
    expect(renderQuestion({ codesLeft: 0, wasCodeShown: true })).not.toContain('value="yes"')
    expect(renderQuestion({ codesLeft: 0, wasCodeShown: true })).toContain('value="no"')
  })
})

test('the code page shows the code in two groups, with the match phrase, and has no form after the last code', () => {
  const markup = toMarkup(renderVerificationCodePage({ ...question, code: '012345' }))
  expect(markup).toContain('<code id="code">012 345</code>')
  expect(markup).toContain('amber river')
  expect(toMarkup(renderVerificationCodePage({ ...question, codesLeft: 0, code: '012345' }))).not.toContain(
    '<form',
  )
})

test('the page that ends access says since when the agent has had it, and what happens next before its button', () => {
  const markup = toMarkup(
    renderRevokeAccessPage({ secret, agent: question.agent, since: '2026-11-20', until: '2026-12-20' }),
  )
  expect(markup).toContain(`<input name="end" type="hidden" value="${secret}">`)
  expect(markup).toContain('Since <time datetime="2026-11-20">')
  expect(markup.indexOf('What happens next')).toBeLessThan(markup.indexOf('<button'))
})

test('all pages have one h1, sentences of at most 26 words, no "please" and no final exclamation mark', () => {
  const pages = [
    renderQuestion(),
    renderQuestion({ codesLeft: 0, wasCodeShown: true }),
    renderQuestion({ agent: { verifiedDomain: 'agent.example.org', registered: '2026-11-20' } }),
    toMarkup(renderVerificationCodePage({ ...question, code: '012345' })),
    toMarkup(
      renderRevokeAccessPage({ secret, agent: question.agent, since: '2026-11-20', until: '2026-12-20' }),
    ),
    ...REASONS.map((reason) => toMarkup(renderClosedVerificationPage(reason))),
    toMarkup(renderClosedVerificationPage('superseded', { secretToDecline: secret })),
    ...[
      renderRevokedAccessPage(),
      renderAlreadyRevokedPage(),
      renderAlreadyRevokedPage({ secretToRepeat: secret }),
      renderBrokenRevokeLinkPage(),
    ].map(toMarkup),
  ]
  for (const markup of pages) {
    expect(markup).not.toMatch(/please|!</i)
    expect(markup.match(/<h1>/g)).toHaveLength(1)
    const text = markup.replaceAll(/<[^>]*>/g, ' ')
    for (const sentence of text.split(/[.?:]\s/))
      expect(sentence.trim().split(/\s+/).length, sentence).toBeLessThanOrEqual(26)
  }
})

test('the page for a closed attempt has the button No only if the person can still decline', () => {
  const markup = toMarkup(renderClosedVerificationPage('superseded', { secretToDecline: secret }))
  expect(markup).toContain(`<input name="attempt" type="hidden" value="${secret}">`)
  expect(markup).toContain('name="answer" value="no"')
  expect(markup).not.toContain('value="yes"')
  expect(markup.indexOf('What happens next')).toBeLessThan(markup.indexOf('<button'))
  expect(toMarkup(renderClosedVerificationPage('superseded'))).not.toContain('<form')
})

test.for(REASONS)('the page for the reason %s has its title and at least two paragraphs', (reason) => {
  const markup = toMarkup(renderClosedVerificationPage(reason))
  expect(markup).toContain(`<h1>${getClosedVerificationTitle(reason)}</h1>`)
  expect(markup.match(/<p>/g)?.length).toBeGreaterThanOrEqual(2)
})
