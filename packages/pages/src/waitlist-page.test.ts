import { describe, expect, test } from 'vitest'
import { alreadyJoinedPage, joinedPage, waitlistForm, waitlistPage } from './form-pages.ts'
import { markupOf } from './html.ts'

const SLUG = 'k3v7q2mzt5ndw4ha'

describe('the form of the waitlist', () => {
  test('says what happens next before its button, and works without scripts', () => {
    const markup = markupOf(waitlistForm())
    expect(markup).toMatch(/<form [^>]*action="\/waitlist" method="post"/)
    expect(markup.indexOf('<label for="email">')).toBeLessThan(markup.indexOf('id="email"'))
    expect(markup.indexOf('What happens next')).toBeLessThan(markup.indexOf('<button'))
    expect(markup).not.toContain('referredBySlug')
  })

  test('carries on who led here', () => {
    expect(markupOf(waitlistForm({ referredBySlug: SLUG }))).toContain(
      `<input name="referredBySlug" type="hidden" value="${SLUG}">`,
    )
  })

  test('says a mistake on top and beside the field, and keeps what was typed', () => {
    const markup = markupOf(
      waitlistPage({ email: 'ana"@', mistake: 'Type an address.', referredBySlug: SLUG }),
    )
    expect(markup).toMatch(
      /^<div class="summary" role="alert" tabindex="-1" autofocus>[^]*<a href="#email">Type an address\.<\/a>/,
    )
    expect(markup).toMatch(/<p class="mistake" id="email-mistake">.*Type an address\./)
    expect(markup).toMatch(/value="ana&quot;@" aria-invalid="true" aria-describedby="email-mistake"/)
    expect(markup).toContain(SLUG)
    expect(markupOf(waitlistPage({}))).not.toMatch(/summary|mistake/i)
  })
})

test('the link is shown to somebody new; an address that is there already learns nothing else', () => {
  const referralUrl = `https://plainpath.example/?ref=${SLUG}`
  expect(markupOf(joinedPage({ referralUrl }))).toContain(`<code id="referral">${referralUrl}</code>`)
  expect(markupOf(alreadyJoinedPage())).not.toMatch(/[?]ref=|@/)
})
