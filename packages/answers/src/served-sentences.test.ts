import { ALL_HELP, EMERGENCY_LINES } from '@plainpath/domain'
import { isOfficial } from '@plainpath/guides'
import { describe, expect, test } from 'vitest'
import { answerQuestion } from './answer-question.ts'
import { loadFixedTexts } from './fixed-texts.ts'
import { packagedKnowledge } from './knowledge.ts'
import { findUnknownStrings, ORIGIN } from './served-sentences.ts'
import { loadTriggers } from './triggers/trigger-file.ts'

const TODAY = new Date('2026-11-23T00:00:00Z')
const knowledge = packagedKnowledge(ORIGIN)
const texts = loadFixedTexts()

describe('sentences of answers', () => {
  test('come from a guide, a trigger file or a fixed text, whichever trigger a fact states', () => {
    const unknownStrings = loadTriggers().flatMap(({ id }) =>
      findUnknownStrings(
        answerQuestion(
          { question: 'How do I renew my green card?', facts: { [id]: true } },
          knowledge,
          TODAY,
        ),
      ),
    )
    expect(unknownStrings).toEqual([])
  })

  test('findUnknownStrings finds a foreign sentence', () => {
    const answer = answerQuestion(
      { question: 'How do I renew my green card?', facts: undefined },
      knowledge,
      TODAY,
    )
    expect(findUnknownStrings({ ...answer, limits: `${texts.limitsBegin} who won the game.` })).toEqual([
      'who won the game',
    ])
    expect(findUnknownStrings({ ...answer, disclaimer: 'All will be well.' })).toEqual(['All will be well.'])
  })
})

describe('references in the data', () => {
  const triggers = new Set(loadTriggers().map(({ id }) => id))

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

  test('every trigger in `check` of a guide exists', () => {
    const checkIds = [...knowledge.asks.values()].flatMap(({ check }) => check)
    expect(checkIds.filter((id) => !triggers.has(id))).toEqual([])
  })

  test('attorney-items.yaml has exactly the items of `talkToAnAttorneyWhen`, with triggers that exist', () => {
    const items = [...knowledge.guides.values()].flatMap(({ talkToAnAttorneyWhen }) => talkToAnAttorneyWhen)
    expect(new Set(knowledge.attorneyItems.keys())).toEqual(new Set(items))
    expect([...knowledge.attorneyItems.values()].flat().filter((id) => !triggers.has(id))).toEqual([])
  })

  test('at least one item of `talkToAnAttorneyWhen` of each guide has a trigger', () => {
    const guidesWithoutTrigger = [...knowledge.guides.values()].filter(
      ({ talkToAnAttorneyWhen }) =>
        !talkToAnAttorneyWhen.some((item) => knowledge.attorneyItems.get(item)?.length),
    )
    expect(guidesWithoutTrigger).toEqual([])
  })

  test('every link of a scope rule exists', () => {
    const links = knowledge.scope.rules.flatMap(({ link }) => link ?? [])
    expect(links.filter((link) => !(link in knowledge.links))).toEqual([])
  })

  test('every link is official', () => {
    const pages = [...Object.values(knowledge.links), ...ALL_HELP, ...Object.values(EMERGENCY_LINES)]
    const urls = pages.flatMap((page) => ('url' in page && page.url) || [])
    expect(urls.filter((url) => !isOfficial(url))).toEqual([])
  })
})
