import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readTriggers } from './match-triggers.ts'
import { loadTriggers } from './trigger-file.ts'

const TODAY = new Date('2026-11-23')
const triggers = loadTriggers()
const read = (question: string) => readTriggers(question, triggers, TODAY)
const matched = (question: string) => read(question).matches.map(({ trigger }) => trigger)

const WORDS =
  'i my husband was arrested by ice yesterday court judge asylum 13 months ago not never no if people what does mean green card visa expired $3000 21 2014 i-751 , . ? ! - \n A123456789 4111 1111 1111 1111'.split(
    ' ',
  )
const sentence = fc
  .array(fc.oneof(fc.constantFrom(...WORDS), fc.string({ maxLength: 12 })), { maxLength: 60 })
  .map((words) => words.join(' '))

test('reads any text, always with the same result, and quotes only words of the person', () => {
  fc.assert(
    fc.property(fc.oneof(sentence, fc.string({ unit: 'binary', maxLength: 1200 })), (question) => {
      const reading = read(question)
      expect(read(question)).toEqual(reading)
      const order = triggers.map(({ id }) => id)
      const found = reading.matches.map(({ trigger }) => order.indexOf(trigger))
      expect(found).toEqual(found.toSorted((a, b) => a - b))
      for (const { matched: words, clauses } of reading.matches) {
        for (const word of words) {
          expect(question).toContain(word)
          expect(word.replaceAll(/[\s.-]/g, '')).not.toMatch(/\d{7}/)
        }
        for (const clause of clauses) expect(reading.clauses[clause]).toBeDefined()
      }
      for (const { text, start, end } of reading.clauses) expect(text).toHaveLength(end - start)
      const checks = reading.weak.map(({ trigger }) => trigger)
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
] as const)('numbers of persons and cards are never repeated: %s', ([question, trigger]) => {
  const reading = read(question)
  expect(reading.matches.map((match) => match.trigger)).toContain(trigger)
  const signs = reading.weak.map(({ patterns }) => patterns)
  expect(JSON.stringify([reading.matches, signs])).not.toMatch(/\d{3}/)
})

/** Texts that would cost a matcher most: many hits, many gaps, no hits, no words. */
const WORST = [
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

test('bounds the work by the length of the text', () => {
  for (const text of WORST) read(text)
  const cpuMsOf = (text: string) => {
    const times = [1, 2, 3].map(() => {
      const begun = process.cpuUsage()
      read(text)
      const { user, system } = process.cpuUsage(begun)
      return (user + system) / 1_000
    })
    return Math.min(...times)
  }
  for (const text of WORST) expect(cpuMsOf(text)).toBeLessThan(100)
})

test('ignores text after 1000 characters', () => {
  expect(matched(`${'x '.repeat(500)} i was arrested by ice`)).toEqual([])
})

test('reports several triggers, the most urgent first', () => {
  expect(
    matched(
      'I was arrested for a DUI in 2019. Now my husband hits me and I missed my hearing with the judge.',
    ),
  ).toEqual(expect.arrayContaining(['missed-hearing', 'abuse-victim', 'criminal-history']))
})

test('recognizes a danger', () => {
  expect(read('My husband hits me and says lie on the form').dangerStated).toBe(true)
  expect(read('I want to lie on the form').dangerStated).toBe(false)
})

test('suggests a check for a trigger that is likely but not certain', () => {
  const { matches, weak } = read('What if somebody is arrested while the form is pending?')
  expect(matches).toEqual([])
  expect(weak[0]?.trigger).toBe('criminal-history')
})
