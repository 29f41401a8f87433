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
  test('are of a guide, a trigger file or a fixed text for each trigger that facts state', () => {
    const strangers = loadTriggers().flatMap(({ id }) =>
      findUnknownStrings(
        answerQuestion(
          { question: 'How do I renew my green card?', facts: { [id]: true } },
          knowledge,
          TODAY,
        ),
      ),
    )
    expect(strangers).toEqual([])
  })

  test('a sentence from another place would be found', () => {
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

  test('sections that triggers may still say exist', () => {
    const missing = loadTriggers().flatMap(({ id, mayStillSay }) =>
      mayStillSay
        .filter((section) => knowledge.sections.get(section) === undefined)
        .map((section) => `${id}: ${section}`),
    )
    expect(missing).toEqual([])
  })

  test('guides and sections that triggers may also say exist', () => {
    const missing = loadTriggers().flatMap(({ id, mayAlsoSay }) =>
      mayAlsoSay
        .filter((place) => !knowledge.guides.has(place) && knowledge.sections.get(place) === undefined)
        .map((place) => `${id}: ${place}`),
    )
    expect(missing).toEqual([])
  })

  test('triggers of checks exist', () => {
    const named = [...knowledge.asks.values()].flatMap(({ check }) => check)
    expect(named.filter((id) => !triggers.has(id))).toEqual([])
  })

  test('each item about attorneys of a guide says which triggers it speaks of, and these exist', () => {
    const items = [...knowledge.guides.values()].flatMap(({ talkToAnAttorneyWhen }) => talkToAnAttorneyWhen)
    expect(new Set(knowledge.attorneyItems.keys())).toEqual(new Set(items))
    expect([...knowledge.attorneyItems.values()].flat().filter((id) => !triggers.has(id))).toEqual([])
  })

  test('a trigger of each guide is in one of its items about attorneys', () => {
    const silent = [...knowledge.guides.values()].filter(
      ({ talkToAnAttorneyWhen }) =>
        !talkToAnAttorneyWhen.some((item) => knowledge.attorneyItems.get(item)?.length),
    )
    expect(silent).toEqual([])
  })

  test('links of rules exist', () => {
    const links = knowledge.scope.rules.flatMap(({ link }) => link ?? [])
    expect(links.filter((link) => !(link in knowledge.links))).toEqual([])
  })

  test('links are official', () => {
    const pages = [...Object.values(knowledge.links), ...ALL_HELP, ...Object.values(EMERGENCY_LINES)]
    const urls = pages.flatMap((page) => ('url' in page && page.url) || [])
    expect(urls.filter((url) => !isOfficial(url))).toEqual([])
  })
})
