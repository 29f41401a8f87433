import { expect, test } from 'vitest'
import { markupOf } from './html.ts'
import { searchBox, searchPage } from './search-page.ts'

const result = {
  slug: 'avoid-scams',
  title: 'Avoid scams',
  summary: 'How to see one.',
  snippet: 'Never pay by <gift card>.',
}
const markup = (text: string, results = [result]) => markupOf(searchPage({ text, results }))

test('the box is a labelled form that works without a script', () => {
  const box = markupOf(searchBox())
  expect(box).toContain('action="/search" method="get"')
  expect(box).toMatch(/<label for="q">.*<\/label>/)
  expect(box).toContain('id="q" name="q"')
})

test('the page keeps what was asked for, as text', () => {
  expect(markup('"><script>')).toContain('value="&quot;&gt;&lt;script&gt;"')
})

test('the page lists guides in the order that it is given, each with its snippet', () => {
  const listed = markup('scam', [result, { ...result, slug: 'b', title: 'B' }])
  expect(listed).toContain('2 guides, the best first')
  expect(listed).toContain('<a href="/guides/avoid-scams">Avoid scams</a>')
  expect(listed).toContain('Never pay by &lt;gift card&gt;.')
  expect(listed.indexOf('Avoid scams')).toBeLessThan(listed.indexOf('>B<'))
})

test('the page says what to do when nothing was found, and nothing before anybody asked', () => {
  expect(markup('zzz', [])).toContain('No guide found')
  expect(markup('', [])).not.toContain('found')
})
