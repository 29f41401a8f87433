import { describe, expect, test } from 'vitest'
import { CONTACT_TOPICS, renderContactForm, renderContactPage, renderJoinedPage } from './form-pages.ts'
import { toMarkup } from './html.ts'

const findRadios = (markup: string) => markup.match(/<input [^>]*type="radio"[^>]*>/g) ?? []

describe('the contact form', () => {
  test('explains each topic next to its choice, and selects none unless the page specifies one', () => {
    const markup = toMarkup(renderContactForm())
    expect(findRadios(markup)).toHaveLength(Object.keys(CONTACT_TOPICS).length)
    for (const radio of findRadios(markup)) {
      const [, hint] = /aria-describedby="([^"]+)"/.exec(radio) ?? []
      expect(markup).toMatch(new RegExp(`<p class="facts" id="${hint}">[A-Z][^<]{20,}</p>`))
    }
    expect(markup).not.toContain(' checked')
    expect(toMarkup(renderContactForm({ topic: 'other' }))).toMatch(/value="other"[^>]* checked>/)
  })

  test('has a hidden field instead of the topic choices if the topic is fixed', () => {
    const markup = toMarkup(renderContactForm({ fixedTopic: 'attorney' }))
    expect(markup).toContain('<input name="topic" type="hidden" value="attorney">')
    expect(findRadios(markup)).toEqual([])
  })

  test('lists the mistakes at the top, and explains each next to its field', () => {
    const mistakes = { topic: 'Choose.', message: 'Write.', email: 'Type.' }
    const markup = toMarkup(renderContactPage({ message: 'kept', mistakes }))
    expect(markup).toMatch(/^<div class="summary"[^>]* autofocus>\n<h2>Fix these first<\/h2>/)
    for (const [field, text] of Object.entries(mistakes)) {
      expect(markup).toContain(`<a href="#${field}">${text}</a>`)
      expect(markup).toContain(`id="${field}"`)
      expect(markup).toContain(`<p class="mistake" id="${field}-mistake">`)
    }
    expect(markup).toContain('aria-invalid="true" aria-describedby="message-mistake message-hint">kept<')
    expect(markup).toContain('<fieldset aria-describedby="topic-mistake">')
  })

  test('describes a field without a mistake only by its hint', () => {
    const markup = toMarkup(renderContactPage())
    expect(markup).toContain('aria-invalid="false" aria-describedby="email-hint"')
    expect(markup).not.toMatch(/summary|-mistake/)
  })

  test('says what happens next before its button, and comes after a link to urgent help', () => {
    const markup = toMarkup(renderContactPage())
    expect(markup.indexOf('What happens next')).toBeLessThan(markup.indexOf('<button'))
    expect(markup.indexOf('href="/get-help"')).toBeLessThan(markup.indexOf('<form'))
  })
})

test('the page after joining the waitlist shows the referral link once, and then says how to leave', () => {
  const markup = toMarkup(
    renderJoinedPage({ referralUrl: 'https://plainpath.example/?ref=k3v7q2mzt5ndw4ha' }),
  )
  expect(markup.match(/ref=k3v7q2mzt5ndw4ha/g)).toHaveLength(1)
  expect(markup).toMatch(/We show it here once[^]*<h2>How to leave the list<\/h2>/)
})
