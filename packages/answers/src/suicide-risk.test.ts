import { describe, expect, test } from 'vitest'
import { answerQuestion } from './answer-question.ts'
import { preparePackagedKnowledge } from './knowledge.ts'

const knowledge = preparePackagedKnowledge('https://plainpath.example')
const ask = (question: string) => answerQuestion({ question }, knowledge, new Date('2026-11-27T00:00:00Z'))

describe('thoughts of suicide', () => {
  test.for([
    ['alone', 'I want to kill myself'],
    [
      'beside a question that a guide answers',
      'How do I renew my green card? I do not want to live anymore.',
    ],
    ['beside a request to lie', 'I want to die. What can I say so they think we live together?'],
    ['beside a subject of another country', 'I want to end my life. How do I get a visa for Canada?'],
    ['as a condition', 'If they deport me I will kill myself'],
    ['of a relative', 'My son says he wants to die since ICE took his father'],
  ] as const)('%s are handed off, and the crisis line comes first', ([, stated]) => {
    const { outcome, handOff } = ask(stated)
    expect(outcome).toBe('hand_off')
    expect(handOff?.reasons[0]?.trigger).toBe('suicide-risk')
    expect(handOff?.doNow[0]).toMatch(/^Call or text 988/)
    expect(handOff?.findHelp[0]?.phone).toBe('988')
  })

  // Near misses: another person's past death, and `die` or `live` in another sense.
  test.each([
    'My husband killed himself last year. He was my sponsor. What happens to my petition?',
    'My grandmother wants to die in Mexico. Can she come back with her green card?',
    'I do not want to live in Texas. How do I change my address?',
  ])('are not read into: %s', (other) => {
    expect(ask(other).handOff?.reasons.map(({ trigger }) => trigger) ?? []).not.toContain('suicide-risk')
  })

  test('in Spanish get the notice with the crisis line', () => {
    const { outOfScope } = ask('No quiero vivir. Me negaron el asilo.')
    expect(outOfScope?.findHelp.map(({ phone }) => phone)).toContain('988')
  })
})
