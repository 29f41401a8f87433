import { describe, expect, test } from 'vitest'
import { toMarkup } from './html.ts'
import { type HomePage, renderHomePage } from './index.ts'

const script = `curl -d '{"client_name":"Atlas"}' "$ORIGIN/api/agent/register" && echo <done>`
const home: HomePage = {
  guides: [{ slug: 'renew-green-card', title: 'Renew your green card', summary: 'What to file.' }],
  commands: [{ description: 'Sign up.', script }],
  links: [{ href: '/auth.md', text: 'How agents sign up' }],
}

describe('the home page', () => {
  test('begins with the question box, with urgent help, what the service is not and the way in for agents below, and leads on', () => {
    const markup = toMarkup(renderHomePage(home))
    const places = [
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
    expect(places).not.toContain(-1)
    expect(places).toEqual(places.toSorted((a, b) => a - b))
  })

  test('links each situation that has a guide, and the list of all', () => {
    const markup = toMarkup(renderHomePage(home))
    expect(markup).toContain('<a href="/guides#green-card">Green card</a>')
    expect(markup).not.toContain('/guides#court')
    expect(markup).toContain('<a href="/guides">All guides</a>')
    expect(toMarkup(renderHomePage({ ...home, guides: [] }))).toContain('No guide is published yet.')
  })

  test('asks a person whom a link led here to join first', () => {
    const markup = toMarkup(renderHomePage({ ...home, referredBySlug: 'k3v7q2mzt5ndw4ha' }))
    expect(markup.match(/id="waitlist"/g)).toHaveLength(1)
    expect(markup.indexOf('id="waitlist"')).toBeLessThan(markup.indexOf('Guides by situation'))
  })

  test('shows a command so that what is copied from it is what was given', () => {
    const shown = /<pre><code>(.*)<\/code><\/pre>/s.exec(toMarkup(renderHomePage(home)))?.[1] ?? ''
    const copied = shown.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<')
    expect(copied.replaceAll('&gt;', '>').replaceAll('&amp;', '&')).toBe(script)
  })

  test('leaves the list of links out when there are none', () => {
    expect(toMarkup(renderHomePage({ ...home, links: [] }))).not.toContain('Read more')
  })
})
