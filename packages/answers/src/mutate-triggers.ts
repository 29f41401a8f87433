/* oxlint-disable no-console -- a program whose output is what it prints */
/**
 * Removes each pattern and each defuser in turn, and counts the examples whose result changes. The examples come from the
 * trigger's own file, the minimal pairs, and the labelled questions in the files that the command line names. Fails if a removal
 * leaves the stated triggers of every example unchanged. Such a removal is marked REDUNDANT; or UNNOTICED, if it also leaves the
 * matching patterns of every example unchanged.
 */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { readLabelledQuestions } from './labelled-question.ts'
import { type CompiledEvent, compileTriggers } from './triggers/compile-triggers.ts'
import { parseQuestion } from './triggers/match-triggers.ts'
import { findNegators, type ParsedQuestion, readEvent } from './triggers/read-event.ts'
import { loadTriggers } from './triggers/trigger-file.ts'

const TODAY = new Date('2026-11-23')
const triggers = loadTriggers()
const compiledTriggers = compileTriggers(triggers)
/** The patterns without the weak patterns, which have a score and state no trigger. */
const patternsByTrigger = Map.groupBy(
  compiledTriggers.events.filter(({ score }) => score === undefined),
  ({ trigger }) => trigger.id,
)

/** The numbers of examples that change when one pattern or defuser is removed. */
interface ChangeCounts {
  /** The number of examples in which other patterns match. */
  patternChanges: number
  /** The number of examples in which the trigger becomes stated, or is no longer stated. */
  outcomeChanges: number
}

const countsByRemoval = new Map<string, ChangeCounts>()
const formatKey = (trigger: string, id: string) => `${trigger.padEnd(28)} ${id}`
const formatDefuserKey = (trigger: string, id: string) =>
  triggers.find((file) => file.id === trigger)?.defusers.some((defuser) => defuser.id === id)
    ? formatKey(trigger, `defuser ${id}`)
    : formatKey('(all triggers)', `defuser ${id}`)

for (const [trigger, patterns] of patternsByTrigger) {
  for (const { id, defusers } of patterns) {
    countsByRemoval.set(formatKey(trigger, id), { patternChanges: 0, outcomeChanges: 0 })
    for (const defuser of defusers)
      countsByRemoval.set(formatDefuserKey(trigger, defuser.id), { patternChanges: 0, outcomeChanges: 0 })
  }
}

function recordChange(key: string, isOutcomeChanged: boolean): void {
  const counts = countsByRemoval.get(key)
  if (counts === undefined) throw new Error(`no pattern or defuser ${key}`)
  counts.patternChanges += 1
  if (isOutcomeChanged) counts.outcomeChanges += 1
}

const isCertain = (event: CompiledEvent, parsedQuestion: ParsedQuestion, negators: ReadonlySet<number>) =>
  readEvent(event, parsedQuestion, negators)?.score === 1

/** Counts the changes that each removal makes to one example, for one trigger. */
function countChanges(trigger: string, parsedQuestion: ParsedQuestion, negators: ReadonlySet<number>): void {
  const patterns = patternsByTrigger.get(trigger) ?? []
  const matchingPatterns = patterns.filter((event) => isCertain(event, parsedQuestion, negators))
  for (const { id } of matchingPatterns) recordChange(formatKey(trigger, id), matchingPatterns.length === 1)
  const changedKeys = new Set<string>()
  for (const event of patterns) {
    if (matchingPatterns.includes(event)) continue
    for (const removedDefuser of event.defusers) {
      if (!parsedQuestion.hits.has(removedDefuser.words)) continue
      const defusers = event.defusers.filter((defuser) => defuser !== removedDefuser)
      if (isCertain({ ...event, defusers }, parsedQuestion, negators))
        changedKeys.add(formatDefuserKey(trigger, removedDefuser.id))
    }
  }
  for (const key of changedKeys) recordChange(key, matchingPatterns.length === 0)
}

function countAllChanges(question: string, triggerIds: readonly string[]): void {
  const parsedQuestion = parseQuestion(question, compiledTriggers, TODAY)
  const negators = findNegators(parsedQuestion)
  for (const trigger of triggerIds) countChanges(trigger, parsedQuestion, negators)
}

const allTriggerIds = triggers.map(({ id }) => id)
const minimalPairs = parse(
  readFileSync(new URL('../examples/minimal-pairs.yaml', import.meta.url), 'utf8'),
) as Record<string, Record<string, string>>
for (const [trigger, forms] of Object.entries(minimalPairs))
  for (const question of Object.values(forms)) countAllChanges(question, [trigger])
for (const { id, patterns, defusers } of triggers) {
  for (const { matches, spares } of patterns)
    for (const example of [...matches, ...spares]) countAllChanges(example, [id])
  for (const { spares } of defusers) for (const example of spares) countAllChanges(example, [id])
}
for (const file of process.argv.slice(2))
  for (const { question } of readLabelledQuestions(file)) countAllChanges(question, allTriggerIds)

let [unnoticedCount, redundantCount] = [0, 0]
for (const [key, { patternChanges, outcomeChanges }] of countsByRemoval) {
  let mark = ''
  if (patternChanges === 0) {
    unnoticedCount += 1
    mark = 'UNNOTICED'
  } else if (outcomeChanges === 0) {
    redundantCount += 1
    mark = 'REDUNDANT'
  }
  console.log(
    `${key.padEnd(64)} ${String(patternChanges).padStart(4)} ${String(outcomeChanges).padStart(4)} ${mark}`.trimEnd(),
  )
}
console.log(
  `${countsByRemoval.size} removals: ${unnoticedCount} change no example, and ${redundantCount} more change no trigger of any example`,
)
if (unnoticedCount + redundantCount > 0) process.exitCode = 1
