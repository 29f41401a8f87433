import { ALL_HELP, EMERGENCY_LINES } from '@plainpath/domain'
import { expect, test } from 'vitest'
import { toMarkup } from './html.ts'
import { renderGetHelpPage, renderSpanishHelpPage } from './index.ts'

const english = toMarkup(renderGetHelpPage())
const spanish = toMarkup(renderSpanishHelpPage())
const cutBeforeForm = (markup: string) => markup.slice(0, markup.indexOf('id="write"'))
/** Lists the text of the first group of each match. */
const listMatches = (markup: string, pattern: RegExp) =>
  Array.from(markup.matchAll(pattern), ([, group]) => group)
/** Lists the linked official pages and phone numbers, in order. */
const listTargets = (markup: string) => listMatches(markup, /href="((?:https|tel):[^"]*)"/g)
/** Returns the content of the urgent line with an id. */
const getUrgentLine = (markup: string, id: string) =>
  new RegExp(`<li id="${id}">([^]*?)</li>`).exec(markup)?.[1] ?? ''

test('both pages have urgent lines first, then lawyers, what to bring, fraud, and how to write to staff', () => {
  const ids = ['urgent', 'lawyers', 'bring', 'fraud', 'write']
  for (const markup of [english, spanish]) expect(listMatches(markup, /<h2 id="([^"]*)"/g)).toEqual(ids)
  expect(english).toContain('<form class="form" action="/contact" method="post"')
  expect(english).toMatch(/name="topic" type="radio" value="attorney"[^>]* checked>/)
})

test('the English page links to every phone number, and to the page of each entry without one', () => {
  for (const { phone, url } of [...ALL_HELP, EMERGENCY_LINES.locator] as { phone?: string; url?: string }[]) {
    if (phone !== undefined) expect(english).toContain(`<a class="phone" href="tel:${phone}">${phone}</a>`)
    // An entry with a phone number needs no link to its page here.
    else expect(english).toContain(`href="${url}"`)
  }
})

test('911 is the first number, and the only number in the line about danger', () => {
  for (const markup of [english, spanish]) {
    expect(listMatches(markup, /href="tel:([^"]*)"/g)[0]).toBe('911')
    expect(getUrgentLine(markup, 'danger')).toMatch(
      /^<h3>[^<]+<\/h3>\n<p><a class="phone" href="tel:911">911<\/a><\/p>\s*$/,
    )
  }
})

test('the line about a detained person links to lawyers first, and no phone number is on the page twice', () => {
  for (const markup of [english, spanish]) {
    expect(listMatches(getUrgentLine(markup, 'detained'), /href="([^"]*)"/g)).toEqual([
      '#lawyers',
      `tel:${EMERGENCY_LINES.detention.phone}`,
      EMERGENCY_LINES.locator.url,
      '/guides/removal-proceedings-basics',
    ])
    for (const { phone } of ALL_HELP)
      if (phone !== undefined)
        expect(listMatches(markup, new RegExp(`href="(tel:${phone})"`, 'g'))).toHaveLength(1)
  }
})

test('the Spanish page has the links, headings and list items of the English one in the same order', () => {
  expect(listTargets(spanish)).toEqual(listTargets(english))
  for (const pattern of [/<(h[1-3])/g, /<(li)[ >]/g, /href="(\/guides\/[^"]*)"/g])
    expect(listMatches(cutBeforeForm(spanish), pattern)).toEqual(listMatches(cutBeforeForm(english), pattern))
})

test('the Spanish page has its translation date, no form, and marks links to English pages', () => {
  expect(spanish).toContain('<time datetime="2026-11-27">27 de noviembre de 2026</time>')
  expect(spanish).toContain('<a href="/get-help" hreflang="en">página en inglés</a>')
  expect(spanish).not.toContain('<form')
  for (const [link] of spanish.matchAll(/<a href="\/[^>]*>/g)) expect(link).toContain('hreflang="en"')
})
