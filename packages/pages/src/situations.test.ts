import { expect, test } from 'vitest'
import { toMarkup } from './html.ts'
import { renderGuidesPage } from './index.ts'
import { groupGuidesBySituation, listOftenNeededGuides, SITUATIONS } from './situations.ts'

const createGuide = (slug: string) => ({ slug, title: `Title of ${slug}`, summary: 'What to do.' })
const renew = createGuide('renew-green-card')
const scams = createGuide('avoid-scams')
const unknown = createGuide('new-subject')

test('groupGuidesBySituation keeps the order of the situations, and puts guides without a situation last', () => {
  expect(groupGuidesBySituation([unknown, scams, renew])).toMatchObject([
    { id: 'green-card', guides: [renew] },
    { id: 'letter', guides: [scams] },
    { id: 'more', guides: [unknown] },
  ])
  expect(groupGuidesBySituation([])).toEqual([])
})

test('listOftenNeededGuides selects often needed guides from those given', () => {
  expect(listOftenNeededGuides([unknown, renew])).toEqual([renew])
})

test('the page of all guides has a section with a link for each situation that has guides', () => {
  const markup = toMarkup(renderGuidesPage([renew, scams]))
  const situations = SITUATIONS.filter(({ id }) => ['green-card', 'letter'].includes(id))
  for (const { id, title } of situations) {
    expect(markup).toContain(`<a href="#${id}">${title}</a>`)
    expect(markup).toContain(`<h2 id="${id}">${title}</h2>`)
  }
  expect(markup).not.toContain('id="court"')
  expect(markup).toContain('<a href="/guides/avoid-scams">Title of avoid-scams</a>')
  expect(toMarkup(renderGuidesPage([]))).toContain('No guide is published yet.')
})
