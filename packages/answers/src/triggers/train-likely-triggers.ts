/* oxlint-disable no-console -- a program whose output is what it prints */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { loadSectionAsks } from '@plainpath/guides'
import { parse } from 'yaml'
import { readLabelledQuestions } from '../labelled-question.ts'
import { featureScale, type TriggerModel, writeWeights } from './likely-triggers.ts'
import { readFeatures } from './match-triggers.ts'
import { loadTriggers } from './trigger-file.ts'

/**
 * Rounds of training (the weights of the second half are averaged), how often all is done in other orders, the step, and what keeps weights small. All numbers
 * were chosen on questions of left-out authors.
 */
const ROUNDS = 12
const RUNS = 5
const STEP = 0.25
const BIAS_STEP = 0.1
const SHRINK = 3e-5
/** Smaller weights are left out of the file. */
const LEAST_WEIGHT = 0.1
/** Rarer features are left out. */
const LEAST_COUNT = 2
const ALSO_ACCEPTED = 0.3
/** How much an example counts: those that were written beside patterns and asks are plainer than what people write. */
const COUNTS = { question: 1, withPatternsAtHand: 0.6, ofPattern: 0.3, ofMinimalPair: 0.3, ask: 0.3 }

interface Example {
  readonly question: string
  readonly expected: string
  readonly alsoOk: readonly string[]
  readonly counts: number
}
interface Labelled {
  readonly features: readonly string[]
  /** The share of each trigger, of what the guides answer, and of other subjects. */
  readonly shares: readonly number[]
  readonly counts: number
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    out: { type: 'string' },
    /** Leaves out the examples whose id begins with one of these letters. */
    without: { type: 'string', default: '' },
    today: { type: 'string', default: '2026-11-23' },
  },
})
const triggers = loadTriggers()
const ids = triggers.map(({ id }) => id)
const today = new Date(values.today)

const questions = positionals
  .flatMap((file) => {
    const counts = /given|ordinary/.test(file) ? COUNTS.withPatternsAtHand : COUNTS.question
    return readLabelledQuestions(file).map((labelled) => ({ ...labelled, counts }))
  })
  .filter(({ id, split }) => split !== 'held-out' && !values.without.includes(id.slice(0, 1)))
const own = triggers.flatMap(({ id, patterns, defusers }): Example[] => [
  ...patterns.flatMap(({ matches }) =>
    matches.map((question) => ({
      question,
      expected: `handoff:${id}`,
      alsoOk: [],
      counts: COUNTS.ofPattern,
    })),
  ),
  ...[...patterns, ...defusers].flatMap(({ spares }) =>
    spares.map((question) => ({ question, expected: 'answer', alsoOk: [], counts: COUNTS.ofPattern })),
  ),
])
const asks = loadSectionAsks()
  .flatMap(({ sections }) => Object.values(sections).flatMap((section) => section.asks))
  .map((question): Example => ({ question, expected: 'answer', alsoOk: [], counts: COUNTS.ask }))
const minimalPairs = parse(
  readFileSync(new URL('../../examples/minimal-pairs.yaml', import.meta.url), 'utf8'),
) as Record<string, Record<string, string>>
const pairs = Object.entries(minimalPairs).flatMap(([id, forms]) =>
  Object.entries(forms).map(
    ([form, question]): Example => ({
      question,
      alsoOk: [],
      counts: COUNTS.ofMinimalPair,
      expected: form === 'denied' || form === 'informational' ? 'answer' : `handoff:${id}`,
    }),
  ),
)
const examples = [...questions, ...own, ...pairs, ...asks].map(
  ({ question, expected, alsoOk, counts: share }): Labelled => ({
    features: readFeatures(question, triggers, today),
    shares: sharesOf(expected, alsoOk),
    counts: share,
  }),
)

function sharesOf(expected: string, alsoOk: readonly string[]): readonly number[] {
  const shares = [...ids.map(() => 0), 0, 0]
  const place = (label: string) => ids.indexOf(label.slice('handoff:'.length))
  if (expected === 'out_of_scope') return shares.with(ids.length + 1, 1)
  if (!expected.startsWith('handoff:')) return shares.with(ids.length, 1)
  for (const label of alsoOk) if (place(label) >= 0) shares[place(label)] = ALSO_ACCEPTED
  shares[place(expected)] = 1
  const sum = shares.reduce((total, share) => total + share, 0)
  return shares.map((share) => share / sum)
}

const counts = new Map<string, number>()
for (const { features } of examples)
  for (const name of features) counts.set(name, (counts.get(name) ?? 0) + 1)
const names = [...counts].filter(([, count]) => count >= LEAST_COUNT).map(([name]) => name)
const places = new Map(names.map((name, at) => [name, at]))
const rarity = names.map((name) => Math.log(examples.length / (counts.get(name) ?? 1)))

const classes = ids.length + 2
const weights = names.map(() => new Float64Array(classes))
const squares = names.map(() => new Float64Array(classes))
const bias = new Float64Array(classes)
const biasSquares = new Float64Array(classes)

function forget(): void {
  for (const row of [...weights, bias]) row.fill(0)
  for (const row of [...squares, biasSquares]) row.fill(1e-4)
}

interface Placed {
  readonly at: readonly number[]
  readonly shares: readonly number[]
  readonly counts: number
}

/** One step of AdaGrad on the cross-entropy of one example. */
function learn({ at, shares, counts: weight }: Placed): void {
  const scale = featureScale(at.map((place) => rarity[place] ?? 0))
  const valueOf = (place: number) => (rarity[place] ?? 0) * scale
  const odds = Array.from(bias)
  for (const place of at)
    for (let k = 0; k < classes; k += 1)
      odds[k] = (odds[k] ?? 0) + (weights[place]?.[k] ?? 0) * valueOf(place)
  const most = Math.max(...odds)
  const powers = odds.map((sum) => Math.exp(sum - most))
  const total = powers.reduce((sum, power) => sum + power, 0)
  for (let k = 0; k < classes; k += 1) {
    const error = weight * ((powers[k] ?? 0) / total - (shares[k] ?? 0))
    if (Math.abs(error) < 1e-3) continue
    for (const place of at) {
      const [row, square] = [weights[place] as Float64Array, squares[place] as Float64Array]
      const slope = error * valueOf(place) + SHRINK * (row[k] ?? 0)
      square[k] = (square[k] ?? 0) + slope ** 2
      row[k] = (row[k] ?? 0) - (STEP * slope) / Math.sqrt(square[k] ?? 1)
    }
    biasSquares[k] = (biasSquares[k] ?? 0) + error ** 2
    bias[k] = (bias[k] ?? 0) - (BIAS_STEP * error) / Math.sqrt(biasSquares[k] ?? 1)
  }
}

const placed = examples.map(
  ({ features, ...example }): Placed => ({
    ...example,
    at: features.flatMap((name) => places.get(name) ?? []),
  }),
)
/** Weights depend on the order of the examples; their average does much less. */
const averages = names.map(() => new Float64Array(classes))
const averageBias = new Float64Array(classes)
const order = placed.map((_, at) => at)
let state = 7
for (let run = 0; run < RUNS; run += 1) {
  forget()
  for (let round = 0; round < ROUNDS; round += 1) {
    shuffle(order)
    for (const at of order) learn(placed[at] as Placed)
    if (round >= ROUNDS / 2) addToAverages(2 / (ROUNDS * RUNS))
  }
}

function addToAverages(share: number): void {
  const add = (average: Float64Array, row: Float64Array) => {
    for (const [k, weight] of row.entries()) average[k] = (average[k] ?? 0) + weight * share
  }
  for (const [at, average] of averages.entries()) add(average, weights[at] as Float64Array)
  add(averageBias, bias)
}

/** Changes the order in the same way in each run: with a linear congruence. */
function shuffle(all: number[]): void {
  for (let last = all.length - 1; last > 0; last -= 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    const other = Math.floor((state / 2 ** 32) * (last + 1))
    ;[all[last], all[other]] = [all[other] as number, all[last] as number]
  }
}

const round2 = (value: number) => Math.round(value * 100) / 100
const model: TriggerModel = {
  triggers: ids,
  bias: Array.from(averageBias, round2),
  features: Object.fromEntries(
    names
      .map((name, at): [string, [number, string]] => [
        name,
        [
          round2(rarity[at] ?? 0),
          writeWeights((averages[at] ?? []).map((weight) => (Math.abs(weight) < LEAST_WEIGHT ? 0 : weight))),
        ],
      ])
      .filter(([, [, written]]) => written !== '')
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  ),
}
const lines = Object.entries(model.features).map(
  ([name, row]) => `${JSON.stringify(name)}: ${JSON.stringify(row)}`,
)
const text = `{
"triggers": ${JSON.stringify(model.triggers)},
"bias": ${JSON.stringify(model.bias)},
"features": {
${lines.join(',\n')}
}
}
`
writeFileSync(values.out ?? new URL('../../data/likely-triggers.json', import.meta.url), text)
console.log(`${examples.length} examples, ${lines.length} features, ${Math.round(text.length / 1024)} kB`)
