import { describe, expect, test } from 'vitest'
import { answerQuestion } from './answer-question.ts'
import { loadFixedTexts } from './fixed-texts.ts'
import { preparePackagedKnowledge } from './knowledge.ts'
import { findUnknownStrings, ORIGIN } from './served-sentences.ts'
import { loadTriggers } from './triggers/trigger-file.ts'

const TODAY = new Date('2026-11-23T00:00:00Z')
const knowledge = preparePackagedKnowledge(ORIGIN)
const texts = loadFixedTexts()

describe('sentences of answers', () => {
  test('come from guides, triggers, fixed texts, help or official links, for each trigger that a fact states', () => {
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
})

describe('findUnknownStrings', () => {
  test('finds an unknown sentence in the limits and in the disclaimer', () => {
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
