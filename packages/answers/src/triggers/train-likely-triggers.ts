/* oxlint-disable no-console -- a program whose output is what it prints */
import { writeFileSync } from 'node:fs'
import { loadGuides } from '@plainpath/guides'
import { formatModelFile } from '../model-file.ts'
import { parseTrainingArguments } from '../training-questions.ts'
import { computeFeatureValues, formatWeights, type TriggerModelHead } from './likely-triggers.ts'
import { readFeatures } from './match-triggers.ts'
import { minimise } from './minimise.ts'
import { loadTrainingExamples } from './training-examples.ts'
import { loadTriggers } from './trigger-file.ts'

/**
 * This program trains the model of `likely-triggers.ts`, a multinomial logistic regression, and writes it to a file. Its
 * arguments are files of labelled questions; `training-examples.ts` adds others, from guides and triggers. The same inputs and
 * arguments always give the same model.
 *
 * Usage: `npm run train:triggers -- packages/answers/examples/*.jsonl [--out FILE] [--without AUTHOR_CODES] [--today DATE]`
 */

// The five constants below were chosen on questions of authors that were left out of training (`--without`).
/** The L2 penalty keeps the weights small. */
const L2_PENALTY = 2e-6
const MAX_ITERATIONS = 60
/** A weight with a smaller absolute value is left out of the file. */
const MIN_WEIGHT = 0.1
/** A feature that fewer examples have is left out of the model. */
const MIN_EXAMPLES_PER_FEATURE = 2
/** Before normalisation, the expected class has the share 1, and each class in `alsoOk` of the same kind has this share. */
const ALTERNATIVE_SHARE = 0.3

interface LabelledExample {
  readonly features: readonly string[]
  /**
   * The share of each class: each trigger, then each guide, then other subjects. The shares add up to 1. Undefined if the label is
   * `answer`, for which any guide is correct.
   */
  readonly shares: readonly number[] | undefined
  /** How much the example counts, relative to the other examples. */
  readonly weight: number
}

const { questionFiles, out, excludedAuthorCodes, today } = parseTrainingArguments()
const triggers = loadTriggers()
const triggerIds = triggers.map(({ id }) => id)
const guideSlugs = loadGuides().map(({ slug }) => slug)
const classCount = triggerIds.length + guideSlugs.length + 1

const examples = loadTrainingExamples(questionFiles, excludedAuthorCodes).map(
  ({ question, expected, alsoOk, weight }): LabelledExample => ({
    features: readFeatures(question, triggers, today),
    shares: computeShares(expected, alsoOk),
    weight,
  }),
)

/**
 * Computes the share of each class in an example from its labels.
 *
 * @returns undefined if no class has the expected label, such as `answer`, for which any guide is correct
 */
function computeShares(expected: string, alsoOk: readonly string[]): readonly number[] | undefined {
  const shares = Array<number>(classCount).fill(0)
  if (expected === 'out_of_scope') return shares.with(classCount - 1, 1)
  const expectedClass = findClass(expected)
  if (expectedClass === undefined) return undefined
  const [kind] = expected.split(':')
  for (const label of alsoOk) {
    const alternative = label.startsWith(`${kind}:`) ? findClass(label) : undefined
    if (alternative !== undefined) shares[alternative] = ALTERNATIVE_SHARE
  }
  shares[expectedClass] = 1
  const sum = shares.reduce((total, share) => total + share, 0)
  return shares.map((share) => share / sum)
}

/** Finds the class of a label such as `handoff:asylum-fear` or `answer:travel-document`. */
function findClass(label: string): number | undefined {
  const [kind, name = ''] = label.split(':')
  const index = kind === 'handoff' ? triggerIds.indexOf(name) : guideSlugs.indexOf(name)
  if (index < 0) return undefined
  return kind === 'handoff' ? index : triggerIds.length + index
}

const exampleCounts = new Map<string, number>()
for (const { features } of examples)
  for (const name of features) exampleCounts.set(name, (exampleCounts.get(name) ?? 0) + 1)
const featureNames = [...exampleCounts]
  .filter(([, count]) => count >= MIN_EXAMPLES_PER_FEATURE)
  .map(([name]) => name)
const featureIndexes = new Map(featureNames.map((name, index) => [name, index]))
/** The rarity (inverse document frequency) of each feature, in the order of `featureNames`. */
const rarities = featureNames.map((name) => Math.log(examples.length / (exampleCounts.get(name) ?? 1)))

/** The length of the vector of all weights: one for each feature and class, and then the bias of each class. */
const weightCount = (featureNames.length + 1) * classCount
const biasOffset = featureNames.length * classCount

interface SparseExample {
  /** For each feature of the example, the offset of its weights in the vector of all weights. */
  readonly offsets: readonly number[]
  /** The values of the same features, in the same order. */
  readonly values: readonly number[]
  readonly shares: readonly number[] | undefined
  /** The weights of all examples add up to 1. */
  readonly weight: number
}

const totalWeight = examples.reduce((sum, { weight }) => sum + weight, 0)
const sparseExamples = examples.map(({ features, shares, weight }): SparseExample => {
  const modelFeatures = features.flatMap((name) => {
    const index = featureIndexes.get(name)
    return index === undefined ? [] : [{ name, index, rarity: rarities[index] ?? 0 }]
  })
  return {
    offsets: modelFeatures.map(({ index }) => index * classCount),
    values: computeFeatureValues(modelFeatures),
    shares,
    weight: weight / totalWeight,
  }
})

/** Computes the cross-entropy of all examples plus the L2 penalty, and writes the gradient of the sum to `gradient`. */
function computeLoss(weights: Float64Array, gradient: Float64Array): number {
  gradient.fill(0)
  let loss = 0
  const logits = new Float64Array(classCount)
  const logitGradient = new Float64Array(classCount)
  for (const { offsets, values, shares, weight } of sparseExamples) {
    logits.set(weights.subarray(biasOffset))
    for (const [index, offset] of offsets.entries())
      addScaled(logits, values[index] ?? 0, weights.subarray(offset))
    // The maximum is subtracted because `Math.exp` of a large logit would overflow.
    const maxLogit = Math.max(...logits)
    const logNormaliser =
      maxLogit + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - maxLogit), 0))
    const probabilities = logits.map((logit) => Math.exp(logit - logNormaliser))
    const { targets, logLikelihood } = compareWithLabel(probabilities, shares)
    loss -= weight * logLikelihood
    for (const [classIndex, target] of targets.entries())
      logitGradient[classIndex] = weight * ((probabilities[classIndex] ?? 0) - target)
    addScaled(gradient.subarray(biasOffset), 1, logitGradient)
    for (const [index, offset] of offsets.entries())
      addScaled(gradient.subarray(offset), values[index] ?? 0, logitGradient)
  }
  for (let index = 0; index < biasOffset; index += 1) {
    const weight = weights[index] ?? 0
    loss += (L2_PENALTY / 2) * weight ** 2
    gradient[index] = (gradient[index] ?? 0) + L2_PENALTY * weight
  }
  return loss
}

/**
 * Compares the predicted probabilities with a label.
 *
 * @param shares undefined if any guide is correct. The share of each guide is then in proportion to its predicted probability.
 * @returns the share of each class, and the log-likelihood of the label
 */
function compareWithLabel(
  probabilities: Float64Array,
  shares: readonly number[] | undefined,
): { targets: readonly number[]; logLikelihood: number } {
  if (shares) {
    let logLikelihood = 0
    for (const [classIndex, share] of shares.entries())
      if (share > 0) logLikelihood += share * Math.log(probabilities[classIndex] ?? 0)
    return { targets: shares, logLikelihood }
  }
  const isGuide = (classIndex: number) => classIndex >= triggerIds.length && classIndex < classCount - 1
  const guideProbabilities = Array.from(probabilities, (value, index) => (isGuide(index) ? value : 0))
  const total = guideProbabilities.reduce((sum, value) => sum + value, 0)
  return { targets: guideProbabilities.map((value) => value / total), logLikelihood: Math.log(total) }
}

/** Adds a multiple of a row to `target`, class by class. */
function addScaled(target: Float64Array, factor: number, row: Float64Array): void {
  for (let classIndex = 0; classIndex < classCount; classIndex += 1)
    target[classIndex] = (target[classIndex] ?? 0) + factor * (row[classIndex] ?? 0)
}

const trainedWeights = minimise(computeLoss, weightCount, MAX_ITERATIONS)

const head: TriggerModelHead = {
  triggers: triggerIds,
  guides: guideSlugs,
  bias: Array.from(trainedWeights.subarray(biasOffset), (bias) => Math.round(bias * 100) / 100),
}
const features = featureNames
  .map((name, index) => ({
    name,
    rarity: rarities[index] ?? 0,
    weights: formatWeights(
      trainedWeights
        .subarray(index * classCount, (index + 1) * classCount)
        .map((weight) => (Math.abs(weight) < MIN_WEIGHT ? 0 : weight)),
    ),
  }))
  .filter(({ weights }) => weights !== '')
const modelFile = formatModelFile(head, features)
writeFileSync(out ?? new URL('../../data/likely-triggers.txt', import.meta.url), modelFile)
console.log(
  `${examples.length} examples, ${features.length} features, ${Math.round(modelFile.length / 1024)} kB`,
)
