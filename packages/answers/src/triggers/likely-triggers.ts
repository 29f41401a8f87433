import { readFileSync } from 'node:fs'
import { z } from 'zod'

/**
 * A linear model of which trigger a question is about, or none: one weight for each feature and trigger. It is made by
 * `train-likely-triggers.ts` from labelled questions.
 */
const TriggerModel = z.strictObject({
  triggers: z.array(z.string()),
  /** The weights without any feature: of each trigger, then of none. */
  bias: z.array(z.number()),
  /** Of each feature: how rare it is, then pairs of a place in `triggers` (or the one after) and a weight. */
  features: z.record(z.string(), z.array(z.number())),
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
/** The length to which the values of a question's features are scaled. */
export const FEATURE_LENGTH = 4
const MOST_TOKENS = 3

let packaged: TriggerModel | undefined

/** The model of this package; read once. */
export function loadTriggerModel(): TriggerModel {
  packaged ??= TriggerModel.parse(JSON.parse(readFileSync(MODEL, 'utf8')))
  return packaged
}

/** How likely each trigger is, the likeliest first. Linear in the number of features. */
export function likelyTriggers(model: TriggerModel, features: readonly Feature[]): readonly LikelyTrigger[] {
  const known = features.flatMap((feature) => {
    const weights = model.features[feature.name]
    return weights ? [{ ...feature, weights }] : []
  })
  const length = Math.sqrt(known.reduce((sum, { weights: [rarity = 0] }) => sum + rarity ** 2, 0)) || 1
  const sums = [...model.bias]
  for (const { weights } of known) {
    const value = ((weights[0] ?? 0) / length) * FEATURE_LENGTH
    for (let at = 1; at < weights.length; at += 2) {
      const place = weights[at] ?? 0
      sums[place] = (sums[place] ?? 0) + (weights[at + 1] ?? 0) * value
    }
  }
  const most = Math.max(...sums)
  const powers = sums.map((sum) => Math.exp(sum - most))
  const total = powers.reduce((sum, power) => sum + power, 0)
  return model.triggers
    .map((trigger, place) => ({
      trigger,
      probability: (powers[place] ?? 0) / total,
      tokens: () => strongest(known, place),
    }))
    .toSorted((a, b) => b.probability - a.probability)
}

function strongest(
  known: readonly (Feature & { readonly weights: readonly number[] })[],
  place: number,
): readonly number[] {
  const support = new Map<number, number>()
  for (const { weights, tokens } of known) {
    for (let at = 1; at < weights.length; at += 2) {
      if (weights[at] !== place) continue
      const share = ((weights[0] ?? 0) * (weights[at + 1] ?? 0)) / tokens.length
      for (const token of tokens) support.set(token, (support.get(token) ?? 0) + share)
    }
  }
  return [...support]
    .filter(([, weight]) => weight > 0)
    .toSorted(([at, a], [other, b]) => b - a || at - other)
    .slice(0, MOST_TOKENS)
    .map(([at]) => at)
    .toSorted((a, b) => a - b)
}
