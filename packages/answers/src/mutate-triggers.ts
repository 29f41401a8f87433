/* oxlint-disable no-console -- a program whose output is what it prints */
import { readLabelledQuestions } from './labelled-question.ts'
import { readPatterns } from './triggers/match-triggers.ts'
import { loadTriggers, type TriggerFile } from './triggers/trigger-file.ts'

/**
 * Removes each pattern and each defuser in turn and counts the labelled questions whose result changes: those of the
 * trigger's file, and those of the files that the command line names. Fails if a removal changes nothing.
 */
const TODAY = new Date('2026-11-23')
const triggers = loadTriggers()
const questions = process.argv
  .slice(2)
  .flatMap((file) => readLabelledQuestions(file).map(({ question }) => question))

const findPatterns = (question: string, id: string, files: readonly TriggerFile[]) =>
  readPatterns(question, files, TODAY).get(id) ?? []

/** Counts whose patterns change, and among them whose trigger comes or goes. */
function changes(trigger: TriggerFile, mutant: TriggerFile, examples: readonly string[]) {
  const files = [trigger]
  const mutants = [mutant]
  let [patterns, outcomes] = [0, 0]
  for (const question of examples) {
    const [before, after] = [
      findPatterns(question, trigger.id, files),
      findPatterns(question, trigger.id, mutants),
    ]
    if (before.join() !== after.join()) patterns += 1
    if ((before.length === 0) !== (after.length === 0)) outcomes += 1
  }
  return { patterns, outcomes }
}

let unnoticed = 0
for (const trigger of triggers) {
  const own = [
    ...trigger.patterns.flatMap(({ matches, spares }) => [...matches, ...spares]),
    ...trigger.defusers.flatMap(({ spares }) => spares),
  ]
  const examples = [...own, ...questions]
  const without = <T extends { id: string }>(all: readonly T[], id: string) =>
    all.filter((one) => one.id !== id)
  const mutants = [
    ...trigger.patterns.map(({ id }) => ({
      id,
      mutant: { ...trigger, patterns: without(trigger.patterns, id) },
    })),
    ...trigger.defusers.map(({ id }) => ({
      id: `defuser ${id}`,
      mutant: { ...trigger, defusers: without(trigger.defusers, id) },
    })),
  ]
  for (const { id, mutant } of mutants) {
    const { patterns, outcomes } = changes(trigger, mutant, examples)
    if (patterns === 0) unnoticed += 1
    const mark = patterns === 0 ? 'UNNOTICED' : outcomes === 0 ? 'redundant' : ''
    console.log(
      `${trigger.id.padEnd(28)} ${id.padEnd(34)} ${String(patterns).padStart(4)} ${String(outcomes).padStart(4)} ${mark}`,
    )
  }
}
console.log(`${unnoticed} removals change no example`)
if (unnoticed > 0) process.exitCode = 1
