/* oxlint-disable no-console -- a program whose output is what it prints */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { loadSectionAsks } from '@plainpath/guides'
import { parse } from 'yaml'
import { readLabelledQuestions } from '../labelled-question.ts'
import { featureValues, type TriggerModel, writeWeights } from './likely-triggers.ts'
import { readFeatures } from './match-triggers.ts'
import { minimise } from './minimise.ts'
import { loadTriggers } from './trigger-file.ts'

/** The L2 penalty on weights. It and the numbers below were chosen on questions of left-out authors. */
const SHRINK = 1e-5
const MOST_ROUNDS = 60
/** Smaller weights are left out of the file. */
const LEAST_WEIGHT = 0.1
/** Rarer features are left out. */
const LEAST_COUNT = 2
const ALSO_ACCEPTED = 0.3
/** The weights of examples. Examples written together with patterns and asks are plainer than what people write. */
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
    shares: computeShares(expected, alsoOk),
    counts: share,
  }),
)

function computeShares(expected: string, alsoOk: readonly string[]): readonly number[] {
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
/** The number of weights: one per feature and class, then the biases. */
const size = (names.length + 1) * classes
const biasAt = names.length * classes

interface Placed {
  /** The offset of the weights of each feature; `values` has the value of each. */
  readonly at: readonly number[]
  readonly values: readonly number[]
  readonly shares: readonly number[]
  /** The share of this example in all. */
  readonly counts: number
}

const allCounts = examples.reduce((sum, example) => sum + example.counts, 0)
const placedExamples = examples.map(({ features, shares, counts: weight }): Placed => {
  const placedFeatures = features.flatMap((name) => {
    const place = places.get(name)
    return place === undefined ? [] : [{ name, place, rarity: rarity[place] ?? 0 }]
  })
  return {
    at: placedFeatures.map(({ place }) => place * classes),
    values: featureValues(placedFeatures),
    shares,
    counts: weight / allCounts,
  }
})

/** Computes the cross-entropy of all examples plus the penalty on weights, and writes the gradient to `slope`. */
function computeLoss(weights: Float64Array, slope: Float64Array): number {
  slope.fill(0)
  let loss = 0
  const sums = new Float64Array(classes)
  for (const { at, values: amounts, shares, counts: share } of placedExamples) {
    sums.set(weights.subarray(biasAt))
    for (const [feature, from] of at.entries()) addTo(sums, amounts[feature] ?? 0, weights.subarray(from))
    const most = Math.max(...sums)
    const total = most + Math.log(sums.reduce((sum, odds) => sum + Math.exp(odds - most), 0))
    for (const [k, expected] of shares.entries()) {
      const odds = (sums[k] ?? 0) - total
      loss -= share * expected * odds
      sums[k] = share * (Math.exp(odds) - expected)
    }
    addTo(slope.subarray(biasAt), 1, sums)
    for (const [feature, from] of at.entries()) addTo(slope.subarray(from), amounts[feature] ?? 0, sums)
  }
  for (let at = 0; at < biasAt; at += 1) {
    const weight = weights[at] ?? 0
    loss += (SHRINK / 2) * weight ** 2
    slope[at] = (slope[at] ?? 0) + SHRINK * weight
  }
  return loss
}

/** Adds a multiple of a row to another row, class by class. */
function addTo(to: Float64Array, times: number, row: Float64Array): void {
  for (let k = 0; k < classes; k += 1) to[k] = (to[k] ?? 0) + times * (row[k] ?? 0)
}

const weights = minimise(computeLoss, size, MOST_ROUNDS)

const round2 = (value: number) => Math.round(value * 100) / 100
const model: TriggerModel = {
  triggers: ids,
  bias: Array.from(weights.subarray(biasAt), round2),
  features: Object.fromEntries(
    names
      .map((name, at): [string, [number, string]] => [
        name,
        [
          round2(rarity[at] ?? 0),
          writeWeights(
            weights
              .subarray(at * classes, (at + 1) * classes)
              .map((weight) => (Math.abs(weight) < LEAST_WEIGHT ? 0 : weight)),
          ),
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
