import { ALL_HELP, EMERGENCY_LINES } from '@plainpath/domain'
import { isOfficial } from '@plainpath/guides'
import { expect, test } from 'vitest'
import { preparePackagedKnowledge } from './knowledge.ts'
import { ORIGIN } from './served-sentences.ts'
import { loadTriggers } from './triggers/trigger-file.ts'

const knowledge = preparePackagedKnowledge(ORIGIN)
const triggerIds = new Set(loadTriggers().map(({ id }) => id))

test('every section in `mayStillSay` of a trigger exists', () => {
  const missing = loadTriggers().flatMap(({ id, mayStillSay }) =>
    mayStillSay
      .filter((section) => knowledge.sections.get(section) === undefined)
      .map((section) => `${id}: ${section}`),
  )
  expect(missing).toEqual([])
})

test('every guide and section in `mayAlsoSay` of a trigger exists', () => {
  const missing = loadTriggers().flatMap(({ id, mayAlsoSay }) =>
    mayAlsoSay
      .filter((name) => !knowledge.guides.has(name) && knowledge.sections.get(name) === undefined)
      .map((name) => `${id}: ${name}`),
  )
  expect(missing).toEqual([])
})

test('every trigger in `check` of a guide’s asks exists', () => {
  const checkIds = [...knowledge.asks.values()].flatMap(({ check }) => check)
  expect(checkIds.filter((id) => !triggerIds.has(id))).toEqual([])
})

test('attorney-items.yaml has exactly the items of `talkToAnAttorneyWhen`, with triggers that exist', () => {
  const items = [...knowledge.guides.values()].flatMap(({ talkToAnAttorneyWhen }) => talkToAnAttorneyWhen)
  expect(new Set(knowledge.attorneyItems.keys())).toEqual(new Set(items))
  expect([...knowledge.attorneyItems.values()].flat().filter((id) => !triggerIds.has(id))).toEqual([])
})

test('at least one item of `talkToAnAttorneyWhen` of each guide has a trigger', () => {
  const guidesWithoutTrigger = [...knowledge.guides.values()]
    .filter(
      ({ talkToAnAttorneyWhen }) =>
        !talkToAnAttorneyWhen.some((item) => knowledge.attorneyItems.get(item)?.length),
    )
    .map(({ slug }) => slug)
  expect(guidesWithoutTrigger).toEqual([])
})

test('every link of a scope rule is in official-links.yaml', () => {
  const links = knowledge.scope.rules.flatMap(({ link }) => link ?? [])
  expect(links.filter((link) => !(link in knowledge.links))).toEqual([])
})

test('every named link, help page, trigger source and emergency line with a URL is official', () => {
  const pages = [
    ...Object.values(knowledge.links),
    ...ALL_HELP,
    ...Object.values(EMERGENCY_LINES),
    ...loadTriggers().map(({ source }) => source),
  ]
  const urls = pages.flatMap((page) => ('url' in page && page.url) || [])
  expect(urls.filter((url) => !isOfficial(url))).toEqual([])
})
