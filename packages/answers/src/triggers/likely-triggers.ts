import { z } from 'zod'
import { type FeatureLines, findFeature, readModelFile, type WeightedFeature } from '../model-file.ts'

/** The first line of the model file. */
const TriggerModelHead = z.strictObject({
  triggers: z.array(z.string()),
  guides: z.array(z.string()),
  /** The bias of each class: each trigger, then each guide, then other subjects. */
  bias: z.array(z.number()),
})
export type TriggerModelHead = Readonly<z.infer<typeof TriggerModelHead>>

/**
 * A linear model that classifies a question: as one of the triggers, the subject of one of the guides, or another subject. It has a
 * weight for each feature and class. `train-likely-triggers.ts` trains it on labelled questions.
 */
export interface TriggerModel extends TriggerModelHead {
  /** The weights are in the format of `formatWeights`. */
  readonly features: FeatureLines
}

/** A feature of a question, with the indexes of the tokens from which it comes. */
export interface Feature {
  readonly name: string
  readonly tokens: readonly number[]
}

export interface LikelyTrigger {
  readonly trigger: string
  /** From 0 to 1. */
  readonly probability: number
  /** Finds the indexes of the tokens with the most evidence for the trigger, at most three. */
  readonly findTokens: () => readonly number[]
}

const MODEL_FILE = new URL('../../data/likely-triggers.txt', import.meta.url)
/**
 * The Euclidean length to which the feature values of a question are scaled. The many features of letters are scaled
 * separately. A vector that is shorter than `min` is scaled as if it had that length.
 */
const LENGTHS = { words: { scaled: 4, min: 15 }, letters: { scaled: 2, min: 5 } }
/** The prefix of the names of features of letters. */
export const LETTERS_PREFIX = 'h '

/** Computes the value of each feature of a question: its rarity, scaled. */
export function computeFeatureValues(
  features: readonly { readonly name: string; readonly rarity: number }[],
): readonly number[] {
  const classifyFeature = (name: string) => (name.startsWith(LETTERS_PREFIX) ? 'letters' : 'words')
  const sumsOfSquares = { words: 0, letters: 0 }
  for (const { name, rarity } of features) sumsOfSquares[classifyFeature(name)] += rarity ** 2
  const computeScale = (kind: keyof typeof LENGTHS) =>
    LENGTHS[kind].scaled / Math.max(Math.sqrt(sumsOfSquares[kind]), LENGTHS[kind].min)
  const scales = { words: computeScale('words'), letters: computeScale('letters') }
  return features.map(({ name, rarity }) => rarity * scales[classifyFeature(name)])
}

const MAX_TOKENS = 3

/**
 * The code of the character for the first class. A model can have at most 80 classes, up to code 127: the file is UTF-8, but each
 * byte of the weights is parsed as one character.
 */
const FIRST_CLASS_CODE = '0'.charCodeAt(0)
/** The code of the character for a weight of 0. Those before and after it stand for steps of 0.05, up to 2.25. */
const ZERO_WEIGHT_CODE = 'P'.charCodeAt(0)
const WEIGHT_STEP = 0.05
const MAX_STEPS = 45

/** Formats weights, by class. Rounds each to a step, and formats one that is not 0 as two characters: class and weight. */
export function formatWeights(weights: Iterable<number>): string {
  return [...weights]
    .map((weight) => Math.max(-MAX_STEPS, Math.min(MAX_STEPS, Math.round(weight / WEIGHT_STEP))))
    .map((steps, classIndex) =>
      steps === 0 ? '' : String.fromCharCode(FIRST_CLASS_CODE + classIndex, ZERO_WEIGHT_CODE + steps),
    )
    .join('')
}

/** Parses the weights of a feature, and calls `use` with the index of each class and its weight. */
function parseWeights(formatted: string, use: (classIndex: number, weight: number) => void): void {
  for (let index = 0; index < formatted.length; index += 2) {
    const steps = formatted.charCodeAt(index + 1) - ZERO_WEIGHT_CODE
    use(formatted.charCodeAt(index) - FIRST_CLASS_CODE, steps * WEIGHT_STEP)
  }
}

let packagedModel: TriggerModel | undefined

/** Loads the model of this package, once per process. */
export function loadTriggerModel(): TriggerModel {
  packagedModel ??= readModelFile(MODEL_FILE, TriggerModelHead)
  return packagedModel
}

/** Computes the log-odds of a probability. Probabilities nearer than 0.0001 to 0 or 1 are bounded, so the result is finite. */
export const computeLogOdds = (probability: number): number => {
  const bounded = Math.min(Math.max(probability, 1e-4), 1 - 1e-4)
  return Math.log(bounded / (1 - bounded))
}

/** The probabilities that the model gives to the classes of a question. */
export interface Classification {
  /** The likeliest first. */
  readonly triggers: readonly LikelyTrigger[]
  /** The probability of each guide, from 0 to 1, if the question is about the subject of a guide. */
  readonly guides: ReadonlyMap<string, number>
  /** The probability of a subject without guide and trigger, from 0 to 1. */
  readonly otherSubject: number
}

/** Computes the probability of each class. Linear in the number of features. */
export function classifyQuestion(model: TriggerModel, features: readonly Feature[]): Classification {
  const weightedFeatures: (Feature & WeightedFeature)[] = []
  for (const { name, tokens } of features) {
    const weighted = findFeature(model.features, name)
    if (weighted) weightedFeatures.push({ ...weighted, tokens })
  }
  const values = computeFeatureValues(weightedFeatures)
  const logits = Float64Array.from(model.bias)
  for (const [index, { weights }] of weightedFeatures.entries()) {
    const value = values[index] ?? 0
    parseWeights(weights, (classIndex, weight) => {
      logits[classIndex] = (logits[classIndex] ?? 0) + weight * value
    })
  }
  const maxLogit = Math.max(...logits)
  const powers = logits.map((logit) => Math.exp(logit - maxLogit))
  const total = powers.reduce((sum, power) => sum + power, 0)
  const triggers = model.triggers
    .map((trigger, classIndex) => ({
      trigger,
      probability: (powers[classIndex] ?? 0) / total,
      findTokens: () => findStrongestTokens(weightedFeatures, classIndex),
    }))
    .toSorted((a, b) => b.probability - a.probability)
  const guidePowers = powers.slice(model.triggers.length, -1)
  const guideTotal = guidePowers.reduce((sum, power) => sum + power, 0) || 1
  const guides = new Map(model.guides.map((guide, index) => [guide, (guidePowers[index] ?? 0) / guideTotal]))
  return { triggers, guides, otherSubject: (powers.at(-1) ?? 0) / total }
}

/** Finds the tokens whose words have the greatest positive weights for a class, in the order of the question. */
function findStrongestTokens(
  weightedFeatures: readonly (Feature & WeightedFeature)[],
  requestedClass: number,
): readonly number[] {
  const support = new Map<number, number>()
  for (const { name, rarity, weights, tokens } of weightedFeatures) {
    if (name.startsWith(LETTERS_PREFIX)) continue
    parseWeights(weights, (classIndex, weight) => {
      if (classIndex !== requestedClass) return
      for (const token of tokens)
        support.set(token, (support.get(token) ?? 0) + (rarity * weight) / tokens.length)
    })
  }
  return [...support]
    .filter(([, weight]) => weight > 0)
    .toSorted(([indexA, weightA], [indexB, weightB]) => weightB - weightA || indexA - indexB)
    .slice(0, MAX_TOKENS)
    .map(([index]) => index)
    .toSorted((a, b) => a - b)
}
