import { describe, expect, test } from 'vitest'
import {
  renderAlreadyJoinedPage,
  renderJoinedPage,
  renderWaitlistForm,
  renderWaitlistPage,
} from './form-pages.ts'
import { toMarkup } from './html.ts'

const SLUG = 'k3v7q2mzt5ndw4ha'

describe('the waitlist form', () => {
  test('posts to /waitlist, has a label before its field, and says what happens next before its button', () => {
    const markup = toMarkup(renderWaitlistForm())
    expect(markup).toMatch(/<form [^>]*action="\/waitlist" method="post"/)
    expect(markup.indexOf('<label for="email">')).toBeLessThan(markup.indexOf('id="email"'))
    expect(markup.indexOf('What happens next')).toBeLessThan(markup.indexOf('<button'))
    expect(markup).not.toContain('referredBySlug')
  })

  test('has a hidden field with the referrer’s slug', () => {
    expect(toMarkup(renderWaitlistForm({ referredBySlug: SLUG }))).toContain(
      `<input name="referredBySlug" type="hidden" value="${SLUG}">`,
    )
  })
})

describe('the waitlist page', () => {
  test('shows a mistake at the top and next to the field, and keeps the input', () => {
    const markup = toMarkup(
      renderWaitlistPage({ email: 'ana"@', mistake: 'Type an address.', referredBySlug: SLUG }),
    )
    expect(markup).toMatch(
      /^<div class="summary" role="alert" tabindex="-1" autofocus>[^]*<a href="#email">Type an address\.<\/a>/,
    )
    expect(markup).toMatch(/<p class="mistake" id="email-mistake">.*Type an address\./)
    expect(markup).toMatch(/value="ana&quot;@" aria-invalid="true" aria-describedby="email-mistake"/)
    expect(markup).toContain(SLUG)
    expect(toMarkup(renderWaitlistPage({}))).not.toMatch(/summary|mistake/i)
  })
})

test('the page for a new address shows its referral link', () => {
  const referralUrl = `https://plainpath.example/?ref=${SLUG}`
  expect(toMarkup(renderJoinedPage({ referralUrl }))).toContain(`<code id="referral">${referralUrl}</code>`)
})

test('the page for an address on the list shows neither a referral link nor an e-mail address', () => {
  expect(toMarkup(renderAlreadyJoinedPage())).not.toMatch(/[?]ref=|@/)
})
