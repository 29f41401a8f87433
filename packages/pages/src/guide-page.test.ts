import { ATTORNEY_LISTS } from '@plainpath/domain'
import { describe, expect, test } from 'vitest'
import { type GuideOnPage, renderGuidePage, renderSourceMark } from './guide-page.ts'
import { rawHtml, toMarkup } from './html.ts'

const guide: GuideOnPage = {
  slug: 'renew',
  audience: 'People whose card expires.',
  title: 'Renew your green card',
  summary: 'What to file before the card ends.',
  sources: [
    {
      title: 'Form I-90',
      url: 'https://www.uscis.gov/i-90',
      agency: 'USCIS',
      kind: 'form-instructions',
      checked: '2026-06-26',
      stale: false,
    },
    {
      title: '8 CFR 264.5',
      url: 'https://www.ecfr.gov/current/title-8/section-264.5',
      agency: 'OFR',
      kind: 'regulation',
      checked: '2026-03-01',
      stale: false,
    },
  ],
  updated: '2026-11-20',
  reviewed: null,
  statements: 40,
  staleStatements: 0,
  history: [],
  disclaimer: 'General information only.',
  talkToAnAttorneyWhen: ['You were arrested.'],
}
const parts = {
  introHtml: rawHtml('<p>The <em>beginning</em>.</p>'),
  sections: [{ id: 'renew#when', key: 'when', heading: 'When to file', html: rawHtml('<p>Now.</p>') }],
  related: [{ slug: 'work-permit', title: 'Work permit (Form I-765)' }],
  url: 'https://plainpath.example/guides/renew',
  apiUrl: 'https://plainpath.example/api/guides/renew',
  markdownUrl: '/guides/renew.md',
}
const renderGuide = (overrides: Partial<GuideOnPage> = {}) =>
  toMarkup(renderGuidePage({ ...guide, ...overrides }, parts))

describe('a guide page', () => {
  test('shows its parts in this order', () => {
    const expectedParts = [
      '<h1>Renew your green card</h1>',
      guide.summary,
      guide.audience,
      'Not yet reviewed by an attorney.',
      '<a href="#sources">its 2 official sources</a> as of',
      '<a href="#attorney">When to talk to an attorney first</a>',
      '<h2 id="contents">On this page</h2>',
      '<a href="#when">When to file</a>',
      '<p>The <em>beginning</em>.</p>',
      '<h2 id="when">When to file</h2>\n<p>Now.</p>',
      'href="/contact?passage=renew%23when"',
      '<h2 id="attorney">When to talk to an attorney</h2>',
      'You were arrested.',
      ...ATTORNEY_LISTS.map(({ url }) => `href="${url}"`),
      '<h2 id="related">Related guides</h2>',
      'href="/guides/work-permit"',
      '<h2 id="sources">Sources</h2>',
      'General information only.',
      'href="/contact?passage=renew"',
      `href="${parts.apiUrl}"`,
      `href="${parts.markdownUrl}"`,
      `curl -H 'Accept: text/markdown' ${parts.apiUrl}`,
    ]
    const indexes = expectedParts.map((part) => renderGuide().indexOf(part))
    expect(indexes).not.toContain(-1)
    expect(indexes).toEqual(indexes.toSorted((a, b) => a - b))
  })

  test('shows the guide’s own text about attorneys instead of the list of reasons', () => {
    const page = toMarkup(
      renderGuidePage(guide, { ...parts, attorneyHtml: rawHtml('<p>Do not skip it.</p>') }),
    )
    expect(page).toContain('<h2 id="attorney">When to talk to an attorney</h2>\n<p>Do not skip it.</p>')
    expect(page).not.toContain('You were arrested.')
  })

  test('lists each source with an id, its link, its agency and the day on which it was checked', () => {
    expect(renderGuide()).toContain(
      '<li id="source-2"><a href="https://www.ecfr.gov/current/title-8/section-264.5">8 CFR 264.5</a>. OFR. ' +
        'We last read this rule as of <time datetime="2026-03-01">March 1, 2026</time>.</li>',
    )
  })

  test('says when the newest and the oldest source were checked, and only one day if there is a single source', () => {
    const [source] = guide.sources
    if (!source) throw new Error('no source')
    expect(renderGuide()).toContain(
      'as of <time datetime="2026-06-26">June 26, 2026</time>, and the oldest as of <time datetime="2026-03-01">March 1, 2026</time>.',
    )
    expect(renderGuide({ sources: [source] })).toContain(
      '<a href="#sources">its official source</a> as of <time datetime="2026-06-26">June 26, 2026</time>.',
    )
  })

  test('has source marks that open to show the source, with form names kept on one line', () => {
    const [source] = guide.sources
    if (!source) throw new Error('no source')
    expect(toMarkup(renderSourceMark(1, source))).toBe(
      '<details class="source"><summary>[1]</summary><small><a href="https://www.uscis.gov/i-90">' +
        '<span class="form-name">Form I-90</span></a>. We last read this page as of ' +
        '<time datetime="2026-06-26">June 26, 2026</time>.</small></details>',
    )
  })

  test('says on which day the guide was reviewed, if it was', () => {
    const reviewed = renderGuide({ reviewed: '2026-12-01' })
    expect(reviewed).toContain('Reviewed on <time datetime="2026-12-01">December 1, 2026</time>')
    expect(reviewed).not.toContain('Not yet reviewed')
    expect(reviewed).toContain('<meta itemprop="lastReviewed" content="2026-12-01">')
    expect(renderGuide()).not.toContain('lastReviewed')
  })

  test.for([
    [1, 'One statement below may be out of date'],
    [7, '7 of 40 statements below may be out of date'],
  ] as const)('warns of %i stale statements', ([staleStatements, words]) => {
    expect(renderGuide({ staleStatements })).toContain(`<p class="notice">${words}`)
    expect(renderGuide()).not.toContain('class="notice"')
  })

  test('marks only the source that was checked too long ago', () => {
    const sources = guide.sources.map((source, index) => ({ ...source, stale: index === 0 }))
    expect(renderGuide({ sources })).toContain('June 26, 2026</time>, too long ago.</li>')
    expect(renderGuide({ sources })).toContain('March 1, 2026</time>.</li>')
  })

  test('lists the changes, and links to them with the date of a correction', () => {
    const added = { date: '2026-11-24', version: 3, text: 'Added: a part on travel.' }
    const corrected = { date: '2026-11-23', version: 2, text: 'Corrected: the court counts five days.' }
    const page = renderGuide({ history: [added, corrected] })
    expect(page).toContain(
      '<a href="#history">Corrected on <time datetime="2026-11-23">November 23, 2026</time></a>.',
    )
    expect(page).toContain('<h2 id="history">Changes to this guide</h2>')
    expect(page).toContain(', version 2. Corrected: the court counts five days.</li>')
    expect(page.indexOf('version 3')).toBeLessThan(page.indexOf('version 2'))
    expect(renderGuide({ history: [added] })).not.toContain('<a href="#history">Corrected')
    expect(renderGuide()).not.toContain('id="history"')
  })
})

test('the attorney lists are the two of the Executive Office for Immigration Review', () => {
  expect(ATTORNEY_LISTS.map(({ url }) => url)).toEqual([
    'https://www.justice.gov/eoir/list-pro-bono-legal-service-providers',
    'https://www.justice.gov/eoir/recognition-accreditation-roster-reports',
  ])
})
