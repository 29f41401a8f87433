/* oxlint-disable no-console -- a program whose output is what it prints */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { parse } from 'yaml'
import { FEATURE_LENGTH, type TriggerModel } from './likely-triggers.ts'
import { readFeatures } from './match-triggers.ts'
import { loadTriggers } from './trigger-file.ts'

/** Rounds of training, the step, and what keeps weights small: chosen on questions of left-out authors. */
const ROUNDS = 30
const STEP = 0.25
const BIAS_STEP = 0.1
const SHRINK = 3e-5
/** Smaller weights are left out of the file. */
const LEAST_WEIGHT = 0.5
const ALSO_ACCEPTED = 0.3

/** A question of an example file: with one label (`expected`), or with an outcome and triggers. */
interface Row {
  readonly id: string
  readonly question: string
  readonly expected?: string
  readonly outcome?: string
  readonly triggers?: readonly string[]
  readonly also_ok?: readonly string[]
  /** Questions that measure are not for training. */
  readonly split?: 'train' | 'held-out'
}
interface Example {
  readonly question: string
  readonly expected: string
  readonly alsoOk: readonly string[]
}
interface Labelled {
  readonly features: readonly string[]
  /** The share of each trigger, then of none. */
  readonly shares: readonly number[]
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
  .flatMap((file) => readFileSync(file, 'utf8').split('\n'))
  .filter(Boolean)
  .map((line) => JSON.parse(line) as Row)
  .filter(({ id, split }) => split !== 'held-out' && !values.without.includes(id.slice(0, 1)))
  .map(exampleOf)
const own = triggers.flatMap(({ id, patterns, defusers }): Example[] => [
  ...patterns.flatMap(({ matches }) =>
    matches.map((question) => ({ question, expected: `handoff:${id}`, alsoOk: [] })),
  ),
  ...[...patterns, ...defusers].flatMap(({ spares }) =>
    spares.map((question) => ({ question, expected: 'answer', alsoOk: [] })),
  ),
])
const minimalPairs = parse(
  readFileSync(new URL('../../examples/minimal-pairs.yaml', import.meta.url), 'utf8'),
) as Record<string, Record<string, string>>
const pairs = Object.entries(minimalPairs).flatMap(([id, forms]) =>
  Object.entries(forms).map(
    ([form, question]): Example => ({
      question,
      alsoOk: [],
      expected: form === 'denied' || form === 'informational' ? 'answer' : `handoff:${id}`,
    }),
  ),
)
const examples = [...questions, ...own, ...pairs].map(
  ({ question, expected, alsoOk }): Labelled => ({
    features: readFeatures(question, triggers, today),
    shares: sharesOf(expected, alsoOk),
  }),
)

function exampleOf(row: Row): Example {
  const { question, also_ok: alsoOk = [] } = row
  if (row.expected !== undefined) return { question, expected: row.expected, alsoOk }
  const [first, ...others] = (row.triggers ?? []).map((id) => `handoff:${id}`)
  const expected = row.outcome === 'hand_off' && first ? first : (row.outcome ?? 'answer')
  const accepted = alsoOk.map((label) => (ids.includes(label) ? `handoff:${label}` : label))
  return { question, expected, alsoOk: [...others, ...accepted] }
}

function sharesOf(expected: string, alsoOk: readonly string[]): readonly number[] {
  const shares = [...ids.map(() => 0), 0]
  const place = (label: string) => ids.indexOf(label.slice('handoff:'.length))
  if (!expected.startsWith('handoff:')) return shares.with(ids.length, 1)
  for (const label of alsoOk) if (label.startsWith('handoff:')) shares[place(label)] = ALSO_ACCEPTED
  shares[place(expected)] = 1
  const sum = shares.reduce((total, share) => total + share, 0)
  return shares.map((share) => share / sum)
}

const counts = new Map<string, number>()
for (const { features } of examples)
  for (const name of features) counts.set(name, (counts.get(name) ?? 0) + 1)
const names = [...counts].filter(([, count]) => count >= 2).map(([name]) => name)
const places = new Map(names.map((name, at) => [name, at]))
const rarity = names.map((name) => Math.log(examples.length / (counts.get(name) ?? 1)))

const classes = ids.length + 1
const weights = names.map(() => new Float64Array(classes))
const squares = names.map(() => new Float64Array(classes).fill(1e-4))
const bias = new Float64Array(classes)
const biasSquares = new Float64Array(classes).fill(1e-4)

/** One step of AdaGrad on the cross-entropy of one example. */
function learn(at: readonly number[], shares: readonly number[]): void {
  const length = Math.sqrt(at.reduce((sum, place) => sum + (rarity[place] ?? 0) ** 2, 0)) || 1
  const valueOf = (place: number) => ((rarity[place] ?? 0) / length) * FEATURE_LENGTH
  const sums = Array.from(bias)
  for (const place of at)
    for (let k = 0; k < classes; k += 1)
      sums[k] = (sums[k] ?? 0) + (weights[place]?.[k] ?? 0) * valueOf(place)
  const most = Math.max(...sums)
  const powers = sums.map((sum) => Math.exp(sum - most))
  const total = powers.reduce((sum, power) => sum + power, 0)
  for (let k = 0; k < classes; k += 1) {
    const error = (powers[k] ?? 0) / total - (shares[k] ?? 0)
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

const placed = examples.map(({ features, shares }) => ({
  at: features.flatMap((name) => places.get(name) ?? []),
  shares,
}))
for (let round = 0; round < ROUNDS; round += 1) for (const { at, shares } of placed) learn(at, shares)

const round2 = (value: number) => Math.round(value * 100) / 100
const model: TriggerModel = {
  triggers: ids,
  bias: Array.from(bias, round2),
  features: Object.fromEntries(
    names
      .map((name, at): [string, number[]] => [
        name,
        [
          round2(rarity[at] ?? 0),
          ...Array.from(weights[at] ?? [], round2).flatMap((weight, k) =>
            Math.abs(weight) >= LEAST_WEIGHT ? [k, weight] : [],
          ),
        ],
      ])
      .filter(([, row]) => row.length > 1)
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
