import { describe, expect, test } from 'vitest'
import { type HtmlValue, html, rawHtml, toMarkup } from './html.ts'

/** Characters and strings with a meaning in HTML. */
const SPECIAL = ['<', '>', '&', '"', "'", '`', '=', '/', ' ', ';', 'lt', '\n', '</p>', '<!--']

/** Yields every UTF-16 code unit, and every sequence of one to three elements of `SPECIAL`. */
function* generateHostileTexts(): Generator<string> {
  for (let unit = 0; unit <= 0xffff; unit++) yield String.fromCharCode(unit)
  for (const a of SPECIAL) {
    for (const b of ['', ...SPECIAL]) for (const c of ['', ...SPECIAL]) yield a + b + c
  }
}

const CHARACTERS_BY_ENTITY: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
const decodeEntities = (markup: string) =>
  markup.replace(/&([a-z]+|#39);/g, (whole, name: string) => CHARACTERS_BY_ENTITY[name] ?? whole)

describe('html', () => {
  test('escapes every <, >, & and quote of a value in text and in an attribute, and loses no character', () => {
    const failedTexts = new Set<string>()
    for (const text of generateHostileTexts()) {
      const inText = toMarkup(html`<p>${text}</p>`).slice('<p>'.length, -'</p>'.length)
      const inAttribute = toMarkup(html`<a title="${text}">`).slice('<a title="'.length, -'">'.length)
      for (const escaped of [inText, inAttribute]) {
        const isUnsafe = /[<>"']|&(?!(?:amp|lt|gt|quot|#39);)/.test(escaped)
        if (isUnsafe || decodeEntities(escaped) !== text) failedTexts.add(text)
      }
    }
    expect([...failedTexts]).toEqual([])
  })

  test('does not escape markup again, even in nested lists', () => {
    const item = html`<li>${'a & b'}</li>`
    expect(toMarkup(html`<ul>${[item, [item, rawHtml('<hr>')]]}</ul>`)).toBe(
      '<ul><li>a &amp; b</li><li>a &amp; b</li><hr></ul>',
    )
  })

  test('renders undefined, null, false and an empty string as nothing, and zero as 0', () => {
    expect(toMarkup(html`<p>${undefined}${null}${false}${''}${0}</p>`)).toBe('<p>0</p>')
  })

  test.for<{ kind: string; value: unknown }>([
    { kind: 'an object from JSON', value: { markup: '<b>' } },
    { kind: 'an object with toString', value: { toString: () => '<b>' } },
    { kind: 'a date', value: new Date(0) },
    { kind: 'true', value: true },
    { kind: 'a symbol', value: Symbol('<b>') },
  ])('rejects $kind', ({ value }) => {
    expect(() => html`<p>${value as HtmlValue}</p>`).toThrow(TypeError)
  })

  test('rejects a value that is in a tag but not in quotes', () => {
    const value = 'x onclick=1'
    expect(() => html`<a title=${value}>`).toThrow('quotes')
    expect(() => html`<a title="fine" ${value}>`).toThrow('quotes')
    expect(() => html`<${value}>`).toThrow('quotes')
    expect(toMarkup(html`<a title='${value}' class="a > b">1 = ${value}</a>`)).toContain('1 = x onclick')
  })
})
