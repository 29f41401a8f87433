/* oxlint-disable no-console -- a program whose output is what it prints */
import { parseArgs } from 'node:util'
import { listAcceptedNames, readLabelledQuestions } from './labelled-question.ts'
import { readTriggers } from './triggers/match-triggers.ts'
import { loadTriggers } from './triggers/trigger-file.ts'

/**
 * This program measures how well the triggers of labelled questions are found.
 *
 * Usage: `npm run eval:triggers -- [FILE] [--hands AUTHOR_CODES] [--misses] [--today DATE]`. `--hands` reads only the questions of
 * these authors; an author's code is the first character of an id. `--misses` also prints each question that was misread, after
 * one of these words:
 *
 * - `OTHER`: only triggers that no label accepts were found.
 * - `CHECKED`: no trigger was found, but one of the first checks names an accepted trigger.
 * - `MISSED`: no trigger was found, nor a check for an accepted trigger.
 * - `FALSE`: a guide answers the question, but a trigger was found that no label accepts.
 * - `SCOPE`: the question is out of scope, and no label accepts a hand-off, but a trigger was found.
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    hands: { type: 'string' },
    misses: { type: 'boolean' },
    today: { type: 'string', default: '2026-11-23' },
  },
})
const triggers = loadTriggers()
const urgencies = new Map(triggers.map(({ id, urgency }) => [id, urgency]))
const today = new Date(values.today)
const questions = readLabelledQuestions(positionals[0] ?? 'packages/answers/examples/given.jsonl').filter(
  ({ id }) => values.hands?.includes(id.slice(0, 1)) ?? true,
)

/** The number of hits and the number of questions, by measure. */
const counts = new Map<string, [number, number]>()
function count(name: string, isHit: boolean): void {
  const [hits, total] = counts.get(name) ?? [0, 0]
  counts.set(name, [hits + (isHit ? 1 : 0), total + 1])
}

for (const labelledQuestion of questions) {
  const { id, question, expected, alsoOk } = labelledQuestion
  const acceptedTriggers = listAcceptedNames(labelledQuestion, 'handoff')
  // Only authors with a capital letter are also counted separately.
  const author = /^[A-Z]\d/.test(id) ? id.slice(0, 1) : 'all'
  const { matches, suggestedChecks, isDangerStated } = readTriggers(question, triggers, today)
  const statedTriggers = matches.map(({ trigger }) => trigger)
  // eval-answers.ts counts as many checks.
  const checkedTriggers = suggestedChecks.slice(0, 3).map(({ trigger }) => trigger)
  const printMiss = (verdict: string) => {
    if (!values.misses) return
    const explanations = matches.map(
      ({ trigger, patterns, matched }) => `${trigger}/${patterns.join('+')}[${matched.join(' ~ ')}]`,
    )
    console.log(
      `${verdict}\t${id}\t${expected} ${alsoOk.join(' ')}\t${explanations.join(' ') || '-'}\tweak: ${suggestedChecks.map(({ trigger, score, patterns }) => `${trigger} ${score.toFixed(2)} ${patterns.join('+')}`).join(', ')}\n\t${question}`,
    )
  }
  if (expected.startsWith('handoff:')) {
    const expectedTrigger = expected.slice('handoff:'.length)
    const isAccepted = acceptedTriggers.some((label) => statedTriggers.includes(label))
    const isCovered = isAccepted || acceptedTriggers.some((label) => checkedTriggers.includes(label))
    for (const name of new Set([author, urgencies.get(expectedTrigger) ?? 'unknown', 'all'])) {
      count(`${name}: hand-off, any trigger`, statedTriggers.length > 0)
      count(`${name}: hand-off, accepted trigger`, isAccepted)
      count(`${name}: hand-off, expected trigger`, statedTriggers.includes(expectedTrigger))
      count(`${name}: covered`, isCovered || statedTriggers.length > 0)
      count(`${name}: covered by an accepted trigger`, isCovered)
    }
    if (!isAccepted && statedTriggers.length > 0) printMiss('OTHER')
    else if (!isAccepted) printMiss(isCovered ? 'CHECKED' : 'MISSED')
  } else if (expected.startsWith('answer')) {
    const isFalseHandOff = statedTriggers.some((trigger) => !acceptedTriggers.includes(trigger))
    for (const name of new Set([author, 'all'])) count(`${name}: false hand-offs`, isFalseHandOff)
    if (isFalseHandOff) printMiss('FALSE')
  } else {
    const isFalseHandOff = statedTriggers.length > 0 && acceptedTriggers.length === 0
    for (const name of new Set([author, 'all'])) {
      count(`${name}: out of scope, with a trigger`, isFalseHandOff)
      count(`${name}: out of scope, with a danger`, isFalseHandOff && isDangerStated)
    }
    if (isFalseHandOff) printMiss('SCOPE')
  }
}
for (const [name, [hits, total]] of [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)))
  console.log(`${name.padEnd(45)} ${hits}/${total} = ${(hits / total).toFixed(3)}`)

/** How often all questions are read to measure the time. */
const ROUNDS = 5
const startedAt = performance.now()
for (let round = 0; round < ROUNDS; round += 1)
  for (const { question } of questions) readTriggers(question, triggers, today)
console.log(
  `${(((performance.now() - startedAt) * 1000) / ROUNDS / questions.length).toFixed(0)} µs per question`,
)
