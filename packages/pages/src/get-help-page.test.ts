import { ALL_HELP, EMERGENCY_LINES } from '@plainpath/domain'
import { expect, test } from 'vitest'
import { toMarkup } from './html.ts'
import { renderGetHelpPage, renderSpanishHelpPage } from './index.ts'

const english = toMarkup(renderGetHelpPage())
const spanish = toMarkup(renderSpanishHelpPage())
const beforeForm = (markup: string) => markup.slice(0, markup.indexOf('id="write"'))
const all = (markup: string, pattern: RegExp) => Array.from(markup.matchAll(pattern), ([, found]) => found)
/** Official pages and phone numbers, in order. */
const targets = (markup: string) => all(markup, /href="((?:https|tel):[^"]*)"/g)
/** The content of the urgent line with the id. */
const item = (markup: string, id: string) => new RegExp(`<li id="${id}">([^]*?)</li>`).exec(markup)?.[1] ?? ''

test('urgent lines come first, then lawyers, what to bring, frauds and the form to our staff', () => {
  const ids = ['urgent', 'lawyers', 'bring', 'fraud', 'write']
  for (const markup of [english, spanish]) expect(all(markup, /<h2 id="([^"]*)"/g)).toEqual(ids)
  expect(english).toContain('<form class="form" action="/contact" method="post"')
  expect(english).toMatch(/name="topic" type="radio" value="attorney"[^>]* checked>/)
})

test('every line and list for help is there, with its number as a link', () => {
  for (const { phone, url } of [...ALL_HELP, EMERGENCY_LINES.locator] as { phone?: string; url?: string }[]) {
    if (phone !== undefined) expect(english).toContain(`<a class="phone" href="tel:${phone}">${phone}</a>`)
    // The page of the office of ICE is beside its line in answers; here the line is enough.
    else expect(english).toContain(`href="${url}"`)
  }
})

test('911 comes first, without other numbers', () => {
  for (const markup of [english, spanish]) {
    expect(all(markup, /href="tel:([^"]*)"/g)[0]).toBe('911')
    expect(item(markup, 'danger')).toMatch(
      /^<h3>[^<]+<\/h3>\n<p><a class="phone" href="tel:911">911<\/a><\/p>\s*$/,
    )
  }
})

test('the item for a detained person names first a lawyer, then the line of ICE, then its locator', () => {
  for (const markup of [english, spanish]) {
    expect(all(item(markup, 'detained'), /href="([^"]*)"/g)).toEqual([
      '#lawyers',
      `tel:${EMERGENCY_LINES.detention.phone}`,
      EMERGENCY_LINES.locator.url,
      '/guides/removal-proceedings-basics',
    ])
    for (const { phone } of ALL_HELP)
      if (phone !== undefined) expect(all(markup, new RegExp(`href="(tel:${phone})"`, 'g'))).toHaveLength(1)
  }
})

test('the Spanish page has the same lines, lists and parts as the English one', () => {
  expect(targets(spanish)).toEqual(targets(english))
  for (const pattern of [/<(h[1-3])/g, /<(li)[ >]/g, /href="(\/guides\/[^"]*)"/g])
    expect(all(beforeForm(spanish), pattern)).toEqual(all(beforeForm(english), pattern))
})

test('the Spanish page says of which day it is, and marks what is in English', () => {
  expect(spanish).toContain('<time datetime="2026-11-23">23 de noviembre de 2026</time>')
  expect(spanish).toContain('<a href="/get-help" hreflang="en">página en inglés</a>')
  expect(spanish).not.toContain('<form')
  for (const [link] of spanish.matchAll(/<a href="\/[^>]*>/g)) expect(link).toContain('hreflang="en"')
})
