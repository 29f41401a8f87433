import { readFileSync } from 'node:fs'
import { z } from 'zod'

/**
 * A linear model that classifies a question: as one of the triggers, the subject of one of the guides, or another subject. It has a
 * weight for each feature and class. `train-likely-triggers.ts` trains it on labelled questions.
 */
const TriggerModel = z.strictObject({
  triggers: z.array(z.string()),
  guides: z.array(z.string()),
  /** The bias of each class: each trigger, then each guide, then other subjects. */
  bias: z.array(z.number()),
  /** The rarity of each feature, and its weights as `writeWeights` formats them. */
  features: z.record(z.string(), z.tuple([z.number(), z.string()])),
})
export type TriggerModel = Readonly<z.infer<typeof TriggerModel>>

/** A feature of a question, with the tokens that it comes from. */
export interface Feature {
  readonly name: string
  readonly tokens: readonly number[]
}

export interface LikelyTrigger {
  readonly trigger: string
  /** From 0 to 1. */
  readonly probability: number
  /** Returns the tokens with the most evidence for it. */
  readonly tokens: () => readonly number[]
}

const MODEL = new URL('../../data/likely-triggers.json', import.meta.url)
/**
 * The Euclidean length to which the feature values of a question are scaled, separately for features of letters, which are many. A
 * vector shorter than `least` is scaled as if it had that length.
 */
const LENGTHS = { words: { scaled: 4, least: 15 }, letters: { scaled: 2, least: 5 } }
/** The prefix of the names of features of letters. */
export const LETTERS = 'h '

/** Computes the value of each feature of a question: its rarity, scaled. */
export function featureValues(
  features: readonly { readonly name: string; readonly rarity: number }[],
): readonly number[] {
  const classifyFeature = (name: string) => (name.startsWith(LETTERS) ? 'letters' : 'words')
  const squares = { words: 0, letters: 0 }
  for (const { name, rarity } of features) squares[classifyFeature(name)] += rarity ** 2
  const computeScale = (kind: keyof typeof LENGTHS) =>
    LENGTHS[kind].scaled / Math.max(Math.sqrt(squares[kind]), LENGTHS[kind].least)
  const scales = { words: computeScale('words'), letters: computeScale('letters') }
  return features.map(({ name, rarity }) => rarity * scales[classifyFeature(name)])
}

const MAX_TOKENS = 3

const FIRST_PLACE = '0'.charCodeAt(0)
/** The character for a weight of 0. Those before and after it stand for steps of 0.05, up to 2.25. */
const NO_WEIGHT = 'P'.charCodeAt(0)
const WEIGHT_STEP = 0.05
const MAX_STEPS = 45

/** Formats each weight that is not 0 as two characters: the index of its class and the weight. */
export function writeWeights(weights: Iterable<number>): string {
  return [...weights]
    .map((weight) => Math.max(-MAX_STEPS, Math.min(MAX_STEPS, Math.round(weight / WEIGHT_STEP))))
    .map((steps, place) => (steps === 0 ? '' : String.fromCharCode(FIRST_PLACE + place, NO_WEIGHT + steps)))
    .join('')
}

/** Parses the weights of a feature, and calls `use` with the index of each class and its weight. */
function readWeights(written: string, use: (place: number, weight: number) => void): void {
  for (let at = 0; at < written.length; at += 2)
    use(written.charCodeAt(at) - FIRST_PLACE, (written.charCodeAt(at + 1) - NO_WEIGHT) * WEIGHT_STEP)
}

let packaged: TriggerModel | undefined

/** Loads the model of this package, once per process. */
export function loadTriggerModel(): TriggerModel {
  packaged ??= TriggerModel.parse(JSON.parse(readFileSync(MODEL, 'utf8')))
  return packaged
}

/** Computes the log-odds of a probability, which is first moved away from 0 and 1 so that they are finite. */
export const logOdds = (probability: number): number => {
  const bounded = Math.min(Math.max(probability, 1e-4), 1 - 1e-4)
  return Math.log(bounded / (1 - bounded))
}

/** The result of the model for a question. */
export interface LikelySubject {
  /** The likeliest first. */
  readonly triggers: readonly LikelyTrigger[]
  /** The probability of each guide, from 0 to 1, if the question is about the subject of a guide. */
  readonly guides: ReadonlyMap<string, number>
  /** The probability of a subject without guide and trigger, from 0 to 1. */
  readonly other: number
}

/** Computes the probability of each class. Linear in the number of features. */
export function likelySubject(model: TriggerModel, features: readonly Feature[]): LikelySubject {
  const weighted = features.flatMap((feature) => {
    const [rarity, weights] = model.features[feature.name] ?? []
    return rarity === undefined || weights === undefined ? [] : [{ ...feature, rarity, weights }]
  })
  const values = featureValues(weighted)
  const sums = [...model.bias]
  for (const [at, { weights }] of weighted.entries()) {
    const value = values[at] ?? 0
    readWeights(weights, (place, weight) => {
      sums[place] = (sums[place] ?? 0) + weight * value
    })
  }
  const most = Math.max(...sums)
  const powers = sums.map((sum) => Math.exp(sum - most))
  const total = powers.reduce((sum, power) => sum + power, 0)
  const words = weighted.filter(({ name }) => !name.startsWith(LETTERS))
  const triggers = model.triggers
    .map((trigger, place) => ({
      trigger,
      probability: (powers[place] ?? 0) / total,
      tokens: () => findStrongestTokens(words, place),
    }))
    .toSorted((a, b) => b.probability - a.probability)
  const guidePowers = powers.slice(model.triggers.length, -1)
  const guideTotal = guidePowers.reduce((sum, power) => sum + power, 0) || 1
  const guides = new Map(model.guides.map((guide, index) => [guide, (guidePowers[index] ?? 0) / guideTotal]))
  return { triggers, guides, other: (powers.at(-1) ?? 0) / total }
}

function findStrongestTokens(
  weighted: readonly (Feature & { readonly rarity: number; readonly weights: string })[],
  place: number,
): readonly number[] {
  const support = new Map<number, number>()
  for (const { rarity, weights, tokens } of weighted) {
    readWeights(weights, (at, weight) => {
      if (at !== place) return
      for (const token of tokens)
        support.set(token, (support.get(token) ?? 0) + (rarity * weight) / tokens.length)
    })
  }
  return [...support]
    .filter(([, weight]) => weight > 0)
    .toSorted(([at, a], [other, b]) => b - a || at - other)
    .slice(0, MAX_TOKENS)
    .map(([at]) => at)
    .toSorted((a, b) => a - b)
}
