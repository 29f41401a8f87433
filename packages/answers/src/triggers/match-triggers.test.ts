import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readTriggers } from './match-triggers.ts'
import { loadTriggers } from './trigger-file.ts'

const TODAY = new Date('2026-11-23')
const triggers = loadTriggers()
const read = (question: string) => readTriggers(question, triggers, TODAY)
const listStatedTriggers = (question: string) => read(question).matches.map(({ trigger }) => trigger)

/** Words and signs of which triggers, negations, numbers and clauses are made, so that random questions contain them. */
const WORDS =
  'i my husband was arrested by ice yesterday court judge asylum 13 months ago not never no if people what does mean green card visa expired $3000 21 2014 i-751 , . ? ! - \n A123456789 4111 1111 1111 1111'.split(
    ' ',
  )
const sentences = fc
  .array(fc.oneof(fc.constantFrom(...WORDS), fc.string({ maxLength: 12 })), { maxLength: 60 })
  .map((words) => words.join(' '))

test('readTriggers gives the same result twice, and quotes only the person’s words, without long numbers', () => {
  fc.assert(
    fc.property(fc.oneof(sentences, fc.string({ unit: 'binary', maxLength: 1200 })), (question) => {
      const reading = read(question)
      expect(read(question)).toEqual(reading)
      const triggerIds = triggers.map(({ id }) => id)
      const indexes = reading.matches.map(({ trigger }) => triggerIds.indexOf(trigger))
      expect(indexes).toEqual(indexes.toSorted((a, b) => a - b))
      for (const { matched, clauses } of reading.matches) {
        for (const phrase of matched) {
          expect(question).toContain(phrase)
          // Seven digits can identify a person or a card, see `LONG_NUMBER`.
          expect(phrase.replaceAll(/[\s.-]/g, '')).not.toMatch(/\d{7}/)
        }
        for (const clause of clauses) expect(reading.clauses[clause]).toBeDefined()
      }
      for (const { text, start, end } of reading.clauses) expect(text).toHaveLength(end - start)
      const checks = reading.suggestedChecks.map(({ trigger }) => trigger)
      expect(new Set([...checks, ...reading.matches.map(({ trigger }) => trigger)]).size).toBe(
        checks.length + reading.matches.length,
      )
    }),
    { numRuns: 60 },
  )
})

test.for([
  ['my brother A123456789 was detained by ICE', 'detention-ice'],
  ['I was arrested, A 123 456 789, and paid with card 4111 1111 1111 1111', 'criminal-history'],
] as const)('the matches and the checks do not repeat the numbers in: %s', ([question, trigger]) => {
  const reading = read(question)
  expect(reading.matches.map((match) => match.trigger)).toContain(trigger)
  const signs = reading.suggestedChecks.map(({ patterns }) => patterns)
  expect(JSON.stringify([reading.matches, signs])).not.toMatch(/\d{3}/)
})

test.for([
  [
    'I have a misdemeanor. Can I travel with my green card?',
    'What is a misdemeanor? I want to travel with my green card.',
  ],
  [
    'The consulate in Lagos refused my wife’s immigrant visa. Which documents does the National Visa Center want?',
    'The consulate in Lagos has my wife’s immigrant visa case. Which documents does the National Visa Center want?',
  ],
] as const)('a short question is handed off for what one sentence states: %s', ([stating, notStating]) => {
  expect(listStatedTriggers(stating)).not.toEqual([])
  expect(listStatedTriggers(notStating)).toEqual([])
})

test.for([
  [
    'i voted here and told them i am citizen. how the five year rule works?',
    'i never voted here and never told anyone i am citizen. how the five year rule works?',
  ],
  [
    'my husband has a DUI and problem with police',
    'my husband dont have any DUI or other problem with police. what he must bring to the fingerprints',
  ],
] as const)('a negation holds for what it precedes: %s', ([stating, denying]) => {
  expect(listStatedTriggers(stating)).not.toEqual([])
  expect(listStatedTriggers(denying)).toEqual([])
})

test('a question of more than 30 words is not read sentence by sentence', () => {
  const question =
    'The H-1B petition that my employer filed for me was not approved by USCIS. Can another company enter me in the lottery'
  expect(listStatedTriggers(`${question}?`)).toEqual(['denial-or-appeal'])
  expect(
    listStatedTriggers(
      `${question} of the coming spring, and when does the registration period for it begin?`,
    ),
  ).toEqual([])
})

/** Texts that cost a matcher the most: with many hits, many gaps, no hits, or no words. */
const EXPENSIVE_TEXTS = [
  'ice '.repeat(250),
  'my husband '.repeat(90),
  'i was not arrested and '.repeat(43),
  'court '.repeat(166),
  'a'.repeat(1000),
  '.'.repeat(1000),
  '1 '.repeat(500),
  '13 months ago '.repeat(71),
  'they took my brother to court by ice in 2019 and he was arrested '.repeat(15),
  "don't ".repeat(166),
  'é́́'.repeat(300),
  'i '.repeat(500),
  'my '.repeat(333),
]

test('readTriggers takes less than 100 ms of processor time for expensive texts', () => {
  // Before the measurement, V8 compiles the code.
  for (const text of EXPENSIVE_TEXTS) read(text)
  /** Returns the shortest of three times, without such effects as a garbage collection. */
  const measureCpuMs = (text: string) => {
    const timesMs = [1, 2, 3].map(() => {
      const usageBefore = process.cpuUsage()
      read(text)
      const { user, system } = process.cpuUsage(usageBefore)
      return (user + system) / 1_000
    })
    return Math.min(...timesMs)
  }
  for (const text of EXPENSIVE_TEXTS) expect(measureCpuMs(text)).toBeLessThan(100)
})

test('readTriggers finds a trigger at the end of a long question', () => {
  expect(listStatedTriggers(`${'x '.repeat(900)} i was arrested by ice`)).toContain('detention-ice')
})

test('readTriggers reports all triggers of a question that states several', () => {
  expect(
    listStatedTriggers(
      'I was arrested for a DUI in 2019. Now my husband hits me and I missed my hearing with the judge.',
    ),
  ).toEqual(expect.arrayContaining(['missed-hearing', 'abuse-victim', 'criminal-history']))
})

test('readTriggers recognises a stated danger', () => {
  expect(read('My husband hits me and says lie on the form').isDangerStated).toBe(true)
  expect(read('I want to lie on the form').isDangerStated).toBe(false)
})

test('readTriggers suggests a check for a trigger that is likely but not certain', () => {
  const { matches, suggestedChecks } = read('What if somebody is arrested while the form is pending?')
  expect(matches).toEqual([])
  expect(suggestedChecks[0]?.trigger).toBe('criminal-history')
})
