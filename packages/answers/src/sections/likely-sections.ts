import { z } from 'zod'
import { type FeatureLines, findFeature, readModelFile } from '../model-file.ts'

/** The first line of the model file: the ids of the sections (`guide#key`), to which the weights refer by index. */
const SectionModelHead = z.strictObject({ sections: z.array(z.string()) })

/**
 * A nearest-centroid classifier: for each section, the mean of the TF-IDF vectors of the questions that it answers.
 * `train-likely-sections.ts` computes it from labelled questions.
 */
export interface SectionModel extends Readonly<z.infer<typeof SectionModelHead>> {
  /** The weights are pairs of numbers with spaces between them: a section's index, and a weight in thousandths. */
  readonly features: FeatureLines
}

const MODEL_FILE = new URL('../../data/likely-sections.txt', import.meta.url)
/** Matches the features that the model uses: words, first letters of words, and bigrams. */
const MODEL_FEATURE = /^[wgb] /

let packagedModel: SectionModel | undefined

/** Loads the model of this package, once per process. */
export function loadSectionModel(): SectionModel {
  packagedModel ??= readModelFile(MODEL_FILE, SectionModelHead)
  return packagedModel
}

/** Selects the features that the model uses. */
export const selectSectionFeatures = (names: readonly string[]): readonly string[] =>
  names.filter((name) => MODEL_FEATURE.test(name))

const [SPACE, ZERO] = [' '.charCodeAt(0), '0'.charCodeAt(0)]

/** Adds a feature's weights, times its rarity, to the sums of their sections. Reads digit by digit, which creates no strings. */
function addWeights(sums: Float64Array, weights: string, rarity: number): void {
  let section: number | undefined
  let number = 0
  for (let index = 0; index <= weights.length; index += 1) {
    const code = index < weights.length ? weights.charCodeAt(index) : SPACE
    if (code !== SPACE) number = number * 10 + code - ZERO
    else {
      if (section === undefined) section = number
      else {
        sums[section] = (sums[section] ?? 0) + (rarity * number) / 1_000
        section = undefined
      }
      number = 0
    }
  }
}

/**
 * Computes how similar a question is to the questions that each section answers: the cosine of the question and the centroid,
 * from 0 to 1. Linear in the number of features.
 *
 * @param names the names of the question's features
 * @returns the similarity by section. A section that shares no feature with the question is absent
 */
export function computeSectionSimilarities(
  model: SectionModel,
  names: readonly string[],
): ReadonlyMap<string, number> {
  const sums = new Float64Array(model.sections.length)
  let sumOfSquares = 0
  for (const name of selectSectionFeatures(names)) {
    const feature = findFeature(model.features, name)
    if (feature === undefined) continue
    const { rarity } = feature
    sumOfSquares += rarity ** 2
    addWeights(sums, feature.weights, rarity)
  }
  const length = Math.sqrt(sumOfSquares) || 1
  const similarities = new Map<string, number>()
  for (const [index, section] of model.sections.entries()) {
    const sum = sums[index] ?? 0
    if (sum !== 0) similarities.set(section, sum / length)
  }
  return similarities
}
