import { expect, test } from 'vitest'
import { toMarkup } from './html.ts'
import { renderSearchPage } from './search-page.ts'

const result = {
  slug: 'avoid-scams',
  title: 'Avoid scams',
  summary: 'How to see one.',
  snippet: 'Never pay by <gift card>.',
  section: { heading: 'Warning signs', anchor: 'warning-signs' },
}
const FIND_HELP = { slug: 'find-legal-help', title: 'Find help', summary: 'Who may help.' }
type Results = Parameters<typeof renderSearchPage>[0]['results']
const markup = (text: string, results: Results = [result], near: string[] = []) =>
  toMarkup(renderSearchPage({ text, results, near, guides: [FIND_HELP] }))

test('the page shows what was asked for as text, and has no second search field', () => {
  expect(markup('"><script>')).toContain('for “&quot;&gt;&lt;script&gt;”</h1>')
  expect(markup('"><script>', [])).toContain('for “&quot;&gt;&lt;script&gt;”')
})

test('the page lists guides in the order that it is given, each with its snippet and a link to the section', () => {
  const listed = markup('scam', [result, { ...result, slug: 'b', title: 'B' }])
  expect(listed).toContain('2 guides for “scam”')
  expect(listed).toContain('<a href="/guides/avoid-scams">Avoid scams</a>')
  expect(listed).toContain(
    '<a href="/guides/avoid-scams#warning-signs">Warning signs</a><br>Never pay by &lt;gift card&gt;.',
  )
  expect(listed.indexOf('Avoid scams')).toBeLessThan(listed.indexOf('>B<'))
})

test('a snippet from before the first heading has no link', () => {
  expect(markup('scam', [{ ...result, section: undefined }])).toContain(
    '<p class="snippet">Never pay by &lt;gift card&gt;.</p>',
  )
})

test('a search without a result offers near words, often needed guides, the question box and the form', () => {
  const empty = markup('zzz', [], ['visa', 'a&b'])
  expect(empty).toContain('No guide found for “zzz”')
  expect(empty).toContain('Did you mean <a href="/search?q=visa">visa</a> or <a')
  expect(empty).toContain('<form class="form" action="/search" method="get">')
  expect(empty).toContain('value="zzz">')
  expect(empty).toContain('<a href="/search?q=a%26b">a&amp;b</a>')
  for (const href of ['/ask', '/guides', '/get-help', '/contact', '/guides/find-legal-help'])
    expect(empty).toContain(`href="${href}"`)
  expect(markup('zzz', [])).not.toContain('Did you mean')
})

test('the page does not mention results before a search', () => {
  expect(markup('', [])).not.toContain('found')
})
