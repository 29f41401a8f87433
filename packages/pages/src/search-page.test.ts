import { expect, test } from 'vitest'
import { toMarkup } from './html.ts'
import { renderSearchPage } from './search-page.ts'

const RESULT = {
  slug: 'avoid-scams',
  title: 'Avoid scams',
  summary: 'How to spot one.',
  snippet: 'Never pay by <gift card>.',
  section: { heading: 'Warning signs', anchor: 'warning-signs' },
}
const FIND_HELP = { slug: 'find-legal-help', title: 'Find help', summary: 'Who may help.' }
type Results = Parameters<typeof renderSearchPage>[0]['results']
const renderSearch = (text: string, results: Results = [RESULT], similarWords: string[] = []) =>
  toMarkup(renderSearchPage({ text, results, similarWords, guides: [FIND_HELP] }))

test('the heading contains the search terms, escaped, with and without results', () => {
  expect(renderSearch('"><script>')).toContain('for “&quot;&gt;&lt;script&gt;”</h1>')
  expect(renderSearch('"><script>', [])).toContain('for “&quot;&gt;&lt;script&gt;”')
})

test('the results are listed in the given order, each with its snippet and a link to the section of the snippet', () => {
  const page = renderSearch('scam', [RESULT, { ...RESULT, slug: 'b', title: 'B' }])
  expect(page).toContain('2 guides for “scam”')
  expect(page).toContain('<a href="/guides/avoid-scams">Avoid scams</a>')
  expect(page).toContain(
    '<a href="/guides/avoid-scams#warning-signs">Warning signs</a><br>Never pay by &lt;gift card&gt;.',
  )
  expect(page.indexOf('Avoid scams')).toBeLessThan(page.indexOf('>B<'))
})

test('a snippet from before the first heading has no link', () => {
  expect(renderSearch('scam', [{ ...RESULT, section: undefined }])).toContain(
    '<p class="snippet">Never pay by &lt;gift card&gt;.</p>',
  )
})

test('a search without results offers similar words, a new search, guides that many people need, and other pages', () => {
  const page = renderSearch('zzz', [], ['visa', 'a&b'])
  expect(page).toContain('No guide found for “zzz”')
  expect(page).toContain('Did you mean <a href="/search?q=visa">visa</a> or <a')
  expect(page).toContain('<form class="form" action="/search" method="get">')
  expect(page).toContain('value="zzz">')
  expect(page).toContain('<a href="/search?q=a%26b">a&amp;b</a>')
  for (const href of ['/ask', '/guides', '/get-help', '/contact', '/guides/find-legal-help'])
    expect(page).toContain(`href="${href}"`)
  expect(renderSearch('zzz', [])).not.toContain('Did you mean')
})

test('without search terms, the page does not say whether guides were found', () => {
  const page = renderSearch('', [])
  expect(page).not.toContain('found')
  expect(page).not.toContain('guides for')
})
