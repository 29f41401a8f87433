import { readFileSync } from 'node:fs'
import { z } from 'zod'

/**
 * A nearest-centroid classifier: for each section, the mean of the TF-IDF vectors of the questions that it answers.
 * `train-likely-sections.ts` computes it from labelled questions.
 */
const SectionModel = z.strictObject({
  sections: z.array(z.string()),
  /** For each feature its rarity (inverse document frequency), then pairs: a section's index, and a weight in thousandths. */
  features: z.record(z.string(), z.tuple([z.number(), z.array(z.number())])),
})
export type SectionModel = Readonly<z.infer<typeof SectionModel>>

const MODEL_FILE = new URL('../../data/likely-sections.json', import.meta.url)
/** Matches the features that the model uses: words, first letters of words, and bigrams. */
const MODEL_FEATURE = /^[wgb] /

let packagedModel: SectionModel | undefined

/** Loads the model of this package, once per process. */
export function loadSectionModel(): SectionModel {
  packagedModel ??= SectionModel.parse(JSON.parse(readFileSync(MODEL_FILE, 'utf8')))
  return packagedModel
}

/** Selects the features that the model uses. */
export const selectSectionFeatures = (names: readonly string[]): readonly string[] =>
  names.filter((name) => MODEL_FEATURE.test(name))

/**
 * Computes how similar a question is to the questions that each section answers: the cosine of the question and the centroid,
 * from 0 to 1. Linear in the number of features.
 *
 * @param names the names of the question's features
 */
export function computeSectionSimilarities(
  model: SectionModel,
  names: readonly string[],
): ReadonlyMap<string, number> {
  const similarities = new Map<string, number>()
  let sumOfSquares = 0
  for (const name of selectSectionFeatures(names)) {
    const [rarity, weights] = model.features[name] ?? []
    if (rarity === undefined || weights === undefined) continue
    sumOfSquares += rarity ** 2
    for (let index = 0; index < weights.length; index += 2) {
      const section = model.sections[weights[index] ?? -1] ?? ''
      const weight = weights[index + 1] ?? 0
      similarities.set(section, (similarities.get(section) ?? 0) + (rarity * weight) / 1_000)
    }
  }
  const length = Math.sqrt(sumOfSquares) || 1
  for (const [section, sum] of similarities) similarities.set(section, sum / length)
  return similarities
}
