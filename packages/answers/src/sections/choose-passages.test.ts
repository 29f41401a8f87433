import { expect, test } from 'vitest'
import { answerQuestion } from '../answer-question.ts'
import { preparePackagedKnowledge } from '../knowledge.ts'

const knowledge = preparePackagedKnowledge('https://plainpath.example')
const TODAY = new Date('2026-11-23T00:00:00Z')

/** Returns the id of the first passage, and whether it is marked as the answer. */
function findFirstPassage(question: string) {
  const [passage] = answerQuestion({ question, facts: undefined }, knowledge, TODAY).passages
  return { id: passage?.id, answers: passage?.answers }
}

test.each([
  ['What is asylum?', 'asylum-basics'],
  ['what does DACA mean', 'daca-renewal'],
  ['What is naturalization?', 'apply-for-citizenship'],
])('“%s” asks what an ask of the introduction asks, so the introduction is the answer', (question, id) => {
  expect(findFirstPassage(question)).toEqual({ id, answers: true })
})

test.each([
  ['Where do I apply for naturalization?', 'apply-for-citizenship'],
  ['Why do I renew my green card?', 'renew-green-card#what-to-do-next'],
  ['Who can report a scam?', 'avoid-scams#if-someone-cheated-you'],
])(
  '“%s” asks for other information than the nearest ask, so the best section is not the answer',
  (question, id) => {
    expect(findFirstPassage(question)).toEqual({ id, answers: false })
  },
)

test('a section that gives each type of information, and clearly leads the others, is the answer', () => {
  const id = 'travel-document#if-you-have-a-green-card'
  expect(findFirstPassage('How long can I stay outside the US with a green card?')).toEqual({
    id,
    answers: true,
  })
})
