import { html, renderPage, toMarkup } from '@plainpath/pages'
import { describe, expect, test } from 'vitest'
import { type MarkdownOptions, renderInline, renderMarkdown } from './render-markdown.ts'

const renderMain = (text: string) => {
  const page = renderPage({
    title: 't',
    origin: 'https://plainpath.example',
    path: '/x',
    body: html`${renderMarkdown(text)}`,
  })
  return page.slice(page.indexOf('<main'), page.indexOf('</main>'))
}
const renderMarkup = (text: string, options?: MarkdownOptions) => toMarkup(renderMarkdown(text, options))

/** The character that prevents a line break before a source mark. */
const WORD_JOINER = '\u2060'

describe('renderMarkdown', () => {
  test.for([
    ['[a](https://www.uscis.gov/i-90)', '<a href="https://www.uscis.gov/i-90">a</a>'],
    ['[a](/guides/work-permit)', '<a href="/guides/work-permit">a</a>'],
    ['[a](/\\x.org)', '<a href="/%5Cx.org">a</a>'],
    ['[\\[1\\]](#source-1)', '<a href="#source-1">[1]</a>'],
    ['Call 1-800-799-7233.', 'Call <a class="tel" href="tel:1-800-799-7233">1-800-799-7233</a>.'],
    // `form-name` is the class of every word that must not be broken.
    ['[1-800-799-7233](/a)', '<a href="/a"><span class="form-name">1-800-799-7233</span></a>'],
    ['# A\n\n- b\n- **c**', '<ul>\n<li>b</li>\n<li><strong>c</strong></li>\n</ul>'],
  ] as const)('renders %j as %s', ([text, markup]) => expect(renderMain(text)).toContain(markup))

  test.for([
    ...[
      'http://x.org',
      '//x.org',
      'javascript:alert(1)',
      'JaVaScRiPt:alert(1)',
      'data:text/html,x',
      'mailto:a@x.org',
      'x.org',
      'https:x',
    ].map((address) => `[a](${address})`),
    '<javascript:alert(1)>',
    '[a][b]\n\n[b]: javascript:alert(1)',
  ])('renders no link for %j', (text) => expect(renderMain(text)).not.toContain('href='))

  test('percent-encodes a quote in the address of a link', () => {
    expect(renderMain('<https://x.org"onclick=1>')).toContain('href="https://x.org%22onclick=1"')
  })

  test.for([
    '<script>alert(1)</script>',
    '<b onclick=x>',
    'a <img src=x> b',
    '![a](https://x.org/a.png)',
    '<!-- x -->',
  ])('renders no raw HTML tag, comment or image from %j', (text) =>
    expect(renderMain(text)).not.toMatch(/<(script|b|img|!--)/),
  )

  test('prevents a line break within a form name, except in code', () => {
    expect(renderMarkup('[Form I-90](/x) `I-90`')).toBe(
      '<p><a href="/x"><span class="form-name">Form I-90</span></a> <code>I-90</code></p>\n',
    )
  })
})

describe('renderMarkdown with options', () => {
  const renderSourceMark = (number: number) => html`<details>${number}</details>`

  test.for([
    [
      'A. [\\[1\\]](#source-1) [\\[2\\]](#source-2)',
      `<div class="cited"><p>A.</p>${WORD_JOINER}<details>1</details> <details>2</details></div>\n`,
    ],
    [
      'A. [\\[1\\]](#source-1) _Old._',
      `<div class="cited"><p>A.  <em>Old.</em></p>${WORD_JOINER}<details>1</details></div>\n`,
    ],
    [
      '- A. [\\[3\\]](#source-3)\n- B.',
      `<ul>\n<li>A.${WORD_JOINER}<details>3</details></li>\n<li>B.</li>\n</ul>\n`,
    ],
    ['A [link](#other).', '<p>A <a href="#other">link</a>.</p>\n'],
  ] as const)(
    'puts source marks after the text of a paragraph or list item, and keeps other links: %j',
    ([text, markup]) => expect(renderMarkup(text, { renderSourceMark })).toBe(markup),
  )

  test('gives headings the ids that getHeadingId returns; without it, headings have no id', () => {
    expect(renderMarkup('### If you moved', { getHeadingId: (heading) => heading.length.toString() })).toBe(
      '<h3 id="12">If you moved</h3>\n',
    )
    expect(renderMarkup('### If you moved', {})).toBe('<h3>If you moved</h3>\n')
  })
})

describe('renderInline', () => {
  test('renders inline Markdown without a block element, and escapes HTML', () => {
    expect(toMarkup(renderInline('`a` <b>'))).toBe('<code>a</code> &lt;b&gt;')
  })
})
