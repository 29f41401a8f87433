/* oxlint-disable no-console -- a program whose output is what it prints */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import type { Answer } from '@plainpath/domain'
import { answerQuestion } from './answer-question.ts'
import { preparePackagedKnowledge } from './knowledge.ts'
import { type LabelledQuestion, listAcceptedNames, readLabelledQuestions } from './labelled-question.ts'

/*
 * This program measures answers to labelled questions: how many have the right outcome, guide, section or trigger, and how long
 * they take.
 */

const USAGE = `npm run eval:answers [FILE] [--misses] [--hands LETTERS] [--split train|held-out] [--date YYYY-MM-DD]

FILE has a line of JSON for each question: {"id", "question", "expected", "also_ok"}, or "outcome", "triggers" and
"sections" in place of "expected", which is answer:GUIDE, handoff:TRIGGER or out_of_scope. "also_ok" lists other labels
that count as right. --hands reads only the questions of the authors with these letters; the first letter of an id is
its author's. --misses also prints each question that was not answered as expected, and why.`

const DEFAULT_FILE = 'packages/answers/examples/given.jsonl'
/** Fixed, because answers depend on the distance of dates in the questions. */
const DEFAULT_DATE = '2026-11-23'

interface AnsweredQuestion {
  readonly labelled: LabelledQuestion
  readonly answer: Answer
  readonly microseconds: number
}

/** Lists the expected label and the other accepted labels. */
const listAcceptedLabels = ({ expected, alsoOk }: LabelledQuestion) => [expected, ...alsoOk]

const getLabelKind = ({ expected }: LabelledQuestion) => expected.split(':')[0] ?? ''

const OUTCOMES_BY_LABEL_KIND: Readonly<Record<string, string>> = {
  answer: 'information',
  handoff: 'hand_off',
  out_of_scope: 'out_of_scope',
}

const listGuides = ({ passages }: Answer) => [...new Set(passages.map(({ guide }) => guide))]
const listTriggers = ({ handOff }: Answer) => handOff?.reasons.map(({ trigger }) => trigger) ?? []

/** Returns whether the answer has the outcome of an accepted label. */
const hasRightOutcome = ({ labelled, answer }: AnsweredQuestion) =>
  listAcceptedLabels(labelled).some(
    (label) => OUTCOMES_BY_LABEL_KIND[label.split(':')[0] ?? ''] === answer.outcome,
  )

const hasAcceptedHandOff = ({ labelled, answer }: AnsweredQuestion) =>
  answer.outcome === 'hand_off' &&
  listAcceptedNames(labelled, 'handoff').some((trigger) => listTriggers(answer).includes(trigger))

const FIRST_CHECK_COUNT = 3

/** Returns whether the question was handed off, for any trigger, or one of its first checks names an accepted trigger. */
const isCovered = (question: AnsweredQuestion) =>
  question.answer.outcome === 'hand_off' ||
  question.answer.check
    .slice(0, FIRST_CHECK_COUNT)
    .some(({ trigger }) => listAcceptedNames(question.labelled, 'handoff').includes(trigger))

const hasRightSection = ({ labelled, answer }: AnsweredQuestion) =>
  answer.passages.some(({ id }) => labelled.sections.includes(id))

const hasRightGuide = ({ labelled, answer }: AnsweredQuestion) =>
  listAcceptedNames(labelled, 'answer').some((guide) => listGuides(answer).includes(guide))

const getExpectedGuide = ({ labelled }: AnsweredQuestion) => labelled.expected.slice('answer:'.length)

type Condition = (question: AnsweredQuestion) => boolean

/** The rates to report for each kind of label. Each has a name and a condition. */
const RATES: Readonly<Record<string, readonly (readonly [name: string, isCounted: Condition])[]>> = {
  answer: [
    ['right guide first', (question) => listGuides(question.answer)[0] === getExpectedGuide(question)],
    [
      'right guide among the passages',
      (question) => listGuides(question.answer).includes(getExpectedGuide(question)),
    ],
    ['right or accepted guide among the passages', hasRightGuide],
    ['refused', ({ answer }) => answer.outcome === 'out_of_scope'],
    ['handed off', ({ answer }) => answer.outcome === 'hand_off'],
    [
      'handed off for no accepted trigger',
      (question) => question.answer.outcome === 'hand_off' && !hasAcceptedHandOff(question),
    ],
  ],
  handoff: [
    [
      'handed off for the expected trigger',
      ({ labelled, answer }) => listTriggers(answer).includes(labelled.expected.slice('handoff:'.length)),
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

/** The z-score of a 95 % confidence interval. */
const Z = 1.96

/** Computes the 95 % Wilson interval of a share. */
function computeInterval(count: number, total: number): readonly [number, number] {
  if (total === 0) return [0, 1]
  const share = count / total
  const scale = 1 + Z ** 2 / total
  const middle = share + Z ** 2 / (2 * total)
  const halfWidth = Z * Math.sqrt((share * (1 - share)) / total + Z ** 2 / (4 * total ** 2))
  return [(middle - halfWidth) / scale, (middle + halfWidth) / scale]
}

const formatPercent = (share: number) => (share * 100).toFixed(1).padStart(5)

function formatRate(name: string, questions: readonly AnsweredQuestion[], isCounted: Condition): string {
  const count = questions.filter(isCounted).length
  const [low, high] = computeInterval(count, questions.length)
  return `${name.padEnd(46)} ${formatPercent(count / questions.length)} %  (${formatPercent(low)} to ${formatPercent(high)})  ${count} of ${questions.length}`
}

function report(questions: readonly AnsweredQuestion[], urgencies: ReadonlyMap<string, string>): void {
  console.log('expected      information  hand_off  out_of_scope')
  for (const kind of Object.keys(RATES)) {
    const group = questions.filter(({ labelled }) => getLabelKind(labelled) === kind)
    const formatCount = (outcome: string) =>
      String(group.filter(({ answer }) => answer.outcome === outcome).length)
    console.log(
      `${kind.padEnd(13)} ${formatCount('information').padStart(11)} ${formatCount('hand_off').padStart(9)} ${formatCount('out_of_scope').padStart(13)}`,
    )
  }
  for (const [kind, rates] of Object.entries(RATES)) {
    const group = questions.filter(({ labelled }) => getLabelKind(labelled) === kind)
    if (group.length === 0) continue
    console.log(`\n${kind}`)
    for (const [name, isCounted] of rates) console.log(`  ${formatRate(name, group, isCounted)}`)
  }
  reportHandOffs(
    questions.filter(({ labelled }) => getLabelKind(labelled) === 'handoff'),
    urgencies,
  )
  const questionsWithSections = questions.filter(
    ({ labelled }) => getLabelKind(labelled) === 'answer' && labelled.sections.length > 0,
  )
  if (questionsWithSections.length > 0) {
    console.log('\nanswerable, with named sections')
    console.log(
      `  ${formatRate('a right section among the passages', questionsWithSections, hasRightSection)}`,
    )
    const notHandedOff = questionsWithSections.filter(({ answer }) => answer.outcome !== 'hand_off')
    console.log(`  ${formatRate('a right section, of those not handed off', notHandedOff, hasRightSection)}`)
    console.log(`  ${formatRate('a right guide, of those not handed off', notHandedOff, hasRightGuide)}`)
  }
  const times = questions.map(({ microseconds }) => microseconds).toSorted((a, b) => a - b)
  const formatQuantile = (share: number) => times[Math.floor(share * (times.length - 1))]?.toFixed(0)
  console.log(
    `\nµs for a question: median ${formatQuantile(0.5)}, 95 % within ${formatQuantile(0.95)}, most ${formatQuantile(1)}`,
  )
}

function reportHandOffs(
  questions: readonly AnsweredQuestion[],
  urgencies: ReadonlyMap<string, string>,
): void {
  const byUrgency = Map.groupBy(questions, ({ labelled }) =>
    urgencies.get(labelled.expected.slice('handoff:'.length)),
  )
  console.log('\nhand-offs for an accepted trigger, and covered, by urgency')
  for (const urgency of ['urgent', 'high', 'normal']) {
    const group = byUrgency.get(urgency) ?? []
    if (group.length === 0) continue
    console.log(`  ${formatRate(urgency, group, hasAcceptedHandOff)}`)
    console.log(`  ${formatRate(`${urgency}, covered`, group, isCovered)}`)
  }
  const byTrigger = Map.groupBy(questions, ({ labelled }) => labelled.expected.slice('handoff:'.length))
  console.log('\nhand-offs for an accepted trigger, by the expected one')
  for (const [trigger, group] of [...byTrigger].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    console.log(`  ${formatRate(trigger, group, hasAcceptedHandOff)}`)
}

/**
 * Returns whether the answer's outcome is not accepted, or none of its guides or triggers is. If the expected label is not a
 * hand-off but another label accepts one, any trigger is accepted.
 */
function isMiss(question: AnsweredQuestion): boolean {
  const { labelled, answer } = question
  if (!hasRightOutcome(question)) return true
  if (answer.outcome === 'hand_off')
    return !hasAcceptedHandOff(question) && getLabelKind(labelled) === 'handoff'
  if (answer.outcome !== 'information') return false
  return !hasRightGuide(question)
}

function printMiss({ labelled, answer }: AnsweredQuestion): void {
  const answeredWith = {
    information: listGuides(answer).join(', '),
    hand_off: listTriggers(answer).join(', '),
    out_of_scope: answer.outOfScope?.reason ?? '',
  }[answer.outcome]
  console.log(
    `${labelled.id}  ${listAcceptedLabels(labelled).join(' | ')}  got ${answer.outcome}: ${answeredWith}`,
  )
  console.log(`    ${labelled.question}`)
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
    date: { type: 'string', default: DEFAULT_DATE },
    help: { type: 'boolean', default: false },
  },
})
const file = path.resolve(positionals[0] ?? DEFAULT_FILE)

if (values.help || !existsSync(file)) {
  console.error(values.help ? USAGE : `There are no questions at ${file}.\n\n${USAGE}`)
  process.exitCode = values.help ? 0 : 2
} else {
  const knowledge = preparePackagedKnowledge('http://localhost:8080')
  const today = new Date(`${values.date}T00:00:00Z`)
  const questions = readLabelledQuestions(file)
    .filter(({ id }) => values.hands === undefined || values.hands.includes(id.slice(0, 1)))
    .filter(({ split }) => values.split === undefined || split === values.split)
    .map((labelled): AnsweredQuestion => {
      const startedAt = performance.now()
      const answer = answerQuestion({ question: labelled.question }, knowledge, today, { explain: true })
      return { labelled, answer, microseconds: (performance.now() - startedAt) * 1_000 }
    })
  if (values.misses) for (const miss of questions.filter(isMiss)) printMiss(miss)
  report(questions, new Map(knowledge.triggers.map(({ id, urgency }) => [id, urgency])))
}
