/* oxlint-disable no-console -- a program whose output is what it prints */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { readTriggers } from './triggers/match-triggers.ts'
import { loadTriggers } from './triggers/trigger-file.ts'

interface Question {
  readonly id: string
  readonly question: string
  /** `handoff:<trigger>`, `answer:<guide>` or `out_of_scope`. */
  readonly expected: string
  readonly also_ok: readonly string[]
}

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
const questions = readFileSync(positionals[0] ?? 'packages/answers/examples/given.jsonl', 'utf8')
  .split('\n')
  .filter(Boolean)
  .map((line) => JSON.parse(line) as Question)
  .filter(({ id }) => values.hands?.includes(id.slice(0, 1)) ?? true)

const counts = new Map<string, [number, number]>()
function count(name: string, hit: boolean): void {
  const [hits, all] = counts.get(name) ?? [0, 0]
  counts.set(name, [hits + (hit ? 1 : 0), all + 1])
}

for (const { id, question, expected, also_ok: alsoOk } of questions) {
  const hand = /^[A-Z]\d/.test(id) ? id.slice(0, 1) : 'all'
  const { matches, weak, dangerStated } = readTriggers(question, triggers, today)
  const found = matches.map(({ trigger }) => trigger)
  const checks = weak.slice(0, 3).map(({ trigger }) => trigger)
  const show = (what: string) => {
    if (!values.misses) return
    const explained = matches.map(
      ({ trigger, patterns, matched }) => `${trigger}/${patterns.join('+')}[${matched.join(' ~ ')}]`,
    )
    console.log(
      `${what}\t${id}\t${expected} ${alsoOk.join(' ')}\t${explained.join(' ') || '-'}\tweak: ${weak.map(({ trigger, score, patterns }) => `${trigger} ${score.toFixed(2)} ${patterns.join('+')}`).join(', ')}\n\t${question}`,
    )
  }
  if (expected.startsWith('handoff:')) {
    const right = expected.slice('handoff:'.length)
    const accepted = [expected, ...alsoOk]
      .filter((label) => label.startsWith('handoff:'))
      .map((label) => label.slice('handoff:'.length))
    const lenient = accepted.some((label) => found.includes(label))
    const covered = lenient || accepted.some((label) => checks.includes(label))
    for (const name of new Set([hand, urgencies.get(right) ?? 'unknown', 'all'])) {
      count(`${name}: hand-off, any trigger`, found.length > 0)
      count(`${name}: hand-off, accepted trigger`, lenient)
      count(`${name}: hand-off, expected trigger`, found.includes(right))
      count(`${name}: covered`, covered || found.length > 0)
      count(`${name}: covered by an accepted trigger`, covered)
    }
    if (!lenient) show(found.length > 0 ? 'OTHER' : covered ? 'CHECKED' : 'MISSED')
  } else if (expected.startsWith('answer')) {
    const accepted = alsoOk
      .filter((label) => label.startsWith('handoff:'))
      .map((label) => label.slice('handoff:'.length))
    const isFalse = found.some((trigger) => !accepted.includes(trigger))
    for (const name of new Set([hand, 'all'])) count(`${name}: false hand-offs`, isFalse)
    if (isFalse) show('FALSE')
  } else {
    const isFalse = found.length > 0 && !alsoOk.some((label) => label.startsWith('handoff:'))
    for (const name of new Set([hand, 'all'])) {
      count(`${name}: out of scope, with a trigger`, isFalse)
      count(`${name}: out of scope, with a danger`, isFalse && dangerStated)
    }
    if (isFalse) show('SCOPE')
  }
}
for (const [name, [hits, all]] of [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)))
  console.log(`${name.padEnd(45)} ${hits}/${all} = ${(hits / all).toFixed(3)}`)

const rounds = 5
const begun = performance.now()
for (let round = 0; round < rounds; round += 1)
  for (const { question } of questions) readTriggers(question, triggers, today)
console.log(
  `${(((performance.now() - begun) * 1000) / rounds / questions.length).toFixed(0)} µs per question`,
)
