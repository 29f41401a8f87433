import { html, renderPage } from '@plainpath/pages'
import { describe, expect, test } from 'vitest'
import { renderMarkdown } from './render-markdown.ts'

const rendered = (text: string) => {
  const page = renderPage({
    title: 't',
    origin: 'https://plainpath.example',
    path: '/x',
    body: html`${renderMarkdown(text)}`,
  })
  return page.slice(page.indexOf('<main'), page.indexOf('</main>'))
}

describe('Markdown', () => {
  test.for([
    ['[a](https://www.uscis.gov/i-90)', '<a href="https://www.uscis.gov/i-90">a</a>'],
    ['[a](/guides/work-permit)', '<a href="/guides/work-permit">a</a>'],
    ['[a](/\\x.org)', '<a href="/%5Cx.org">a</a>'],
    ['[\\[1\\]](#source-1)', '<a href="#source-1">[1]</a>'],
    ['# A\n\n- b\n- **c**', '<ul>\n<li>b</li>\n<li><strong>c</strong></li>\n</ul>'],
  ] as const)('%j becomes %s', ([text, markup]) => expect(rendered(text)).toContain(markup))

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
    '<https://x.org"onclick=1>',
    '<javascript:alert(1)>',
    '[a][b]\n\n[b]: javascript:alert(1)',
  ])('%j leads nowhere', (text) => expect(rendered(text)).not.toMatch(/href="(?!https:\/\/x\.org%22)/))

  test.for([
    '<script>alert(1)</script>',
    '<b onclick=x>',
    'a <img src=x> b',
    '![a](https://x.org/a.png)',
    '<!-- x -->',
  ])('%j makes no element of its own', (text) => expect(rendered(text)).not.toMatch(/<(script|b|img|!--)/))
})
