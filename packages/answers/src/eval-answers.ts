/* oxlint-disable no-console -- a program whose output is what it prints */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import type { Answer } from '@plainpath/domain'
import { answerQuestion } from './answer-question.ts'
import { packagedKnowledge } from './knowledge.ts'
import { acceptedNames, type LabelledQuestion, readLabelledQuestions } from './labelled-question.ts'

const USAGE = `npm run eval:answers [FILE] [--misses] [--hands LETTERS] [--split train|held-out] [--date YYYY-MM-DD]

FILE has a line of JSON for each question: {"id", "question", "expected", "also_ok"}, or "outcome", "triggers" and
"sections" in place of "expected", which is answer:GUIDE, handoff:TRIGGER or out_of_scope. "also_ok" lists other labels
that count as right. The first letter of an id is its
author's. --misses also prints each question that was not answered as expected, and why.`

const QUESTIONS = 'packages/answers/examples/given.jsonl'
const TODAY = '2026-11-23'

interface AnsweredQuestion {
  readonly labelled: LabelledQuestion
  readonly answer: Answer
  readonly microseconds: number
}

/** The expected label and the others that count as right. */
const acceptedLabels = ({ expected, alsoOk }: LabelledQuestion) => [expected, ...alsoOk]

const labelKind = ({ expected }: LabelledQuestion) => expected.split(':')[0] ?? ''

const OUTCOME: Readonly<Record<string, string>> = {
  answer: 'information',
  handoff: 'hand_off',
  out_of_scope: 'out_of_scope',
}

const listGuides = ({ passages }: Answer) => [...new Set(passages.map(({ guide }) => guide))]
const listTriggers = ({ handOff }: Answer) => handOff?.reasons.map(({ trigger }) => trigger) ?? []

/** Tells whether the outcome is that of the expected label or of another accepted one. */
const hasRightOutcome = ({ labelled: asked, answer }: AnsweredQuestion) =>
  acceptedLabels(asked).some((label) => OUTCOME[label.split(':')[0] ?? ''] === answer.outcome)

const hasAcceptedHandOff = ({ labelled: asked, answer }: AnsweredQuestion) =>
  answer.outcome === 'hand_off' &&
  acceptedNames(asked, 'handoff').some((trigger) => listTriggers(answer).includes(trigger))

const FIRST_CHECKS = 3

const isCovered = (judged: AnsweredQuestion) =>
  judged.answer.outcome === 'hand_off' ||
  judged.answer.check
    .slice(0, FIRST_CHECKS)
    .some(({ trigger }) => acceptedNames(judged.labelled, 'handoff').includes(trigger))

const hasRightSection = ({ labelled: asked, answer }: AnsweredQuestion) =>
  answer.passages.some(({ id }) => asked.sections.includes(id))

const hasRightGuide = ({ labelled: asked, answer }: AnsweredQuestion) =>
  acceptedNames(asked, 'answer').some((guide) => listGuides(answer).includes(guide))

const expectedGuide = ({ labelled: asked }: AnsweredQuestion) => asked.expected.slice('answer:'.length)

/** The rates that are reported for each kind of label, each with its condition. */
const RATES: Readonly<
  Record<string, readonly (readonly [name: string, is: (judged: AnsweredQuestion) => boolean])[]>
> = {
  answer: [
    ['right guide first', (judged) => listGuides(judged.answer)[0] === expectedGuide(judged)],
    ['right guide among the passages', (judged) => listGuides(judged.answer).includes(expectedGuide(judged))],
    ['right or accepted guide among the passages', hasRightGuide],
    ['refused', ({ answer }) => answer.outcome === 'out_of_scope'],
    ['handed off', ({ answer }) => answer.outcome === 'hand_off'],
    [
      'handed off for no accepted trigger',
      (judged) => judged.answer.outcome === 'hand_off' && !hasAcceptedHandOff(judged),
    ],
  ],
  handoff: [
    [
      'handed off for the expected trigger',
      ({ labelled: asked, answer }) => listTriggers(answer).includes(asked.expected.slice('handoff:'.length)),
    ],
    ['handed off for an accepted trigger', hasAcceptedHandOff],
    ['handed off or covered by the first checks', isCovered],
    ['refused', ({ answer }) => answer.outcome === 'out_of_scope'],
  ],
  out_of_scope: [
    ['refused', ({ answer }) => answer.outcome === 'out_of_scope'],
    ['right or accepted outcome', hasRightOutcome],
    ['handed off', ({ answer }) => answer.outcome === 'hand_off'],
  ],
}

const Z = 1.96

/** The 95 % interval of Wilson for a share. */
function interval(count: number, total: number): readonly [number, number] {
  if (total === 0) return [0, 1]
  const share = count / total
  const scale = 1 + Z ** 2 / total
  const middle = share + Z ** 2 / (2 * total)
  const half = Z * Math.sqrt((share * (1 - share)) / total + Z ** 2 / (4 * total ** 2))
  return [(middle - half) / scale, (middle + half) / scale]
}

const percent = (share: number) => (share * 100).toFixed(1).padStart(5)

function rate(
  name: string,
  of: readonly AnsweredQuestion[],
  is: (judged: AnsweredQuestion) => boolean,
): string {
  const count = of.filter(is).length
  const [low, high] = interval(count, of.length)
  return `${name.padEnd(46)} ${percent(count / of.length)} %  (${percent(low)} to ${percent(high)})  ${count} of ${of.length}`
}

function report(judged: readonly AnsweredQuestion[], urgencies: ReadonlyMap<string, string>): void {
  console.log('expected      information  hand_off  out_of_scope')
  for (const kind of Object.keys(RATES)) {
    const of = judged.filter(({ labelled: asked }) => labelKind(asked) === kind)
    const count = (outcome: string) => String(of.filter(({ answer }) => answer.outcome === outcome).length)
    console.log(
      `${kind.padEnd(13)} ${count('information').padStart(11)} ${count('hand_off').padStart(9)} ${count('out_of_scope').padStart(13)}`,
    )
  }
  for (const [kind, rates] of Object.entries(RATES)) {
    const of = judged.filter(({ labelled: asked }) => labelKind(asked) === kind)
    if (of.length === 0) continue
    console.log(`\n${kind}`)
    for (const [name, is] of rates) console.log(`  ${rate(name, of, is)}`)
  }
  reportHandOffs(
    judged.filter(({ labelled: asked }) => labelKind(asked) === 'handoff'),
    urgencies,
  )
  const located = judged.filter(
    ({ labelled: asked }) => labelKind(asked) === 'answer' && asked.sections.length > 0,
  )
  if (located.length > 0) {
    console.log('\nanswerable, with named sections')
    console.log(`  ${rate('a right section among the passages', located, hasRightSection)}`)
    const shown = located.filter(({ answer }) => answer.outcome !== 'hand_off')
    console.log(`  ${rate('a right section, of those not handed off', shown, hasRightSection)}`)
    console.log(`  ${rate('a right guide, of those not handed off', shown, hasRightGuide)}`)
  }
  const times = judged.map(({ microseconds: us }) => us).toSorted((a, b) => a - b)
  const at = (share: number) => times[Math.floor(share * (times.length - 1))]?.toFixed(0)
  console.log(`\nµs for a question: median ${at(0.5)}, 95 % within ${at(0.95)}, most ${at(1)}`)
}

function reportHandOffs(judged: readonly AnsweredQuestion[], urgencies: ReadonlyMap<string, string>): void {
  const byUrgency = Map.groupBy(judged, ({ labelled: asked }) =>
    urgencies.get(asked.expected.slice('handoff:'.length)),
  )
  console.log('\nhand-offs for an accepted trigger, and covered, by urgency')
  for (const urgency of ['urgent', 'high', 'normal']) {
    const of = byUrgency.get(urgency) ?? []
    if (of.length === 0) continue
    console.log(`  ${rate(urgency, of, hasAcceptedHandOff)}`)
    console.log(`  ${rate(`${urgency}, covered`, of, isCovered)}`)
  }
  const byTrigger = Map.groupBy(judged, ({ labelled: asked }) => asked.expected.slice('handoff:'.length))
  console.log('\nhand-offs for an accepted trigger, by the expected one')
  for (const [trigger, of] of [...byTrigger].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    console.log(`  ${rate(trigger, of, hasAcceptedHandOff)}`)
}

/** Tells whether the outcome, or every guide of an answer, differs from all accepted labels. */
function isMiss(judged: AnsweredQuestion): boolean {
  const { labelled: asked, answer } = judged
  if (!hasRightOutcome(judged)) return true
  if (answer.outcome === 'hand_off') return !hasAcceptedHandOff(judged) && labelKind(asked) === 'handoff'
  if (answer.outcome !== 'information') return false
  return !acceptedNames(asked, 'answer').some((guide) => listGuides(answer).includes(guide))
}

function printMiss({ labelled: asked, answer }: AnsweredQuestion): void {
  const got = {
    information: listGuides(answer).join(', '),
    hand_off: listTriggers(answer).join(', '),
    out_of_scope: answer.outOfScope?.reason ?? '',
  }[answer.outcome]
  console.log(`${asked.id}  ${acceptedLabels(asked).join(' | ')}  got ${answer.outcome}: ${got}`)
  console.log(`    ${asked.question}`)
  console.log(`    rules: ${answer.explain?.rules.join('; ')}`)
  const scores = answer.explain?.scores.slice(0, 4).map(({ id, score }) => `${id} ${score}`)
  if (answer.outcome === 'information') console.log(`    scores: ${scores?.join('; ')}`)
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    misses: { type: 'boolean', default: false },
    hands: { type: 'string' },
    split: { type: 'string' },
    date: { type: 'string', default: TODAY },
    help: { type: 'boolean', default: false },
  },
})
const file = path.resolve(positionals[0] ?? QUESTIONS)

if (values.help || !existsSync(file)) {
  console.error(values.help ? USAGE : `There are no questions at ${file}.\n\n${USAGE}`)
  process.exitCode = values.help ? 0 : 2
} else {
  const knowledge = packagedKnowledge('http://localhost:8080')
  const today = new Date(`${values.date}T00:00:00Z`)
  const judged = readLabelledQuestions(file)
    .filter(({ id }) => values.hands === undefined || values.hands.includes(id.slice(0, 1)))
    .filter(({ split }) => values.split === undefined || split === values.split)
    .map((asked): AnsweredQuestion => {
      const begin = performance.now()
      const answer = answerQuestion({ question: asked.question }, knowledge, today, { explain: true })
      return { labelled: asked, answer, microseconds: (performance.now() - begin) * 1_000 }
    })
  if (values.misses) for (const miss of judged.filter(isMiss)) printMiss(miss)
  report(judged, new Map(knowledge.triggers.map(({ id, urgency }) => [id, urgency])))
}
