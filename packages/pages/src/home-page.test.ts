import { describe, expect, test } from 'vitest'
import { markupOf } from './html.ts'
import { type HomePage, homePage } from './index.ts'

const line = `curl -d '{"client_name":"Atlas"}' "$ORIGIN/api/agent/register" && echo <done>`
const home: HomePage = {
  guides: [{ slug: 'renew-green-card', title: 'Renew your green card', summary: 'What to file.' }],
  commands: [{ does: 'Sign up.', line }],
  links: [{ href: '/auth.md', text: 'How agents sign up' }],
}

describe('the home page', () => {
  test('says what the service is not before it opens its doors', () => {
    const markup = markupOf(homePage(home))
    expect(markup.indexOf('not a law firm and not the government')).toBeGreaterThan(0)
    expect(markup.indexOf('not a law firm')).toBeLessThan(markup.indexOf('For people'))
    expect(markup.indexOf('For people')).toBeLessThan(markup.indexOf('For agents'))
  })

  test('links each guide to its page', () => {
    expect(markupOf(homePage(home))).toContain('<a href="/guides/renew-green-card">Renew your green card</a>')
    expect(markupOf(homePage({ ...home, guides: [] }))).toContain('No guide is published yet.')
  })

  test('shows a command so that what is copied from it is what was given', () => {
    const shown = /<pre><code>(.*)<\/code><\/pre>/s.exec(markupOf(homePage(home)))?.[1] ?? ''
    const copied = shown.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<')
    expect(copied.replaceAll('&gt;', '>').replaceAll('&amp;', '&')).toBe(line)
  })

  test('leaves the list of links out when there are none', () => {
    expect(markupOf(homePage({ ...home, links: [] }))).not.toContain('To read on')
  })

  test('leads to the form for messages', () => {
    expect(markupOf(homePage(home))).toContain('<a href="/contact">Write to us</a>')
  })
})
