import { describe, expect, test } from 'vitest'
import { readPatterns } from './match-triggers.ts'
import { loadTriggers } from './trigger-file.ts'

const TODAY = new Date('2026-11-23')
const triggers = loadTriggers()

const findPatterns = (question: string, id: string) => readPatterns(question, triggers, TODAY).get(id) ?? []

describe.for(triggers.map((trigger) => [trigger.id, trigger] as const))('%s', ([id, trigger]) => {
  const matchingExamples = trigger.patterns.flatMap((pattern) =>
    pattern.matches.map((question) => [pattern.id, question] as const),
  )
  const sparedExamples = [...trigger.patterns, ...trigger.defusers].flatMap((patternOrDefuser) =>
    patternOrDefuser.spares.map((question) => [patternOrDefuser.id, question] as const),
  )

  test.for(matchingExamples)('%s matches "%s"', ([pattern, question]) => {
    expect(findPatterns(question, id)).toContain(pattern)
  })

  test.for(sparedExamples)('no pattern matches the example that %s spares: "%s"', ([, question]) => {
    expect(findPatterns(question, id)).toEqual([])
  })
})

test('triggers have the precedences 0, 1, 2 and so on, and are sorted by urgency', () => {
  const urgencies = triggers.map(({ urgency }) => urgency)
  expect(triggers.map(({ precedence }) => precedence)).toEqual(triggers.map((_, index) => index))
  expect(urgencies.join(' ')).toMatch(/^(urgent ?)+(high ?)+(normal ?)+$/)
})

test('no two patterns, and no two defusers, of a trigger share an id', () => {
  for (const { patterns, weak, defusers } of triggers) {
    const ids = [...patterns, ...weak].map(({ id }) => id)
    expect(ids).toEqual([...new Set(ids)])
    expect(defusers.map(({ id }) => id)).toEqual([...new Set(defusers.map(({ id }) => id))])
  }
})

test('each defuser names only patterns of its trigger', () => {
  for (const { patterns, defusers } of triggers) {
    const ids = patterns.map(({ id }) => id)
    expect(ids).toEqual(expect.arrayContaining(defusers.flatMap(({ of = [] }) => of)))
  }
})
