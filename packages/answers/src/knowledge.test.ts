import { loadGuides } from '@plainpath/guides'
import { expect, test } from 'vitest'
import { prepareKnowledge } from './knowledge.ts'
import { loadTriggers } from './triggers/trigger-file.ts'

const ORIGIN = 'https://plainpath.example'

// A regular expression is easy to lose from a version: `JSON.stringify` writes it as `{}`.
test('the version changes with the words for which a trigger leaves out further sentences', () => {
  const triggers = loadTriggers()
  const changedTriggers = triggers.map((trigger) => ({
    ...trigger,
    also: trigger.also.map((addition) => ({ ...addition, unless: /\bnothing else\b/iu })),
  }))
  const knowledge = prepareKnowledge({ guides: loadGuides(), triggers, origin: ORIGIN })
  const changedKnowledge = prepareKnowledge({
    guides: loadGuides(),
    triggers: changedTriggers,
    origin: ORIGIN,
  })
  expect(changedKnowledge.version).not.toBe(knowledge.version)
  expect(changedKnowledge.triggers).toBe(changedTriggers)
})
