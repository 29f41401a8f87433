import { readFileSync } from 'node:fs'
import { z } from 'zod'

/**
 * A linear model of which trigger a question is about, or none, or another subject: one weight for each feature and of these. It is made by
 * `train-likely-triggers.ts` from labelled questions.
 */
const TriggerModel = z.strictObject({
  triggers: z.array(z.string()),
  /** The weights without any feature: of each trigger, of what the guides answer, and of other subjects. */
  bias: z.array(z.number()),
  /** Of each feature: how rare it is, and its weights as `writeWeights` writes them. */
  features: z.record(z.string(), z.tuple([z.number(), z.string()])),
})
export type TriggerModel = Readonly<z.infer<typeof TriggerModel>>

/** What the model knows a question by, with the tokens that bear it. */
export interface Feature {
  readonly name: string
  readonly tokens: readonly number[]
}

export interface LikelyTrigger {
  readonly trigger: string
  /** From 0 to 1. */
  readonly probability: number
  /** The tokens that speak for it most. */
  readonly tokens: () => readonly number[]
}

const MODEL = new URL('../../data/likely-triggers.json', import.meta.url)
/**
 * The length to which the values of a question's features are scaled, those of letters apart, since there are many of them. Shorter
 * questions than `least` are not scaled up as far.
 */
const LENGTHS = { words: { scaled: 4, least: 15 }, letters: { scaled: 2, least: 5 } }
/** Features of letters begin so. */
export const LETTERS = 'h '

/** How much each feature of a question counts: how rare it is, scaled. */
export function featureValues(
  features: readonly { readonly name: string; readonly rarity: number }[],
): readonly number[] {
  const kindOf = (name: string) => (name.startsWith(LETTERS) ? 'letters' : 'words')
  const squares = { words: 0, letters: 0 }
  for (const { name, rarity } of features) squares[kindOf(name)] += rarity ** 2
  const scaleOf = (kind: keyof typeof LENGTHS) =>
    LENGTHS[kind].scaled / Math.max(Math.sqrt(squares[kind]), LENGTHS[kind].least)
  const scales = { words: scaleOf('words'), letters: scaleOf('letters') }
  return features.map(({ name, rarity }) => rarity * scales[kindOf(name)])
}

const MOST_TOKENS = 3

const FIRST_PLACE = 'A'.charCodeAt(0)
/** The sign for a weight of 0; the signs before and after it stand for steps of 0.05, as far as 2.25. */
const NO_WEIGHT = 'P'.charCodeAt(0)
const WEIGHT_STEP = 0.05
const MOST_STEPS = 45

/** Writes two signs for each weight that is not 0: its place in `triggers` (or of what comes after), and how much it is. */
export function writeWeights(weights: Iterable<number>): string {
  return [...weights]
    .map((weight) => Math.max(-MOST_STEPS, Math.min(MOST_STEPS, Math.round(weight / WEIGHT_STEP))))
    .map((steps, place) => (steps === 0 ? '' : String.fromCharCode(FIRST_PLACE + place, NO_WEIGHT + steps)))
    .join('')
}

/** Calls back with each place and weight of a feature. */
function readWeights(written: string, use: (place: number, weight: number) => void): void {
  for (let at = 0; at < written.length; at += 2)
    use(written.charCodeAt(at) - FIRST_PLACE, (written.charCodeAt(at + 1) - NO_WEIGHT) * WEIGHT_STEP)
}

let packaged: TriggerModel | undefined

/** The model of this package; read once. */
export function loadTriggerModel(): TriggerModel {
  packaged ??= TriggerModel.parse(JSON.parse(readFileSync(MODEL, 'utf8')))
  return packaged
}

/** What the model says of a question. */
export interface LikelySubject {
  /** The likeliest first. */
  readonly triggers: readonly LikelyTrigger[]
  /** How likely it is that no guide and no trigger is about it, from 0 to 1. */
  readonly other: number
}

/** How likely each trigger is. Linear in the number of features. */
export function likelySubject(model: TriggerModel, features: readonly Feature[]): LikelySubject {
  const known = features.flatMap((feature) => {
    const [rarity, weights] = model.features[feature.name] ?? []
    return rarity === undefined || weights === undefined ? [] : [{ ...feature, rarity, weights }]
  })
  const values = featureValues(known)
  const sums = [...model.bias]
  for (const [at, { weights }] of known.entries()) {
    const value = values[at] ?? 0
    readWeights(weights, (place, weight) => {
      sums[place] = (sums[place] ?? 0) + weight * value
    })
  }
  const most = Math.max(...sums)
  const powers = sums.map((sum) => Math.exp(sum - most))
  const total = powers.reduce((sum, power) => sum + power, 0)
  const words = known.filter(({ name }) => !name.startsWith(LETTERS))
  const triggers = model.triggers
    .map((trigger, place) => ({
      trigger,
      probability: (powers[place] ?? 0) / total,
      tokens: () => strongest(words, place),
    }))
    .toSorted((a, b) => b.probability - a.probability)
  return { triggers, other: (powers.at(-1) ?? 0) / total }
}

function strongest(
  known: readonly (Feature & { readonly rarity: number; readonly weights: string })[],
  place: number,
): readonly number[] {
  const support = new Map<number, number>()
  for (const { rarity, weights, tokens } of known) {
    readWeights(weights, (at, weight) => {
      if (at !== place) return
      for (const token of tokens)
        support.set(token, (support.get(token) ?? 0) + (rarity * weight) / tokens.length)
    })
  }
  return [...support]
    .filter(([, weight]) => weight > 0)
    .toSorted(([at, a], [other, b]) => b - a || at - other)
    .slice(0, MOST_TOKENS)
    .map(([at]) => at)
    .toSorted((a, b) => a - b)
}
