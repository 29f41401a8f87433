import { loadGuides } from '@plainpath/guides'
import { describe, expect, test } from 'vitest'
import { readPatterns } from './match-triggers.ts'
import { loadTriggers } from './trigger-file.ts'

const TODAY = new Date('2026-11-23')
const triggers = loadTriggers()

const patternsOf = (question: string, id: string) => readPatterns(question, triggers, TODAY).get(id) ?? []

describe.for(triggers.map((trigger) => [trigger.id, trigger] as const))('%s', ([id, trigger]) => {
  const matching = trigger.patterns.flatMap((pattern) =>
    pattern.matches.map((question) => [pattern.id, question] as const),
  )
  const spared = [...trigger.patterns, ...trigger.defusers].flatMap((one) =>
    one.spares.map((question) => [one.id, question] as const),
  )

  test.for(matching)('%s matches "%s"', ([pattern, question]) => {
    expect(patternsOf(question, id)).toContain(pattern)
  })

  test.for(spared)('%s spares "%s"', ([, question]) => {
    expect(patternsOf(question, id)).toEqual([])
  })
})

test('triggers are in the order in which they are reported', () => {
  const urgencies = triggers.map(({ urgency }) => urgency)
  expect(triggers.map(({ precedence }) => precedence)).toEqual(triggers.map((_, index) => index + 1))
  expect(urgencies.join(' ')).toMatch(/^(urgent ?)+(high ?)+(normal ?)+$/)
})

test('no two patterns of a trigger share an id', () => {
  for (const { patterns, weak, defusers } of triggers) {
    const ids = [...patterns, ...weak].map(({ id }) => id)
    expect(ids).toEqual([...new Set(ids)])
    expect(defusers.map(({ id }) => id)).toEqual([...new Set(defusers.map(({ id }) => id))])
  }
})

test('each defuser names patterns that exist', () => {
  for (const { patterns, defusers } of triggers) {
    const ids = patterns.map(({ id }) => id)
    expect(ids).toEqual(expect.arrayContaining(defusers.flatMap(({ of = [] }) => of)))
  }
})

test('each section that may be shown is a section of a guide', () => {
  const sections = loadGuides().flatMap(({ slug, body }) =>
    [...body.matchAll(/^#{2,3} (.+)$/gm)].map(
      ([, heading = '']) =>
        `${slug}#${heading
          .toLowerCase()
          .replaceAll(/[^a-z0-9]+/g, '-')
          .replaceAll(/^-|-$/g, '')}`,
    ),
  )
  expect(sections).toEqual(expect.arrayContaining(triggers.flatMap(({ mayStillSay }) => mayStillSay)))
})
