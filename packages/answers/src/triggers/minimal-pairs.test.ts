import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { readTriggers } from './match-triggers.ts'
import { loadTriggers } from './trigger-file.ts'

/** Whether each form of an event is to be handed off. */
const HANDS_OFF = {
  affirmed: true,
  denied: false,
  informational: false,
  relative: true,
  past: true,
  mixed: true,
} as const
const Pairs = z.record(
  z.string(),
  z.record(z.enum(Object.keys(HANDS_OFF) as [keyof typeof HANDS_OFF]), z.string()),
)
const pairs = Pairs.parse(
  parse(readFileSync(new URL('../../examples/minimal-pairs.yaml', import.meta.url), 'utf8')),
)
const triggers = loadTriggers()
const examples = Object.entries(pairs).flatMap(([trigger, forms]) =>
  Object.entries(forms).map(
    ([form, question]) => [trigger, form as keyof typeof HANDS_OFF, question] as const,
  ),
)

test('every trigger has an example of each form', () => {
  expect(Object.keys(pairs).toSorted()).toEqual(triggers.map(({ id }) => id).toSorted())
  expect(examples).toHaveLength(triggers.length * Object.keys(HANDS_OFF).length)
})

test.for(examples)(
  'for %s, the question of the form %s is handed off exactly if it should be: %s',
  ([trigger, form, question]) => {
    const { matches } = readTriggers(question, triggers, new Date('2026-11-23'))
    const statedTriggers = matches.map((match) => match.trigger)
    if (HANDS_OFF[form]) expect(statedTriggers).toContain(trigger)
    else expect(statedTriggers).toEqual([])
  },
)
