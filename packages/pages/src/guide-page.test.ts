import { describe, expect, test } from 'vitest'
import { OFFICIAL_LISTS } from './attorney-help.ts'
import { type GuideOnPage, guidePage } from './guide-page.ts'
import { markupOf, rawHtml } from './html.ts'

const guide: GuideOnPage = {
  title: 'Renew your green card',
  summary: 'What to file before the card ends.',
  sources: [
    { title: 'Form I-90', url: 'https://www.uscis.gov/i-90', agency: 'USCIS', checked: '2026-06-26' },
    {
      title: '8 CFR 264.5',
      url: 'https://www.ecfr.gov/current/title-8/section-264.5',
      agency: 'OFR',
      checked: '2026-03-01',
    },
  ],
  updated: '2026-11-20',
  reviewed: null,
  stale: false,
  disclaimer: 'General information only.',
  talkToAnAttorneyWhen: ['You were arrested.'],
}
const apiUrl = 'https://plainpath.example/api/guides/renew'
const markdownUrl = '/guides/renew.md'
const markup = (change: Partial<GuideOnPage> = {}) =>
  markupOf(
    guidePage(
      { ...guide, ...change },
      { bodyHtml: rawHtml('<p>The <em>text</em>.</p>'), apiUrl, markdownUrl },
    ),
  )

describe('the page of a guide', () => {
  test('shows its parts in the order in which they are needed', () => {
    const parts = [
      '<h1>Renew your green card</h1>',
      guide.summary,
      'Not yet reviewed by an attorney.',
      '2 official sources',
      '<p>The <em>text</em>.</p>',
      'When to talk to an attorney',
      'You were arrested.',
      ...OFFICIAL_LISTS.map(({ url }) => `href="${url}"`),
      '<h2 id="sources">Sources</h2>',
      'General information only.',
      `href="${apiUrl}"`,
      `href="${markdownUrl}"`,
      `curl -H 'Accept: text/markdown' ${apiUrl}`,
    ]
    const places = parts.map((part) => markup().indexOf(part))
    expect(places).not.toContain(-1)
    expect(places).toEqual(places.toSorted((a, b) => a - b))
  })

  test('shows what the guide itself says about attorneys in place of the plain list', () => {
    const own = rawHtml('<h2>When to talk to an attorney</h2><p>Do not skip it.</p>')
    const page = markupOf(guidePage(guide, { bodyHtml: rawHtml(''), attorneyHtml: own, apiUrl, markdownUrl }))
    expect(page).toContain(
      '<section class="attorney">\n<h2>When to talk to an attorney</h2><p>Do not skip it.</p>',
    )
    expect(page).not.toContain('You were arrested.')
  })

  test('gives each source an address of its own, its agency and the day it was checked', () => {
    expect(markup()).toContain(
      '<li id="source-2"><a href="https://www.ecfr.gov/current/title-8/section-264.5">8 CFR 264.5</a>. OFR. ' +
        'Checked <time datetime="2026-03-01">March 1, 2026</time>.</li>',
    )
  })

  test('says on which day it was reviewed, once it was', () => {
    const reviewed = markup({ reviewed: '2026-12-01' })
    expect(reviewed).toContain('Reviewed on <time datetime="2026-12-01">December 1, 2026</time>')
    expect(reviewed).not.toContain('Not yet reviewed')
    expect(reviewed).toContain('<meta itemprop="lastReviewed" content="2026-12-01">')
    expect(markup()).not.toContain('lastReviewed')
  })

  test('warns when its sources were checked too long ago, and only then', () => {
    expect(markup({ stale: true })).toContain('checked long ago')
    expect(markup()).not.toContain('checked long ago')
  })
})

test('the official lists are the two of the Executive Office for Immigration Review', () => {
  expect(OFFICIAL_LISTS.map(({ url }) => url)).toEqual([
    'https://www.justice.gov/eoir/list-pro-bono-legal-service-providers',
    'https://www.justice.gov/eoir/recognition-accreditation-roster-reports',
  ])
})
