import { expect, test } from 'vitest'
import { toMarkup } from './html.ts'
import { renderGuidesPage } from './index.ts'
import { groupGuidesBySituation, listOftenNeeded, SITUATIONS } from './situations.ts'

const guide = (slug: string) => ({ slug, title: `Title of ${slug}`, summary: 'What to do.' })
const [renew, scams, unknown] = [guide('renew-green-card'), guide('avoid-scams'), guide('new-subject')]

test('guides are grouped in the order of the situations; one of no situation comes last', () => {
  expect(groupGuidesBySituation([unknown, scams, renew])).toMatchObject([
    { id: 'green-card', guides: [renew] },
    { id: 'letter', guides: [scams] },
    { id: 'more', guides: [unknown] },
  ])
  expect(groupGuidesBySituation([])).toEqual([])
})

test('often needed guides are those that are published', () => {
  expect(listOftenNeeded([unknown, renew])).toEqual([renew])
})

test('the page of all guides has a part for each situation, and a link to it', () => {
  const markup = toMarkup(renderGuidesPage([renew, scams]))
  for (const { id, title } of SITUATIONS.filter((each) => ['green-card', 'letter'].includes(each.id))) {
    expect(markup).toContain(`<a href="#${id}">${title}</a>`)
    expect(markup).toContain(`<h2 id="${id}">${title}</h2>`)
  }
  expect(markup).not.toContain('id="court"')
  expect(markup).toContain('<a href="/guides/avoid-scams">Title of avoid-scams</a>')
  expect(toMarkup(renderGuidesPage([]))).toContain('No guide is published yet.')
})
