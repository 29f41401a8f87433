import { describe, expect, test } from 'vitest'
import { toMarkup } from './html.ts'
import { type HomePageContent, renderHomePage } from './index.ts'

const script = `curl -d '{"client_name":"Atlas"}' "$ORIGIN/api/agent/register" && echo <done>`
const home: HomePageContent = {
  guides: [{ slug: 'renew-green-card', title: 'Renew your green card', summary: 'What to file.' }],
  commands: [{ description: 'Sign up.', script }],
  links: [{ href: '/auth.md', text: 'How agents sign up' }],
}

describe('the home page', () => {
  test('has the question box first, then urgent help, what the service is not, and links for agents and apps', () => {
    const markup = toMarkup(renderHomePage(home))
    const indexes = [
      '<h1>',
      'Ask in your own words',
      '>Ask</button>',
      'In danger? <a href="/get-help">',
      'not a law firm and not the government',
      'href="#agents"',
      'href="/connect"',
      'Guides by situation',
      'Urgent help',
      '<h2 id="agents">',
    ].map((part) => markup.indexOf(part))
    expect(indexes).not.toContain(-1)
    expect(indexes).toEqual(indexes.toSorted((a, b) => a - b))
  })

  test('links to a situation that has guides and to the list of all guides, or says that there is no guide', () => {
    const markup = toMarkup(renderHomePage(home))
    expect(markup).toContain('<a href="/guides#green-card">Green card</a>')
    expect(markup).not.toContain('/guides#court')
    expect(markup).toContain('<a href="/guides">All guides</a>')
    expect(toMarkup(renderHomePage({ ...home, guides: [] }))).toContain('No guide is published yet.')
  })

  test('has the waitlist form once, and before the guides, for a person who followed a referral link', () => {
    const markup = toMarkup(renderHomePage({ ...home, referredBySlug: 'k3v7q2mzt5ndw4ha' }))
    expect(markup.match(/id="waitlist"/g)).toHaveLength(1)
    expect(markup.indexOf('id="waitlist"')).toBeLessThan(markup.indexOf('Guides by situation'))
  })

  test('escapes a command so that the displayed text is the command itself', () => {
    const escaped = /<pre><code>(.*)<\/code><\/pre>/s.exec(toMarkup(renderHomePage(home)))?.[1] ?? ''
    const withoutQuotes = escaped.replaceAll('&quot;', '"').replaceAll('&#39;', "'")
    const displayed = withoutQuotes.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
    expect(displayed).toBe(script)
  })

  test('leaves out the list of links if there are none', () => {
    expect(toMarkup(renderHomePage({ ...home, links: [] }))).not.toContain('Read more')
  })
})
